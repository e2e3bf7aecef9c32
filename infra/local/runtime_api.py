"""The Lambda Runtime API as one function process sees it, on a port of its own.

Speaks HTTP to the process inside and calls an `Environment` for everything that matters: which invocation is
next, and what came of it. AWS: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html.
"""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from infra.local.http import Server, listen
from infra.local.wire import Hangup, Headers, Request, Response

PREFIX: Final = "/2018-06-01/runtime/"

MAX_PAYLOAD_BYTES: Final = 6 * 1024 * 1024 + 100
"""Lambda's limit on an event and on a buffered answer."""

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

    def next_invocation(self) -> NextInvocation | None:
        """Wait for work; None when the environment is to end."""

    def succeed(self, request_id: str, payload: bytes) -> bool:
        """Take the answer; False when no such invocation runs here."""

    def fail(self, request_id: str, payload: bytes) -> bool:
        """Take the error; False when no such invocation runs here."""

    def fail_to_start(self, payload: bytes) -> None:
        """Take the error of loading the handler."""


class RuntimeApi:
    """Serves one environment."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment = environment
        self._server = Server(
            self._answer,
            listen(),
            name=f"runtime-api-{name}",
            max_body=MAX_PAYLOAD_BYTES,
            refusal=self._refuse,
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
                return self._next()
            case ("POST", "invocation", request_id, "response"):
                return taken(self._environment.succeed(request_id, request.body))
            case ("POST", "invocation", request_id, "error"):
                return taken(self._environment.fail(request_id, request.body))
            case ("POST", "init", "error"):
                self._environment.fail_to_start(request.body)
                return ACCEPTED
        return error(HTTPStatus.NOT_FOUND, "NotFound", request.target)

    def _next(self) -> Response:
        invocation = self._environment.next_invocation()
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


def taken(known: bool) -> Response:  # noqa: FBT001 - the answer to "was it known"
    """Answer a posted result."""
    return ACCEPTED if known else error(HTTPStatus.BAD_REQUEST, "InvalidRequestID", "Invalid request ID")


def error(status: HTTPStatus, error_type: str, message: str) -> Response:
    """Return an answer in the Runtime API's error form."""
    return Response(status, (("Content-Type", "application/json"),), error_json(error_type, message))


def error_json(error_type: str, message: str) -> bytes:
    """Return Lambda's JSON for an error."""
    return json.dumps({"errorMessage": message, "errorType": error_type}).encode()
