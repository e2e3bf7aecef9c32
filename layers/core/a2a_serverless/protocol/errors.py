"""The errors of the protocol, one class for each row of the specification's table (5.4, 9.5, 10.6, 11.6).

Raise them anywhere; each binding translates them in exactly one place, from the attributes of the class.
Message and details are public: never put an exception's text, a path or a secret into them. Knows no envelope
of either binding.

    A2AError
    ├── TaskNotFoundError                     -32001
    ├── TaskNotCancelableError                -32002
    ├── PushNotificationNotSupportedError     -32003
    ├── UnsupportedOperationError             -32004
    ├── ContentTypeNotSupportedError          -32005
    ├── InvalidAgentResponseError             -32006
    ├── ExtendedAgentCardNotConfiguredError   -32007
    ├── ExtensionSupportRequiredError         -32008
    ├── VersionNotSupportedError              -32009
    ├── InvalidRequestError                   -32600   not a JSON-RPC request
    ├── MethodNotFoundError                   -32601
    ├── InvalidParamsError                    -32602   names every offending field
    ├── InternalError                         -32603
    ├── JSONParseError                        -32700
    ├── UnauthenticatedError                  -31401   no row in the specification
    ├── PermissionDeniedError                 -31403   no row in the specification
    └── RateLimitedError                      -31429   no row in the specification

The specification names no JSON-RPC code for the last three. JSON-RPC reserves -32768 to -32000 and A2A keeps
-32001 to -32099 for its own growth, so ours lie outside both and end in the HTTP status they stand for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Self

DOMAIN = "a2a-protocol.org"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field of a request that cannot be accepted, by its JSON path, and why.

    `field` is spelled as on the wire: `message.parts[0].raw`. The request as a whole is the empty path.
    """

    field: str
    description: str


class A2AError(Exception):
    """An answer of the protocol that is not a result.

    `code` is the JSON-RPC code, `http_status` the HTTP+JSON status, `status` the google.rpc name of that
    status and `reason` the ErrorInfo reason. `message` is the text a caller reads; by default the fixed
    `text`.
    """

    code: ClassVar[int]
    http_status: ClassVar[HTTPStatus]
    status: ClassVar[str]
    reason: ClassVar[str]
    text: ClassVar[str]

    def __init__(
        self,
        message: str | None = None,
        *,
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
    ) -> None:
        self.message = self.text if message is None else message
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        super().__init__(self.message)

    def details(self) -> list[dict[str, Any]]:
        """What a program reads: ErrorInfo, then BadRequest when fields are to blame (9.5, 11.6)."""
        info: dict[str, Any] = {"@type": ERROR_INFO, "reason": self.reason, "domain": DOMAIN}
        if self.metadata:
            info["metadata"] = self.metadata
        if not self.violations:
            return [info]
        fields = [{"field": each.field, "description": each.description} for each in self.violations]
        return [info, {"@type": BAD_REQUEST, "fieldViolations": fields}]


class TaskNotFoundError(A2AError):
    """The task or webhook does not exist, or not for this caller; the two are deliberately alike."""

    code = -32001
    http_status = HTTPStatus.NOT_FOUND
    status = "NOT_FOUND"
    reason = "TASK_NOT_FOUND"
    text = "Task not found"


class TaskNotCancelableError(A2AError):
    """The task has already ended."""

    code = -32002
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "TASK_NOT_CANCELABLE"
    text = "Task cannot be canceled"


class PushNotificationNotSupportedError(A2AError):
    """The card does not announce push notifications."""

    code = -32003
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
    text = "Push notifications are not supported"


class UnsupportedOperationError(A2AError):
    """The card does not announce this operation, or the task's state rules it out."""

    code = -32004
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "UNSUPPORTED_OPERATION"
    text = "This operation is not supported"


class ContentTypeNotSupportedError(A2AError):
    """A media type of the request is not accepted."""

    code = -32005
    http_status = HTTPStatus.BAD_REQUEST
    status = "INVALID_ARGUMENT"
    reason = "CONTENT_TYPE_NOT_SUPPORTED"
    text = "Content type is not supported"


class InvalidAgentResponseError(A2AError):
    """The agent's code broke the protocol."""

    code = -32006
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR
    status = "INTERNAL"
    reason = "INVALID_AGENT_RESPONSE"
    text = "The agent gave an invalid response"


class ExtendedAgentCardNotConfiguredError(A2AError):
    """An extended card is announced but none is configured."""

    code = -32007
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    text = "No extended agent card is configured"


class ExtensionSupportRequiredError(A2AError):
    """The card requires an extension that the client did not declare."""

    code = -32008
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "EXTENSION_SUPPORT_REQUIRED"
    text = "A required extension is not supported by the client"


class VersionNotSupportedError(A2AError):
    """The protocol version asked for is not served."""

    code = -32009
    http_status = HTTPStatus.BAD_REQUEST
    status = "FAILED_PRECONDITION"
    reason = "VERSION_NOT_SUPPORTED"
    text = "This protocol version is not supported"


class InvalidRequestError(A2AError):
    """The body is JSON but no JSON-RPC 2.0 request."""

    code = -32600
    http_status = HTTPStatus.BAD_REQUEST
    status = "INVALID_ARGUMENT"
    reason = "INVALID_REQUEST"
    text = "Request payload validation error"


class MethodNotFoundError(A2AError):
    """No such method, or no such route."""

    code = -32601
    http_status = HTTPStatus.NOT_FOUND
    status = "NOT_FOUND"
    reason = "METHOD_NOT_FOUND"
    text = "Method not found"


class InvalidParamsError(A2AError):
    """The request's values cannot be accepted; `violations` names them."""

    code = -32602
    http_status = HTTPStatus.BAD_REQUEST
    status = "INVALID_ARGUMENT"
    reason = "INVALID_PARAMS"
    text = "Invalid parameters"

    @classmethod
    def of(cls, field: str, description: str) -> Self:
        """Blame one field, by its JSON path."""
        return cls(violations=[FieldViolation(field, description)])


class InternalError(A2AError):
    """Our fault. Put nothing into it but an id that finds the log line."""

    code = -32603
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR
    status = "INTERNAL"
    reason = "INTERNAL_ERROR"
    text = "Internal error"


class JSONParseError(A2AError):
    """The body is not JSON."""

    code = -32700
    http_status = HTTPStatus.BAD_REQUEST
    status = "INVALID_ARGUMENT"
    reason = "JSON_PARSE_ERROR"
    text = "Invalid JSON payload"


class UnauthenticatedError(A2AError):
    """Credentials are missing or wrong; the binding adds WWW-Authenticate."""

    code = -31401
    http_status = HTTPStatus.UNAUTHORIZED
    status = "UNAUTHENTICATED"
    reason = "UNAUTHENTICATED"
    text = "Authentication is required"


class PermissionDeniedError(A2AError):
    """The caller is known but may not do this. Whether a task exists is TaskNotFoundError's to hide."""

    code = -31403
    http_status = HTTPStatus.FORBIDDEN
    status = "PERMISSION_DENIED"
    reason = "PERMISSION_DENIED"
    text = "Permission denied"


class RateLimitedError(A2AError):
    """The caller asks too often, and may again after `retry_after` seconds, a whole number above 0.

    By default five: a stream's place gets free whenever some stream ends, so soon, if at all. The binding
    adds Retry-After.
    """

    code = -31429
    http_status = HTTPStatus.TOO_MANY_REQUESTS
    status = "RESOURCE_EXHAUSTED"
    reason = "RATE_LIMITED"
    text = "Too many requests"

    def __init__(self, message: str | None = None, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def details(self) -> list[dict[str, Any]]:
        """ErrorInfo, then RetryInfo."""
        return [*super().details(), {"@type": RETRY_INFO, "retryDelay": f"{self.retry_after}s"}]
