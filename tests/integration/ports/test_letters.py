"""Dead letters: they lie there until nobody needs them, and looking through them loses none."""

from datetime import UTC, datetime

import pytest

from a2a_serverless.adapters.sqs_letters import SqsLetters
from a2a_serverless.adapters.sqs_pokes import SqsPokes
from a2a_serverless.ports.webhooks import DeadLetter, Poke, WebhookKey
from a2a_serverless.tasks.log import TaskKey
from tests.integration.ports.queues import Queues, new_queue, taken, visible
from tests.integration.ports.world import StoredWorld

MOMENT = datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC)


def key(name: str = "w-1") -> WebhookKey:
    """The key of some webhook."""
    return WebhookKey(TaskKey("acme", "owner", "t-1"), name)


def letter(name: str = "w-1", position: int = 7) -> DeadLetter:
    """A record of a webhook that was given up."""
    return DeadLetter(key(name), position, "hooks.example", "answered 410 é\0", 9, MOMENT, MOMENT)


@pytest.mark.parametrize("number", [0, 1, 10, 33])
def test_letters_that_nobody_needs_are_taken_out_and_counted(queues: Queues, number: int) -> None:
    for each in range(number):
        queues.letters.put(letter(f"w-{each}"))
    assert queues.lying() == queues.letters.count() == number

    assert queues.letters.remove(lambda _: True) == number

    assert queues.lying() == queues.letters.count() == 0
    assert queues.letters.remove(lambda _: True) == 0


def test_letters_that_are_needed_stay_and_are_there_at_once(queues: Queues) -> None:
    for each in range(25):
        queues.letters.put(letter(f"w-{each}"))

    assert queues.letters.remove(lambda key: int(key.config_id[2:]) % 2 == 0) == 13
    assert queues.lying() == 12
    assert queues.letters.remove(lambda key: key.config_id == "w-1") == 1
    assert queues.lying() == 11
    assert queues.letters.remove(lambda _: False) == 0
    assert queues.lying() == 11


def test_all_letters_of_one_webhook_go_together(queues: Queues) -> None:
    for each in range(4):
        queues.letters.put(letter("w-1", each))
        queues.letters.put(letter("w-2", each))

    assert queues.letters.remove(lambda each: each == key("w-1")) == 4
    assert queues.lying() == 4


def test_each_webhook_is_asked_about_once(stored: StoredWorld) -> None:
    letters = SqsLetters(stored.backend.sqs, new_queue(stored.backend), patience=0)
    for each in range(23):
        letters.put(letter(f"w-{each % 3}"))
    asked: list[str] = []

    letters.remove(lambda key: bool(asked.append(key.config_id)))

    assert sorted(asked) == ["w-0", "w-1", "w-2"]


def test_letters_are_back_in_sight_although_looking_through_them_failed(stored: StoredWorld) -> None:
    queue = new_queue(stored.backend)
    letters = SqsLetters(stored.backend.sqs, queue, patience=0)
    for each in range(15):
        letters.put(letter(f"w-{each}"))

    def fails(key: WebhookKey) -> bool:
        if len(asked) == 12:
            raise LookupError(key.config_id)
        asked.append(key.config_id)
        return False

    asked: list[str] = []
    with pytest.raises(LookupError):
        letters.remove(fails)

    assert visible(stored.backend.sqs, queue) == 15


def test_pokes_that_sqs_gave_up_lie_among_the_letters_and_go_like_them(stored: StoredWorld) -> None:
    """What the function that receives them failed at too often; SQS moves it there as it is."""
    backend = stored.backend
    queue = new_queue(backend)
    letters = SqsLetters(backend.sqs, queue, patience=0)
    SqsPokes(backend.sqs, queue).send([Poke(key("w-1"), 4), Poke(key("w-2"))])
    letters.put(letter("w-1"))

    assert letters.remove(lambda each: each == key("w-1")) == 2
    assert letters.remove(lambda each: each == key("w-2")) == 1


@pytest.mark.parametrize("body", ["?", "[]", '{"tenant": "acme"}', '{"tenant":1,"owner":2}', "[" * 100_000])
def test_a_letter_that_names_no_webhook_stays_for_a_person_to_read(stored: StoredWorld, body: str) -> None:
    backend = stored.backend
    queue = new_queue(backend)
    letters = SqsLetters(backend.sqs, queue, patience=0)
    backend.sqs.send_message(QueueUrl=queue, MessageBody=body)
    letters.put(letter())

    assert letters.remove(lambda _: True) == 1

    assert [message["Body"] for message in taken(backend.sqs, queue)] == [body]


def test_letters_that_somebody_is_looking_at_count_as_well(stored: StoredWorld) -> None:
    queue = new_queue(stored.backend)
    letters = SqsLetters(stored.backend.sqs, queue, patience=0)
    for each in range(3):
        letters.put(letter(f"w-{each}"))
    counted: list[int] = []

    letters.remove(lambda _: bool(counted.append(letters.count())))

    assert counted == [3, 3, 3]


def test_a_letter_tells_a_person_everything(stored: StoredWorld) -> None:
    queue = new_queue(stored.backend)

    SqsLetters(stored.backend.sqs, queue).put(letter())

    (message,) = taken(stored.backend.sqs, queue)
    assert message["Body"] == (
        '{"tenant":"acme","owner":"owner","task":"t-1","config":"w-1","position":7,"host":"hooks.example",'
        '"reason":"answered 410 \\u00e9\\u0000","attempts":9,"failingSince":"2026-11-30T12:00:00.123Z",'
        '"diedAt":"2026-11-30T12:00:00.123Z"}'
    )
