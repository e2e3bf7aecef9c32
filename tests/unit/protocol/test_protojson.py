"""ProtoJSON: what a scalar accepts, what is printed and how fields are blamed (specification 5.5, 5.7)."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError, JSONParseError
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState, TaskStatus
from a2a_serverless.protocol.protojson import ProtoModel, parse_json
from a2a_serverless.protocol.requests import GetTaskRequest, ListTasksRequest
from a2a_serverless.protocol.scalars import MAX_DEPTH

MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def refusal(our: type[ProtoModel], value: object) -> dict[str, str]:
    """The fields blamed for a refused value, with their descriptions."""
    with pytest.raises(InvalidParamsError) as refused:
        our.from_dict(value)
    return {violation.field: violation.description for violation in refused.value.violations}


def test_names_are_read_in_both_spellings_and_printed_in_camel_case() -> None:
    message = Message.from_dict({"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]})

    assert message == Message.from_dict(MESSAGE)
    assert message.to_dict() == MESSAGE


def test_one_field_in_both_spellings_is_refused() -> None:
    assert refusal(Message, MESSAGE | {"message_id": "n"}) == {
        "": "must have messageId once, in one spelling"
    }


def test_unknown_fields_are_ignored() -> None:
    assert Message.from_dict(MESSAGE | {"kind": "message", "task": {"id": 1}}) == Message.from_dict(MESSAGE)


def test_null_is_an_absent_field_of_every_kind() -> None:
    nulls = dict.fromkeys(["contextId", "metadata", "extensions", "referenceTaskIds"])

    assert Message.from_dict(MESSAGE | nulls) == Message.from_dict(MESSAGE)
    assert refusal(Message, MESSAGE | {"role": None, "parts": None}) == {
        "role": "is required",
        "parts": "is required",
    }


def test_null_inside_an_array_is_refused() -> None:
    assert refusal(Message, MESSAGE | {"parts": [None], "extensions": [None]}) == {
        "parts[0]": "must be an object",
        "extensions[0]": "must be a string",
    }


def test_an_empty_string_without_presence_is_absent() -> None:
    assert Message.from_dict(MESSAGE | {"contextId": "", "taskId": ""}).to_dict() == MESSAGE


def test_every_offending_field_is_named_by_its_path_in_camel_case() -> None:
    parts = [{"raw": "@@@"}, {"text": 1}, {"text": "x", "metadata": []}]

    assert refusal(Message, {"message_id": 1, "role": "USER", "parts": parts, "reference_task_ids": "t"}) == {
        "messageId": "must be a string",
        "role": "must be one of ROLE_USER, ROLE_AGENT",
        "parts[0].raw": "must be base64",
        "parts[1].text": "must be a string",
        "parts[2].metadata": "must be a JSON object",
        "referenceTaskIds": "must be an array",
    }


def test_at_most_twenty_violations_are_named() -> None:
    assert len(refusal(Message, MESSAGE | {"parts": [{}] * 1000})) == 20


@pytest.mark.parametrize("value", [None, [], "text", 1, True])
def test_a_message_that_is_no_object_is_refused(value: object) -> None:
    assert refusal(Task, value) == {"": "must be an object"}


@pytest.mark.parametrize(("given", "held"), [(3, 3), (3.0, 3), ("3", 3), ("-0", 0), (2**31 - 1, 2**31 - 1)])
def test_an_integer_is_read_from_a_number_or_a_decimal_string(given: object, held: int) -> None:
    assert GetTaskRequest.from_dict({"id": "t", "historyLength": given}).history_length == held


@pytest.mark.parametrize(
    "given", [True, 1.5, "1.0", " 1", "1_0", "٣", "", 2**31, "9999999999", 1e300, float("nan"), [], {}]
)
def test_anything_else_is_no_integer(given: object) -> None:
    assert refusal(GetTaskRequest, {"id": "t", "historyLength": given}) == {
        "historyLength": "must be a 32-bit integer"
    }


@pytest.mark.parametrize("given", ["true", 1, 0, "", []])
def test_only_true_and_false_are_booleans(given: object) -> None:
    assert refusal(ListTasksRequest, {"includeArtifacts": given}) == {
        "includeArtifacts": "must be true or false"
    }


@pytest.mark.parametrize("given", ["TASK_STATE_WORKING", 2, 2.0])
def test_an_enum_is_read_by_name_or_number(given: object) -> None:
    assert ListTasksRequest.from_dict({"status": given}).status is TaskState.WORKING


@pytest.mark.parametrize("given", ["working", "TASK_STATE_UNSPECIFIED", "", 0, 9, 1.5, True, []])
def test_an_unknown_or_unspecified_enum_is_refused_with_the_names_it_could_be(given: object) -> None:
    assert refusal(TaskStatus, {"state": given})["state"] == (
        "must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, "
        "TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED"
    )


@pytest.mark.parametrize("given", ["+/8=", "-_8=", "+/8", "-_8"])
def test_bytes_are_read_in_both_alphabets_padded_or_not_and_printed_in_the_standard_one(given: str) -> None:
    part = Part.from_dict({"raw": given})

    assert part.raw == b"\xfb\xff"
    assert part.to_dict() == {"raw": "+/8="}


@pytest.mark.parametrize(
    "given",
    [
        "@@@",
        "data:text/plain;base64,aGk=",
        "aGk\n=",
        " aGk=",
        "aGk=aGk=",
        "a",
        "aGk==",
        "=",
        "+_8=",
        "ä",
        1,
        [],
    ],
)
def test_anything_else_is_no_base64(given: object) -> None:
    assert refusal(Part, {"raw": given}) == {"raw": "must be base64"}


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ("2026-01-01T00:00:00+05:30", "2025-12-31T18:30:00.000Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z"),
        ("0001-01-01T00:00:00.9Z", "0001-01-01T00:00:00.900Z"),
    ],
)
def test_a_timestamp_is_printed_in_utc_with_three_decimals(given: str, printed: str) -> None:
    status = TaskStatus.from_dict({"state": "TASK_STATE_WORKING", "timestamp": given})

    assert status.to_dict()["timestamp"] == printed
    assert TaskStatus.from_json(status.to_json()) == status


@pytest.mark.parametrize(
    "given",
    [
        "1700000000",
        1700000000,
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00+24:00",
        "0001-01-01T00:00:00+01:00",
        "2026-W01-1T00:00:00Z",
        "",
    ],
)
def test_anything_else_is_no_timestamp(given: object) -> None:
    assert refusal(ListTasksRequest, {"statusTimestampAfter": given}) == {
        "statusTimestampAfter": (
            "must be an RFC 3339 timestamp with an offset, such as 2026-01-31T10:30:00.000Z"
        )
    }


def test_a_python_datetime_is_held_as_utc_milliseconds_and_needs_an_offset() -> None:
    at = datetime(2026, 1, 1, 5, 30, 0, 1999, tzinfo=timezone(timedelta(hours=5, minutes=30)))

    status = TaskStatus(state=TaskState.WORKING, timestamp=at)

    assert status.timestamp == datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)
    with pytest.raises(ValidationError):
        TaskStatus(state=TaskState.WORKING, timestamp=at.replace(tzinfo=None))


def test_numbers_in_free_json_are_doubles_and_whole_ones_are_printed_without_a_point() -> None:
    part = Part.from_json(
        '{"data": [42.0, 42, -0.0, 1.5, 1e300, 9007199254740993, true, "x", null, {"a": []}]}'
    )

    assert part.to_json() == '{"data":[42,42,0,1.5,1e+300,9007199254740992,true,"x",null,{"a":[]}]}'


@pytest.mark.parametrize("given", [float("nan"), float("inf"), 10**400])
def test_a_number_that_is_no_finite_double_is_refused(given: float) -> None:
    assert refusal(Part, {"data": {"n": [given]}}) == {
        "data": "must hold only numbers that are finite doubles"
    }


@pytest.mark.parametrize("given", [{1: 2}, {"a": object()}, {"a": b"bytes"}, {"a": {1, 2}}])
def test_what_is_not_json_is_refused_in_free_json(given: object) -> None:
    assert refusal(Part, {"data": given})["data"].startswith("must be JSON")


@pytest.mark.parametrize(
    "value", [{"text": "\ud800"}, {"data": "\ud800"}, {"data": {"\ud800": 1}}, {"url": "\udfff"}]
)
def test_lone_surrogates_are_refused_everywhere(value: dict[str, Any]) -> None:
    assert list(refusal(Part, value).values()) == ["must be valid Unicode, without lone surrogates"]


def test_text_beyond_ascii_survives() -> None:
    part = Part(data={"schlüssel": "😀"}, filename="größe.txt")

    assert Part.from_json(part.to_json()) == part


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_free_json_is_read_and_printed_to_the_limit_of_nesting_and_refused_beyond() -> None:
    deepest = Message.from_dict(MESSAGE | {"parts": [{"data": nested(MAX_DEPTH)}]})
    task = Task(id="t", status=TaskStatus(state=TaskState.WORKING), history=(deepest,))

    assert Task.from_json(task.to_json()) == task
    assert refusal(Part, {"data": nested(MAX_DEPTH + 1)}) == {
        "data": "must not be nested more than 100 levels deep"
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nope",
        "{",
        b"\xff",
        b'\xef\xbb\xbf{"text": "a byte order mark"}',
        '{"text": "a"} {"text": "b"}',
        '{"text": "a", "text": "b"}',
        '{"data": NaN}',
        '{"data": -Infinity}',
        '{"data": 1e999}',
        '{"data": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"data":' * 100_000,
    ],
)
def test_what_is_not_strict_json_is_a_parse_error(text: bytes | str) -> None:
    with pytest.raises(JSONParseError):
        Part.from_json(text)


def test_strict_json_is_parsed_from_text_and_from_utf8() -> None:
    value = {"a": [1, 2.5, "ü", None, True, {}]}

    assert (
        parse_json(json.dumps(value)) == parse_json(json.dumps(value, ensure_ascii=False).encode()) == value
    )


def test_a_value_cannot_be_changed_but_copied_with_a_change() -> None:
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))

    with pytest.raises(ValidationError):
        message.task_id = "t"
    assert message.model_copy(update={"task_id": "t"}).to_dict() == MESSAGE | {"taskId": "t"}


def test_the_callers_json_is_not_shared_with_the_value() -> None:
    metadata = {"list": [1]}
    message = Message.from_dict(MESSAGE | {"metadata": metadata})

    metadata["list"].append(2)

    assert message.metadata == {"list": [1]}


def test_a_refusal_quotes_nothing_of_what_was_sent() -> None:
    with pytest.raises(ValidationError) as refused:
        Part.model_validate({"text": 1, "raw": "secret!"})

    assert "secret" not in str(refused.value)
    assert FieldViolation("raw", "must be base64") in _violations_of({"raw": "secret!"})


def _violations_of(value: object) -> tuple[FieldViolation, ...]:
    with pytest.raises(InvalidParamsError) as refused:
        Part.from_dict(value)
    return refused.value.violations
