"""How long whoever waits for a message of a queue may sleep."""

import math

import pytest
from moto.sqs.models import Message, Queue

from infra.local.moto_queues import milliseconds, seconds_until_next


@pytest.fixture
def queue() -> Queue:
    return Queue("pokes", "us-east-1", "123456789012")


def due_in(queue: Queue, milliseconds_from_now: float) -> None:
    message = Message("1", "body")
    message.delayed_until = milliseconds() + milliseconds_from_now
    queue._messages.append(message)


def test_an_empty_queue_is_no_reason_to_wake(queue: Queue) -> None:
    assert seconds_until_next(queue, milliseconds()) == math.inf


def test_the_next_message_wakes_a_moment_after_it_is_due(queue: Queue) -> None:
    due_in(queue, 90_000)
    due_in(queue, 60_000)

    assert 59 < seconds_until_next(queue, milliseconds()) <= 60.001


def test_a_message_that_became_due_since_somebody_looked_is_not_slept_over(queue: Queue) -> None:
    looked_at = milliseconds() - 10
    due_in(queue, -5)
    due_in(queue, 60_000)

    assert seconds_until_next(queue, looked_at) == 0.001
