"""What a bucket costs, and what comes of one that DynamoDB does not answer for."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from a2a_serverless.adapters.dynamodb_rate_limits import REMEMBERED, DynamoRateLimits
from a2a_serverless.ports.limits import Bucket, OperationClass, RateLimit, UncountedError
from tests.unit.adapters.client import Recorded, refusal, table

BUCKET = Bucket("acme", "owner", OperationClass.SEND)
LIMIT = RateLimit(1, timedelta(seconds=10), 2)
SECOND = 1_000_000


def limits(*answers: Any) -> tuple[DynamoRateLimits, Recorded]:
    """The buckets of one process whose client gives these answers, and the client."""
    made, client = table(*answers)
    return DynamoRateLimits(made), client


def now(made: DynamoRateLimits) -> int:
    return int(made.table.clock.now().timestamp()) * SECOND


def standing(full_at: int, taken_by: str = "somebody") -> dict[str, Any]:
    return {"full_at": {"N": str(full_at)}, "taken_by": {"S": taken_by}}


def taken(full_at: int, taken_by: str = "somebody") -> dict[str, Any]:
    return {"Attributes": standing(full_at, taken_by)}


class Full(Recorded):
    """A table whose every bucket is full."""

    def put_item(self, **request: Any) -> Any:
        self.asked.append(request)
        if not began(request):
            raise refusal()
        values = request["ExpressionAttributeValues"]
        return taken(int(values[":moment"]["N"]) + 10 * SECOND, values[":taken_by"]["S"])

    update_item = put_item


def began(request: Any) -> bool:
    return "#full_at = :full_at" in request["UpdateExpression"]


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
)
def test_whoever_is_too_fast_even_for_their_bucket_waits_a_second(code: str) -> None:
    made, _ = limits(refusal(code))

    assert made.take(BUCKET, LIMIT) == timedelta(seconds=1)


@pytest.mark.parametrize(
    "fault",
    [
        refusal("InternalServerError"),
        refusal("AccessDeniedException"),
        ReadTimeoutError(endpoint_url="https://dynamodb.example"),
    ],
)
def test_a_table_that_does_not_answer_leaves_the_call_uncounted(fault: Exception) -> None:
    made, _ = limits(fault)

    with pytest.raises(UncountedError) as raised:
        made.take(BUCKET, LIMIT)

    assert raised.value.__cause__ is fault


def test_an_empty_bucket_is_asked_once_and_then_left_alone_until_there_can_be_a_token() -> None:
    made, client = limits()
    client.answers = [refusal(Item=standing(now(made) + 17 * SECOND))]

    assert made.take(BUCKET, LIMIT) == timedelta(seconds=7)
    assert made.take(BUCKET, LIMIT) == timedelta(seconds=7)
    made.table.clock.sleep(6)
    assert made.take(BUCKET, LIMIT) == timedelta(seconds=1)

    assert len(client.asked) == 1


def test_a_bucket_that_others_take_from_is_tried_as_one_from_then_on() -> None:
    made, client = limits()
    client.answers = [
        refusal(Item=standing(now(made) + 1 * SECOND)),
        refusal(Item=standing(now(made) + 17 * SECOND)),
        refusal(Item=standing(now(made) + 8 * 3600 * SECOND)),
    ]

    assert made.take(BUCKET, LIMIT) == timedelta(seconds=7)
    made.table.clock.sleep(3600)
    made.take(BUCKET, LIMIT)

    assert [began(request) for request in client.asked] == [True, False, False]


def test_a_bucket_thought_to_be_in_use_that_is_full_again_takes_one_request_more_and_is_thought_full() -> (
    None
):
    made, client = limits()
    client.answers = [refusal(Item=standing(now(made) + 17 * SECOND))]
    made.take(BUCKET, LIMIT)
    client = Full([], client.asked)
    object.__setattr__(made.table, "client", client)

    for _ in range(3):
        made.table.clock.sleep(3600)
        assert made.take(BUCKET, LIMIT) is None

    assert [began(request) for request in client.asked] == [True, False, True, True, True]


def test_a_process_remembers_no_more_buckets_than_it_has_room_for() -> None:
    client: Any = Full([])
    made = DynamoRateLimits(table()[0])
    object.__setattr__(made.table, "client", client)

    for number in range(REMEMBERED + 10):
        assert made.take(Bucket("", f"owner-{number}", OperationClass.READ), LIMIT) is None

    assert len(made._seen) <= REMEMBERED
    assert len(client.asked) == REMEMBERED + 10
