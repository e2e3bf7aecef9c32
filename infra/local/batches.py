"""What Lambda makes of a function's answer to a batch, and what it sends on, as values.

AWS: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html and
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html. Pure: knows no queue and
no stream, and takes the time as a value.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from infra.local.deployment import ACCOUNT, REGION
from infra.local.event_sources import StreamSource

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What an invocation came to."""

    payload: bytes
    failed: bool = False


def failures(answer: Answer, known: Sequence[str], *, reports: bool) -> set[str]:
    """Return which of the records the function failed at: all of them, if it is not clear which."""
    if answer.failed:
        return set(known)
    if not reports:
        return set()
    try:
        described = json.loads(answer.payload or b"null") or {}
        named = {failure["itemIdentifier"] for failure in described.get("batchItemFailures") or ()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set(known)
    return set(known) if named - set(known) else named


@dataclass(frozen=True)
class Portion:
    """Records of a stream that are sent together, and how often that was in vain."""

    records: Sequence[Record]
    failed_attempts: int = 0

    @property
    def sequence_numbers(self) -> Sequence[str]:
        """What identifies the records, in their order."""
        return [record["dynamodb"]["SequenceNumber"] for record in self.records]

    def age(self, now: datetime) -> float:
        """Seconds since the first of them was written."""
        return now.timestamp() - float(self.records[0]["dynamodb"]["ApproximateCreationDateTime"])


def remainder(portion: Portion, answer: Answer, source: StreamSource) -> list[Portion]:
    """Return what is to be sent again of a portion, in order.

    From the first record on that the function reported. When it just failed, all of it; in halves, which
    costs no retry, if the mapping bisects.
    """
    numbers = portion.sequence_numbers
    failed = failures(answer, numbers, reports=source.reports)
    first = next((index for index, number in enumerate(numbers) if number in failed), None)
    if first is None:
        return []
    records = portion.records[first:]
    if source.bisects and answer.failed and len(records) > 1:
        middle = len(records) // 2
        halves = (records[:middle], records[middle:])
        return [Portion(half, portion.failed_attempts) for half in halves]
    return [Portion(records, 1 if first else portion.failed_attempts + 1)]


def given_up(portion: Portion, source: StreamSource, now: datetime) -> str | None:
    """Return why a portion is not sent any more, in AWS's word; None when it is."""
    if 0 <= source.retries < portion.failed_attempts:
        return "RetryAttemptsExhausted"
    if 0 <= source.age_seconds < portion.age(now):
        return "RecordAgeExceeded"
    return None


def obituary(portion: Portion, source: StreamSource, why: str, now: datetime) -> str:
    """Return what the on-failure destination is told of a portion that was given up: not its contents."""
    arrivals = [
        instant(float(record["dynamodb"]["ApproximateCreationDateTime"]))
        for record in (portion.records[0], portion.records[-1])
    ]
    return json.dumps(
        {
            "requestContext": {
                "functionArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{source.function}",
                "condition": why,
                "approximateInvokeCount": portion.failed_attempts,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "version": "1.0",
            "timestamp": instant(now.timestamp()),
            "DDBStreamBatchInfo": {
                "shardId": "shardId-local",
                "startSequenceNumber": portion.sequence_numbers[0],
                "endSequenceNumber": portion.sequence_numbers[-1],
                "approximateArrivalOfFirstRecord": arrivals[0],
                "approximateArrivalOfLastRecord": arrivals[1],
                "batchSize": len(portion.records),
                "streamArn": portion.records[0]["eventSourceARN"],
            },
        }
    )


def instant(seconds: float) -> str:
    """Return a moment as AWS prints it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
