"""What an error that comes back means: by its reason, its code, or what HTTP says alone."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from a2a_serverless.client.failures import UnknownError
from a2a_serverless.client.refusals import KINDS, of_jsonrpc, of_status, retry_after
from a2a_serverless.protocol.errors import (
    A2AError,
    InternalError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotFoundError,
    UnauthenticatedError,
)

RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_of_the_protocol_comes_back_as_itself_over_both_bindings(kind: type[A2AError]) -> None:
    raised = kind()
    over_rpc = of_jsonrpc({"code": kind.code, "message": "Text", "data": raised.details()}, 200)
    over_rest = of_status({"message": "Text", "details": raised.details()}, kind.http_status)

    assert type(over_rpc) is type(over_rest) is kind
    assert over_rpc.message == over_rest.message == "Text"


def test_a_code_says_enough_where_there_are_no_details() -> None:
    assert type(of_jsonrpc({"code": -32001}, 200)) is TaskNotFoundError
    assert of_jsonrpc({"code": -32001}, 200).message == TaskNotFoundError.text


def test_a_reason_says_enough_under_a_code_of_somebodys_own() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INTERNAL_ERROR"}

    assert type(of_jsonrpc({"code": 5, "data": info}, 200)) is InternalError


@pytest.mark.parametrize(
    ("status", "kind"), [(401, UnauthenticatedError), (403, PermissionDeniedError), (429, RateLimitedError)]
)
def test_http_says_enough_where_nothing_else_does(status: int, kind: type[A2AError]) -> None:
    assert type(of_status({}, status)) is kind
    assert type(of_jsonrpc({"code": -1, "message": "No"}, status)) is kind


@pytest.mark.parametrize("data", [None, "text", 5, {}, [], [1, None], [{"@type": 7, "metadata": []}]])
def test_whatever_comes_along_is_kept_and_does_no_harm(data: Any) -> None:
    error = of_jsonrpc({"code": "not a number", "message": 7, "data": data}, 200)

    assert isinstance(error, UnknownError)
    assert (error.answered_code, error.data, error.message) == (0, data, UnknownError.text)


def test_fields_to_blame_may_be_badly_written() -> None:
    listed = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "a"}, 7, {"description": "b"}],
    }

    error = of_jsonrpc({"code": -32602, "data": [listed]}, 200)

    assert [(each.field, each.description) for each in error.violations] == [("a", ""), ("", "b")]


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"retry-after": "3"}, [RETRY], 3),
        ({}, [RETRY], 7),
        ({}, [], 5),
        ({"retry-after": "soon"}, [{**RETRY, "retryDelay": "x"}], 5),
        ({"retry-after": "0"}, [], 1),
    ],
)
def test_a_limit_says_when_to_come_back(headers: dict[str, str], details: list[Any], seconds: int) -> None:
    error = of_jsonrpc({"code": -31429, "data": details}, 429, headers)

    assert isinstance(error, RateLimitedError)
    assert error.retry_after == seconds


def test_when_to_come_back_may_be_a_date() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=60)

    assert 55 < (retry_after({"retry-after": format_datetime(soon, usegmt=True)}) or 0) <= 60
    assert retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}) == 0
    assert retry_after({"retry-after": "Sun, 06 Nov 1994 08:49:37"}) == 0
    assert retry_after({}) is None
