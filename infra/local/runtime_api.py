"""The Lambda Runtime API as one function process sees it, on a port of its own.

Speaks HTTP to the process inside and calls an `Environment` for everything that matters: which invocation is
next, and what came of it. AWS: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html, and for
streamed answers "Building a custom runtime for AWS Lambda".
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from infra.local.http import ArrivingBody, Server, listen
from infra.local.streams import Stream
from infra.local.wire import Hangup, Headers, Request, Response

PREFIX: Final = "/2018-06-01/runtime/"

MAX_PAYLOAD_BYTES: Final = 6 * 1024 * 1024 + 100
"""Lambda's limit on an event and on a buffered answer."""

MAX_STREAM_BYTES: Final = 200 * 1024 * 1024
"""Lambda's limit on a streamed answer."""

RESPONSE_MODE: Final = "Lambda-Runtime-Function-Response-Mode"
ERROR_TYPE: Final = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY: Final = "Lambda-Runtime-Function-Error-Body"

ACCEPTED: Final = Response(HTTPStatus.ACCEPTED, (("Content-Type", "application/json"),), b'{"status":"OK"}\n')


@dataclass(frozen=True)
class NextInvocation:
    """What `GET next` hands out."""

    request_id: str
    event: bytes
    deadline_ms: int
    function_arn: str
    trace_id: str


class Environment(Protocol):
    """One execution environment, as its Runtime API drives it."""

    def next_invocation(self, left: Callable[[], bool]) -> NextInvocation | None:
        """Wait for work; None when the environment is to end, or the process has `left` while it waited."""

    def succeed(self, request_id: str, payload: bytes) -> bool:
        """Take the answer; False when no such invocation runs here."""

    def fail(self, request_id: str, payload: bytes) -> bool:
        """Take the error; False when no such invocation runs here."""

    def begin_stream(self, request_id: str) -> Stream | None:
        """Begin a streamed answer; None when its invoker wants it whole, or no such invocation runs here."""

    def fail_to_start(self, payload: bytes) -> None:
        """Take the error of loading the handler."""


class RuntimeApi:
    """Serves one environment."""

    def __init__(
        self, environment: Environment, name: str, *, max_stream_bytes: int = MAX_STREAM_BYTES
    ) -> None:
        self._environment = environment
        self._max_stream_bytes = max_stream_bytes
        self._server = Server(
            self._answer,
            listen(),
            name=f"runtime-api-{name}",
            max_body=MAX_PAYLOAD_BYTES,
            refusal=self._refuse,
            arriving=self._take,
        )

    @property
    def address(self) -> str:
        """The value of AWS_LAMBDA_RUNTIME_API."""
        return f"127.0.0.1:{self._server.port}"

    def start(self) -> None:
        """Serve from now on."""
        self._server.start()

    def close(self) -> None:
        """Cut the process off."""
        self._server.close()

    def _answer(self, request: Request) -> Response:
        match (request.method, *request.target.removeprefix(PREFIX).split("/")):
            case ("GET", "invocation", "next"):
                return self._next(request.left)
            case ("POST", "invocation", request_id, "response"):
                return taken(self._environment.succeed(request_id, request.body))
            case ("POST", "invocation", request_id, "error"):
                return taken(self._environment.fail(request_id, request.body))
            case ("POST", "init", "error"):
                self._environment.fail_to_start(request.body)
                return ACCEPTED
        return error(HTTPStatus.NOT_FOUND, "NotFound", request.target)

    def _take(self, request: Request, body: ArrivingBody) -> Response | None:
        """Take a streamed answer while it arrives."""
        match (request.method, *request.target.removeprefix(PREFIX).split("/")):
            case ("POST", "invocation", request_id, "response") if is_streamed(request):
                try:
                    payload = self._hand_on(request_id, body)
                except StreamTooLargeError as error:
                    too_large = error_json("Function.ResponseSizeTooLarge", str(error))
                    self._environment.fail(request_id, too_large)
                    raise Hangup from error
                failure = failure_of(body.trailers)
                if failure is None:
                    return taken(self._environment.succeed(request_id, payload))
                return taken(self._environment.fail(request_id, failure))
        return None

    def _hand_on(self, request_id: str, body: ArrivingBody) -> bytes:
        """Hand on the pieces to an invoker that takes a stream; collect them for one that does not."""
        stream = self._environment.begin_stream(request_id)
        if stream is None:
            return b"".join(limited(body, MAX_PAYLOAD_BYTES))
        stream.when_abandoned(body.cut)
        for piece in limited(body, self._max_stream_bytes):
            if not stream.put(piece):
                raise Hangup
        return b""

    def _next(self, left: Callable[[], bool]) -> Response:
        invocation = self._environment.next_invocation(left)
        if invocation is None:
            raise Hangup
        headers: Headers = (
            ("Lambda-Runtime-Aws-Request-Id", invocation.request_id),
            ("Lambda-Runtime-Deadline-Ms", str(invocation.deadline_ms)),
            ("Lambda-Runtime-Invoked-Function-Arn", invocation.function_arn),
            ("Lambda-Runtime-Trace-Id", invocation.trace_id),
            ("Content-Type", "application/json"),
        )
        return Response(HTTPStatus.OK, headers, invocation.event)

    def _refuse(self, request: Request) -> Response:
        """Answer for a result over the limit, and fail its invocation as AWS does."""
        message = f"Response payload size exceeded maximum allowed payload size ({MAX_PAYLOAD_BYTES} bytes)."
        match request.target.removeprefix(PREFIX).split("/"):
            case ["invocation", request_id, _]:
                self._environment.fail(request_id, error_json("Function.ResponseSizeTooLarge", message))
        return error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)


class StreamTooLargeError(Exception):
    """A streamed answer is over Lambda's limit."""


def is_streamed(request: Request) -> bool:
    """Say whether a posted answer is a streamed one."""
    return request.header(RESPONSE_MODE).lower() == "streaming"


def limited(body: ArrivingBody, most: int) -> Iterator[bytes]:
    """Yield the pieces of a body; raise StreamTooLargeError when it goes over the limit."""
    length = 0
    for piece in body:
        length += len(piece)
        if length > most:
            raise StreamTooLargeError(
                f"Response payload size exceeded maximum allowed payload size ({most} bytes)."
            )
        yield piece


def failure_of(trailers: Headers) -> bytes | None:
    """Return the error that the trailers of a streamed answer tell of, as Lambda's JSON."""
    given = {name.lower(): value for name, value in trailers}
    error_type = given.get(ERROR_TYPE.lower())
    if error_type is None:
        return None
    try:
        return base64.b64decode(given.get(ERROR_BODY.lower(), ""), validate=True) or error_json(
            error_type, ""
        )
    except binascii.Error:
        return error_json(error_type, "")


def taken(known: bool) -> Response:  # noqa: FBT001 - the answer to "was it known"
    """Answer a posted result."""
    return ACCEPTED if known else error(HTTPStatus.BAD_REQUEST, "InvalidRequestID", "Invalid request ID")


def error(status: HTTPStatus, error_type: str, message: str) -> Response:
    """Return an answer in the Runtime API's error form."""
    return Response(status, (("Content-Type", "application/json"),), error_json(error_type, message))


def error_json(error_type: str, message: str) -> bytes:
    """Return Lambda's JSON for an error."""
    return json.dumps({"errorMessage": message, "errorType": error_type}).encode()
