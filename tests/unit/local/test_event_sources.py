"""Event source mappings: what is read of them, what their filters let pass, and what becomes of a batch."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from infra.local.batches import Answer, Portion, failures, given_up, obituary, remainder
from infra.local.event_filters import matches, read_pattern
from infra.local.event_sources import QueueSource, StreamSource
from infra.local.intrinsics import UnresolvableError

WRITTEN = 1_796_040_000.25
NOW = datetime.fromtimestamp(WRITTEN + 100, UTC)


def source(**changed: Any) -> StreamSource:
    """A mapping that bisects, reports, and tries again twice within an hour."""
    declared = {
        "function": "fanout",
        "table": "tasks",
        "batch_size": 100,
        "lanes": 1,
        "reports": True,
        "bisects": True,
        "retries": 2,
        "age_seconds": 3600,
        "patterns": (),
        "on_failure": "failures",
    }
    return StreamSource(**{**declared, **changed})


def portion(*numbers: int, failed_attempts: int = 0) -> Portion:
    records = [
        {
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:1:table/tasks/stream/local",
            "dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": WRITTEN},
        }
        for number in numbers
    ]
    return Portion(records, failed_attempts)


def reported(*numbers: int) -> Answer:
    failed = [{"itemIdentifier": str(number)} for number in numbers]
    return Answer(json.dumps({"batchItemFailures": failed}).encode())


def shape(portions: Sequence[Portion]) -> list[tuple[list[str], int]]:
    return [(list(each.sequence_numbers), each.failed_attempts) for each in portions]


RAISED = Answer(b'{"errorType": "ValueError"}', failed=True)


@pytest.mark.parametrize(
    "payload", [b"", b"null", b"{}", b'{"batchItemFailures": []}', b'{"batchItemFailures": null}']
)
def test_a_function_that_reports_nothing_is_done_with_all_of_it(payload: bytes) -> None:
    assert failures(Answer(payload), ["1", "2"], reports=True) == set()


@pytest.mark.parametrize(
    "payload",
    [
        b"no json",
        b"7",
        b'{"batchItemFailures": [{}]}',
        b'{"batchItemFailures": [{"itemIdentifier": ""}]}',
        b'{"batchItemFailures": [{"itemIdentifier": null}]}',
        b'{"batchItemFailures": [{"itemIdentifier": "another"}]}',
    ],
)
def test_a_report_that_cannot_be_read_is_one_of_failing_at_everything(payload: bytes) -> None:
    assert failures(Answer(payload), ["1", "2"], reports=True) == {"1", "2"}
    assert failures(Answer(payload), ["1", "2"], reports=False) == set()


def test_what_a_function_reports_counts_only_where_reports_are_asked_for() -> None:
    assert failures(reported(2), ["1", "2"], reports=True) == {"2"}
    assert failures(reported(2), ["1", "2"], reports=False) == set()
    assert failures(RAISED, ["1", "2"], reports=False) == {"1", "2"}


def test_a_portion_that_was_taken_leaves_nothing() -> None:
    assert remainder(portion(1, 2, 3), reported(), source()) == []


def test_from_the_first_record_that_was_reported_all_are_sent_again() -> None:
    left = remainder(portion(1, 2, 3, 4), reported(4, 2), source())

    assert shape(left) == [(["2", "3", "4"], 1)]


def test_getting_further_begins_the_count_of_attempts_anew() -> None:
    further = remainder(portion(1, 2, failed_attempts=2), reported(2), source())
    no_further = remainder(portion(1, 2, failed_attempts=1), reported(1), source())

    assert (shape(further), shape(no_further)) == ([(["2"], 1)], [(["1", "2"], 2)])


def test_a_portion_at_which_the_function_failed_is_sent_again_in_halves_that_cost_no_retry() -> None:
    left = remainder(portion(1, 2, 3, failed_attempts=1), RAISED, source())

    assert shape(left) == [(["1"], 1), (["2", "3"], 1)]


def test_a_single_record_is_halved_no_further() -> None:
    assert shape(remainder(portion(1), RAISED, source())) == [(["1"], 1)]


def test_without_bisecting_a_portion_is_sent_again_as_it_is() -> None:
    assert shape(remainder(portion(1, 2), RAISED, source(bisects=False))) == [(["1", "2"], 1)]


@pytest.mark.parametrize(
    ("attempts", "changed", "why"),
    [
        (2, {}, None),
        (3, {}, "RetryAttemptsExhausted"),
        (1000, {"retries": -1}, None),
        (0, {"age_seconds": 99}, "RecordAgeExceeded"),
        (0, {"age_seconds": 101}, None),
        (0, {"age_seconds": -1}, None),
    ],
)
def test_a_portion_is_given_up_after_its_retries_or_at_its_age(
    attempts: int, changed: dict[str, float], why: str | None
) -> None:
    assert given_up(portion(1, failed_attempts=attempts), source(**changed), NOW) == why


def test_who_is_told_of_what_was_given_up_learns_where_it_was_and_not_what() -> None:
    told = json.loads(obituary(portion(5, 6, failed_attempts=3), source(), "RetryAttemptsExhausted", NOW))

    assert told["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert told["requestContext"]["functionArn"].endswith(":function:fanout")
    assert told["timestamp"] == "2026-11-30T12:01:40.250Z"
    assert told["DDBStreamBatchInfo"] == {
        "shardId": "shardId-local",
        "startSequenceNumber": "5",
        "endSequenceNumber": "6",
        "approximateArrivalOfFirstRecord": "2026-11-30T12:00:00.250Z",
        "approximateArrivalOfLastRecord": "2026-11-30T12:00:00.250Z",
        "batchSize": 2,
        "streamArn": "arn:aws:dynamodb:us-east-1:1:table/tasks/stream/local",
    }


PATTERN = read_pattern({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"pushes": {"S": ["a", "b"]}}}})


@pytest.mark.parametrize(
    ("record", "passes"),
    [
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {"pushes": {"S": "a"}, "x": {}}}}, True),
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {"pushes": {"S": "c"}}}}, False),
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {"pushes": {"BOOL": True}}}}, False),
        ({"eventName": "INSERT", "dynamodb": {"NewImage": {}}}, False),
        ({"eventName": "INSERT", "dynamodb": {"NewImage": "text"}}, False),
        ({"eventName": "MODIFY", "dynamodb": {"NewImage": {"pushes": {"S": "a"}}}}, False),
        ({"eventName": "REMOVE", "dynamodb": {}}, False),
    ],
)
def test_a_filter_lets_pass_what_has_its_shape(record: Mapping[str, Any], *, passes: bool) -> None:
    assert matches(PATTERN, record) is passes


@pytest.mark.parametrize(
    "pattern",
    [
        [],
        {"$or": [{"a": ["b"]}]},
        {"a": {"$or": []}},
        {"a": [{"prefix": "b"}]},
        {"a": "b"},
    ],
)
def test_a_filter_that_says_more_than_is_understood_is_refused(pattern: object) -> None:
    with pytest.raises(UnresolvableError):
        read_pattern(pattern)


def test_a_mapping_of_a_queue_is_read_with_aws_defaults() -> None:
    read = QueueSource.declared("push", {"Queue": "arn:aws:sqs:us-east-1:1:pokes"})

    assert read == QueueSource("push", "pokes", batch_size=10, most_at_once=1000, reports=False)


def test_a_mapping_of_a_stream_is_read_with_aws_defaults() -> None:
    read = StreamSource.declared(
        "fanout",
        {
            "Stream": "arn:aws:dynamodb:us-east-1:1:table/tasks/stream/local",
            "StartingPosition": "TRIM_HORIZON",
        },
    )

    assert read == source(reports=False, bisects=False, retries=-1, age_seconds=-1, on_failure=None)


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        (QueueSource, {"Queue": "arn:q", "MaximumBatchingWindowInSeconds": 5}),
        (StreamSource, {"Stream": "a/tasks/b", "StartingPosition": "LATEST"}),
        (StreamSource, {"Stream": "a/t/b", "StartingPosition": "TRIM_HORIZON", "TumblingWindowInSeconds": 1}),
        (
            StreamSource,
            {"Stream": "a/t/b", "StartingPosition": "TRIM_HORIZON", "MaximumBatchingWindowInSeconds": 1},
        ),
    ],
)
def test_a_mapping_that_would_behave_otherwise_on_aws_is_refused(
    kind: type[QueueSource | StreamSource], properties: dict[str, Any]
) -> None:
    with pytest.raises(UnresolvableError):
        kind.declared("function", properties)
