"""What is asked of SQS, and what happens when it takes only some messages of a batch."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.adapters.sqs_letters import SqsLetters
from a2a_serverless.adapters.sqs_pokes import QueueRefusedError, SqsPokes, print_poke, read_poke
from a2a_serverless.ports.webhooks import DeadLetter, Poke, WebhookKey
from a2a_serverless.tasks.log import TaskKey

MOMENT = datetime(2026, 11, 30, tzinfo=UTC)
KEY = WebhookKey(TaskKey("acme", "owner", "t-1"), "w-1")
BODY = {"tenant": "acme", "owner": "owner", "task": "t-1", "config": "w-1", "window": 3}


@dataclass
class RecordedSqs:
    """A queue that hands out batch after batch, remembers what it was asked, and refuses some entries."""

    refused: tuple[str, ...] = ()
    batches: list[list[Mapping[str, str]]] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def send_message_batch(self, **request: Any) -> Mapping[str, Any]:
        self.asked.append(request)
        failed = [{"Id": each["Id"], "Code": "InternalError"} for each in request["Entries"]]
        return {"Failed": [each for each in failed if each["Id"] in self.refused]}

    delete_message_batch = change_message_visibility_batch = send_message_batch

    def receive_message(self, **request: Any) -> Mapping[str, Any]:
        self.asked.append(request)
        return {"Messages": self.batches.pop(0)} if self.batches else {}


def pokes(*refused: str) -> tuple[SqsPokes, RecordedSqs]:
    client: Any = RecordedSqs(refused)
    return SqsPokes(client, "https://queue"), client


def letters(*batches: list[str], refused: tuple[str, ...] = ()) -> tuple[SqsLetters, RecordedSqs]:
    """Letters that come in these batches, each of the webhook of its name."""
    messages: list[list[Mapping[str, str]]] = [
        [
            {
                "MessageId": name,
                "ReceiptHandle": f"{number}-{name}",
                "Body": json.dumps({**BODY, "config": name}),
            }
            for name in batch
        ]
        for number, batch in enumerate(batches)
    ]
    client: Any = RecordedSqs(refused, messages)
    return SqsLetters(client, "https://queue"), client


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [(0.0, 0), (-3.0, 0), (0.001, 1), (1.0, 1), (1.2, 2), (899.5, 900), (1080.0, 900), (float("inf"), 900)],
)
def test_a_delay_is_rounded_up_and_as_long_as_sqs_allows_at_most(delay: float, seconds: int) -> None:
    queue, client = pokes()

    queue.send([Poke(KEY, 3)], delay=delay)

    entry = {"Id": "0", "MessageBody": json.dumps(BODY, separators=(",", ":")), "DelaySeconds": seconds}
    assert client.asked == [{"QueueUrl": "https://queue", "Entries": [entry]}]


def test_pokes_go_ten_at_a_time() -> None:
    queue, client = pokes()

    queue.send([Poke(KEY, number) for number in range(21)])

    assert [len(request["Entries"]) for request in client.asked] == [10, 10, 1]
    assert all(len({each["Id"] for each in request["Entries"]}) > 0 for request in client.asked)


def test_pokes_that_sqs_did_not_take_are_an_error_after_the_others_were_sent() -> None:
    queue, client = pokes("1")

    with pytest.raises(QueueRefusedError, match="InternalError, InternalError"):
        queue.send([Poke(KEY, number) for number in range(15)])

    assert [len(request["Entries"]) for request in client.asked] == [10, 5]


def test_a_poke_is_read_back_as_it_was_printed() -> None:
    poke = Poke(WebhookKey(TaskKey("", 'o"#', "é\0"), "\N{CRAB}"), 7)

    assert print_poke(poke).isascii()
    assert read_poke(print_poke(poke)) == poke


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("", "body must be JSON"),
        ("{", "body must be JSON"),
        ("[" * 100_000, "body must be JSON"),
        ('"poke"', "body must be a JSON object"),
        ("null", "body must be a JSON object"),
        *(
            (
                json.dumps({name: value for name, value in BODY.items() if name != missing}),
                f"{missing} must be",
            )
            for missing in ("tenant", "owner", "task", "config")
        ),
        *((json.dumps({**BODY, name: 7}), f"{name} must be a string") for name in ("tenant", "config")),
        *((json.dumps({**BODY, "window": value}), "window must be") for value in (-1, 1.5, "1", True, None)),
    ],
)
def test_what_is_no_poke_is_refused_by_the_member_at_fault(body: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        read_poke(body)


def test_a_poke_without_a_window_ends_none() -> None:
    body = json.dumps({name: value for name, value in BODY.items() if name != "window"})

    assert read_poke(body) == Poke(KEY, 0)


def test_letters_are_received_out_of_sight_and_waited_for_until_none_comes() -> None:
    queue, client = letters(["a", "b"], ["c"])

    assert queue.remove(lambda _: True) == 3

    received = [request for request in client.asked if "MaxNumberOfMessages" in request]
    assert len(received) == 3
    assert {request["WaitTimeSeconds"] for request in received} == {1}
    assert min(request["VisibilityTimeout"] for request in received) >= 60


def test_letters_that_come_again_end_the_search() -> None:
    """Looking took so long that those received first are back: for the next time."""
    queue, client = letters(["a", "b"], ["b", "c"], ["d"])
    asked: list[str] = []

    assert queue.remove(lambda key: bool(asked.append(key.config_id))) == 0

    assert asked == ["a", "b", "c"]
    assert [len(request["Entries"]) for request in client.asked if "Entries" in request] == [3]


def test_letters_that_sqs_did_not_delete_are_an_error_after_the_others_are_gone() -> None:
    queue, client = letters(["a", "b", "c"], ["d"], refused=("1",))

    with pytest.raises(QueueRefusedError, match="InternalError"):
        queue.remove(lambda key: key.config_id != "c")

    deleted = [request["Entries"] for request in client.asked if "Entries" in request]
    assert [[each["ReceiptHandle"] for each in entries] for entries in deleted] == [
        ["0-a", "0-b"],
        ["1-d"],
        ["0-c"],
    ]
    assert deleted[2][0]["VisibilityTimeout"] == 0


def test_a_letter_goes_as_one_message() -> None:
    sent: list[Any] = []
    client: Any = type("Sqs", (), {"send_message": lambda _, **request: sent.append(request)})()

    SqsLetters(client, "https://queue").put(DeadLetter(KEY, 7, "host", "reason", 1, MOMENT, MOMENT))

    assert [(request["QueueUrl"], json.loads(request["MessageBody"])["position"]) for request in sent] == [
        ("https://queue", 7)
    ]
