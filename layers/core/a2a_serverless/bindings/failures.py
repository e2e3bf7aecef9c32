"""What may go wrong around an operation, and the one place where an unexpected exception becomes an answer.

The specification has no rows for what only HTTP can refuse. Each such refusal is a kind of the row that
says it best, so both bindings print it like any other error. No text of an exception ever leaves through
here.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from a2a_serverless.bindings.http import MAX_BODY, HttpRequest
from a2a_serverless.ports import Incidents
from a2a_serverless.protocol.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidRequestError,
    MethodNotFoundError,
    RateLimitedError,
)


class MethodNotAllowedError(MethodNotFoundError):
    """The address exists, but not for this verb; `allowed` lists the ones it has."""

    http_status = HTTPStatus.METHOD_NOT_ALLOWED
    status = "UNIMPLEMENTED"
    reason = "METHOD_NOT_ALLOWED"
    text = "Method not allowed"

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__()
        self.allowed = tuple(allowed)


class UnsupportedMediaTypeError(ContentTypeNotSupportedError):
    """The request's own Content-Type is not JSON (RFC 9110, 15.5.16)."""

    http_status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class BodyTooLargeError(InvalidRequestError):
    """The request's body exceeds what is read."""

    http_status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    reason = "REQUEST_TOO_LARGE"
    text = f"The request exceeds {MAX_BODY} bytes"


class AnswerTooLargeError(InternalError):
    """The answer exceeds what a function may return in one piece. Not a fault, so it has no incident."""

    reason = "RESPONSE_TOO_LARGE"
    text = "The answer is too large to be sent at once: ask for less history, fewer tasks or no artifacts"


class RangeNotSatisfiableError(InvalidRequestError):
    """None of the bytes that were asked for exist; `size` is how many there are."""

    http_status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    status = "OUT_OF_RANGE"
    reason = "RANGE_NOT_SATISFIABLE"
    text = "There are no such bytes"

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class PreconditionFailedError(InvalidRequestError):
    """The client wants something that it knows, and this is something else (RFC 9110, 15.5.13)."""

    http_status = HTTPStatus.PRECONDITION_FAILED
    status = "FAILED_PRECONDITION"
    reason = "PRECONDITION_FAILED"
    text = "The content is another by now"


def check_body(request: HttpRequest) -> None:
    """Raises BodyTooLargeError when the body is over the limit."""
    if len(request.body) > MAX_BODY:
        raise BodyTooLargeError


def check_answer(body: bytes, most: int) -> bytes:
    """The text of an answer, unless it is too large once quoted inside the function's own JSON.

    Raises AnswerTooLargeError.
    """
    if len(body) + body.count(b'"') + body.count(b"\\") > most:
        raise AnswerTooLargeError
    return body


def public(error: Exception, incidents: Incidents, request: HttpRequest) -> A2AError:
    """The error as a caller may see it: one of the protocol's as it is, any other as an incident's id."""
    if isinstance(error, A2AError):
        return error
    return InternalError(metadata={"errorId": incidents.report(error, request=request.request_id)})


def headers_of(error: A2AError) -> Mapping[str, str]:
    """What HTTP wants said beside the status of an error (RFC 9110, 11.6.1, 10.2.1, 10.2.3, 14.4)."""
    match error:
        case MethodNotAllowedError(allowed=allowed):
            return {"Allow": ", ".join(allowed)}
        case RateLimitedError(retry_after=retry_after):
            return {"Retry-After": str(retry_after)}
        case RangeNotSatisfiableError(size=size):
            return {"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"}
    return {}
