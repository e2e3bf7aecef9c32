"""Pokes: whatever names a webhook arrives as it was sent, as often as it was sent, and not too early."""

import pytest

from a2a_serverless.ports.webhooks import Poke, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from tests.integration.ports.queues import Queues


def poke(name: str = "w-1", window: int = 0) -> Poke:
    """A poke of some webhook."""
    return Poke(WebhookKey(TaskKey("acme", "owner", "t-1"), name), window)


@pytest.mark.parametrize("number", [0, 1, 10, 11, 25])
def test_every_poke_arrives(queues: Queues, number: int) -> None:
    sent = [poke(f"w-{each}", each) for each in range(number)]

    queues.pokes.send(sent)

    assert sorted(queues.arrived(), key=lambda each: each.window) == sent


def test_whatever_names_a_webhook_arrives_unharmed(queues: Queues) -> None:
    """SQS refuses most control characters, and keys of ours may hold any."""
    odd = 'é\0\x01\x1f"\\\N{SNOWMAN}\N{CRAB}\ufffe'
    sent = Poke(WebhookKey(TaskKey(odd, f"o{odd}", f"t{odd}"), f"w{odd}"), 3)

    queues.pokes.send([sent])

    assert queues.arrived() == [sent]


def test_the_same_poke_may_be_sent_twice(queues: Queues) -> None:
    queues.pokes.send([poke(), poke()])
    queues.pokes.send([poke()])

    assert queues.arrived() == [poke()] * 3


def test_a_poke_does_not_arrive_before_its_time(queues: Queues) -> None:
    queues.pokes.send([poke("later")], delay=600)
    queues.pokes.send([poke("now")])

    assert queues.arrived() == [poke("now")]
