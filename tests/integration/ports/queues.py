"""The queues of webhooks, with what a test needs to look into them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a_serverless.adapters.sqs_letters import SqsLetters
from a2a_serverless.adapters.sqs_pokes import SqsPokes, read_poke
from a2a_serverless.ports.webhooks import DeadLetters, Poke, Pokes
from tests.fakes.ports import FakeClock, FakeLetters, FakePokes
from tests.integration.ports.backends import Backend

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient


@dataclass(frozen=True)
class Queues:
    """Two queues; `arrived` takes the pokes that have arrived, `lying` counts the letters in sight."""

    pokes: Pokes
    arrived: Callable[[], list[Poke]]
    letters: DeadLetters
    lying: Callable[[], int]


def fake_queues() -> Queues:
    """Queues in memory."""
    pokes, letters = FakePokes(FakeClock()), FakeLetters()
    return Queues(pokes, pokes.arrived, letters, lambda: len(letters.lying))


def stored_queues(backend: Backend) -> Queues:
    """Queues of an emulator."""
    pokes, letters = new_queue(backend), new_queue(backend)
    return Queues(
        SqsPokes(backend.sqs, pokes),
        lambda: [read_poke(message["Body"]) for message in taken(backend.sqs, pokes)],
        SqsLetters(backend.sqs, letters, patience=0),
        partial(visible, backend.sqs, letters),
    )


def new_queue(backend: Backend, **attributes: str) -> str:
    """The URL of a queue of one's own."""
    made: Any = backend.sqs.create_queue(QueueName=uuid4().hex, Attributes=attributes)  # type: ignore[arg-type]
    url: str = made["QueueUrl"]
    return url


def taken(sqs: "SQSClient", url: str) -> list[Any]:
    """Every message of the queue in sight, which is deleted."""
    found = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        found += messages
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def visible(sqs: "SQSClient", url: str) -> int:
    """How many messages of the queue are in sight."""
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(attributes["Attributes"]["ApproximateNumberOfMessages"])
