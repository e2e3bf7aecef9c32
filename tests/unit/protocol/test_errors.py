"""The error table of the specification as classes (5.4, 9.5, 10.6, 11.6)."""

from collections.abc import Iterator
from http import HTTPStatus

import pytest

from a2a_serverless.protocol import errors
from a2a_serverless.protocol.errors import (
    A2AError,
    FieldViolation,
    InvalidParamsError,
    RateLimitedError,
    TaskNotFoundError,
)

# Specification 5.4 and, for the reserved codes of JSON-RPC, 9.5.
TABLE = {
    "TaskNotFoundError": (-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "TaskNotCancelableError": (-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    "PushNotificationNotSupportedError": (
        -32003,
        400,
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    "UnsupportedOperationError": (-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    "ContentTypeNotSupportedError": (-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    "InvalidAgentResponseError": (-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    "ExtendedAgentCardNotConfiguredError": (
        -32007,
        400,
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    ),
    "ExtensionSupportRequiredError": (-32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    "VersionNotSupportedError": (-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    "InvalidRequestError": (-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    "MethodNotFoundError": (-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    "InvalidParamsError": (-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    "InternalError": (-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
    "JSONParseError": (-32700, 400, "INVALID_ARGUMENT", "JSON_PARSE_ERROR"),
    "UnauthenticatedError": (-31401, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
    "PermissionDeniedError": (-31403, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    "RateLimitedError": (-31429, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED"),
}


def all_errors(parent: type[A2AError] = A2AError) -> Iterator[type[A2AError]]:
    """Every error of the protocol; a binding may have more, for what its transport refuses."""
    for error in parent.__subclasses__():
        if error.__module__ == errors.__name__:
            yield error
        yield from all_errors(error)


every_error = pytest.mark.parametrize("error", list(all_errors()), ids=lambda error: error.__name__)


def test_every_error_is_a_row_of_the_table_and_every_row_an_error() -> None:
    assert {
        error.__name__: (error.code, error.http_status, error.status, error.reason) for error in all_errors()
    } == TABLE


def test_codes_and_reasons_are_unique() -> None:
    for column in (0, 3):
        assert len({row[column] for row in TABLE.values()}) == len(TABLE)


def test_our_own_codes_lie_outside_what_the_protocol_and_json_rpc_reserve() -> None:
    ours = [error.code for error in all_errors() if error.code not in range(-32768, -31999)]

    assert ours == [-31401, -31403, -31429]


@every_error
def test_an_error_has_a_public_text_of_its_own_and_names_its_reason(error: type[A2AError]) -> None:
    raised = error()

    assert raised.message == str(raised) == error.text
    assert isinstance(error.http_status, HTTPStatus)
    assert raised.details()[0] == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": error.reason,
        "domain": "a2a-protocol.org",
    }
    assert len(raised.details()) == (2 if error is RateLimitedError else 1)


@every_error
def test_an_error_is_drawn_in_the_tree_of_its_module(error: type[A2AError]) -> None:
    assert any(
        error.__name__ in line and str(error.code) in line for line in (errors.__doc__ or "").splitlines()
    )


def test_metadata_travels_in_the_error_info() -> None:
    raised = TaskNotFoundError("No such task", metadata={"taskId": "t"})

    assert raised.message == "No such task"
    assert raised.details()[0]["metadata"] == {"taskId": "t"}


def test_when_to_ask_again_travels_as_a_retry_info() -> None:
    raised = RateLimitedError(retry_after=48)

    assert raised.details()[1] == {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": "48s",
    }


def test_a_blamed_field_travels_as_a_bad_request() -> None:
    raised = InvalidParamsError.of("message.parts[0].raw", "must be base64")

    assert raised.violations == (FieldViolation("message.parts[0].raw", "must be base64"),)
    assert raised.details()[1] == {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "message.parts[0].raw", "description": "must be base64"}],
    }
