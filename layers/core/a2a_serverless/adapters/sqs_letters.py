"""Dead letters in an SQS queue: records of what could not be delivered, received by operators only.

Pokes that SQS moved there, because the function that receives them failed too often, lie among them: both
name a webhook alike.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from a2a_serverless.adapters.sqs_pokes import (
    BATCH,
    QueueRefusedError,
    batches,
    key_members,
    read_key,
    read_members,
    refusals,
)
from a2a_serverless.ports.webhooks import DeadLetter, WebhookKey
from a2a_serverless.protocol.scalars import print_timestamp

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

VISIBILITY = 120
"""Seconds that received letters stay out of sight: longer than looking through them takes."""

LYING: Final = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
"""What SQS counts of a queue."""

MOST_RECEIVED = 20_000
"""Letters looked at in one go; the rest is for the next."""


@dataclass(frozen=True, slots=True)
class SqsLetters:
    """The queue that raises the alarm while anything lies in it.

    `patience` is how many seconds an empty answer is waited for: without any SQS asks only some of its
    servers, and what is found empty need not be.
    """

    client: "SQSClient"
    queue_url: str
    patience: int = 1

    def put(self, letter: DeadLetter) -> None:
        """Leave a record."""
        self.client.send_message(QueueUrl=self.queue_url, MessageBody=print_letter(letter))

    def count(self) -> int:
        """How many letters lie there, in or out of sight; what came a minute ago may be missing."""
        answer = self.client.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=[*LYING])
        return sum(int(answer["Attributes"][name]) for name in LYING)

    def remove(self, settled: Callable[[WebhookKey], bool]) -> int:
        """Take out the letters whose webhook needs them no more; returns how many there were.

        Every letter is received once and each webhook asked about once; what stays is put back in sight.

        Raises:
            QueueRefusedError: some were not deleted; the others are.
        """
        judgement = _Judgement(settled)
        held: set[str] = set()
        refused: list[str] = []
        removed = 0
        try:
            for messages in self._received():
                held.update(message["ReceiptHandle"] for message in messages)
                done = [message["ReceiptHandle"] for message in messages if judgement.frees(message["Body"])]
                codes = self._delete(done)
                held.difference_update(done)
                removed += len(done) - len(codes)
                refused += codes
        finally:
            self._show(held)
        if refused:
            raise QueueRefusedError(", ".join(refused))
        return removed

    def _received(self) -> Iterator[list[Mapping[str, Any]]]:
        """Every letter, ten at a time, until none comes or one comes again."""
        seen: set[str] = set()
        while len(seen) < MOST_RECEIVED:
            answer = self.client.receive_message(
                QueueUrl=self.queue_url,
                MaxNumberOfMessages=BATCH,
                VisibilityTimeout=VISIBILITY,
                WaitTimeSeconds=self.patience,
            )
            messages = answer.get("Messages", [])
            yield [message for message in messages if message["MessageId"] not in seen]
            if not messages or not seen.isdisjoint(each["MessageId"] for each in messages):
                return
            seen |= {message["MessageId"] for message in messages}

    def _delete(self, receipts: list[str]) -> list[str]:
        if not receipts:
            return []
        entries: Any = [{"Id": str(number), "ReceiptHandle": each} for number, each in enumerate(receipts)]
        return refusals(self.client.delete_message_batch(QueueUrl=self.queue_url, Entries=entries))

    def _show(self, receipts: Collection[str]) -> None:
        """Put letters back in sight; one that cannot be comes back by itself."""
        for batch in batches(receipts, BATCH):
            entries: Any = [
                {"Id": str(number), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
                for number, receipt in enumerate(batch)
            ]
            self.client.change_message_visibility_batch(QueueUrl=self.queue_url, Entries=entries)


@dataclass
class _Judgement:
    """Whether letters may go; each webhook is asked about once."""

    settled: Callable[[WebhookKey], bool]
    known: dict[WebhookKey, bool] = field(default_factory=dict)

    def frees(self, body: str) -> bool:
        """Whether the letter's webhook needs it no more; a letter that names none is for a person to read."""
        try:
            key = read_key(read_members(body))
        except ValueError:
            return False
        if key not in self.known:
            self.known[key] = self.settled(key)
        return self.known[key]


def print_letter(letter: DeadLetter) -> str:
    """The body of a letter's message."""
    members = {
        **key_members(letter.key),
        "position": letter.position,
        "host": letter.host,
        "reason": letter.reason,
        "attempts": letter.attempts,
        "failingSince": print_timestamp(letter.failing_since),
        "diedAt": print_timestamp(letter.died_at),
    }
    return json.dumps(members, separators=(",", ":"))
