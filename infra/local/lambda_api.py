"""Lambda's Invoke operation over HTTP: how state machines, and anybody with boto3, reach the functions.

AWS: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html. Knows pools by function name, nothing of
processes.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from infra.local.http import Server, listen
from infra.local.invocations import Invocation, new_trace_id
from infra.local.pool import FunctionPool, RequestTooLargeError
from infra.local.runtime_api import MAX_PAYLOAD_BYTES
from infra.local.wire import Headers, Request, Response

PATH: Final = re.compile(r"/2015-03-31/functions/([^/?]+)/invocations(\?.*)?")
JSON: Final[Headers] = (("Content-Type", "application/json"),)


class LambdaApi:
    """Serves Invoke for all functions, by their names or ARNs."""

    def __init__(self, pools: Mapping[str, FunctionPool]) -> None:
        self._pools = pools
        self._server = Server(
            self._answer,
            listen(),
            name="lambda-api",
            max_body=MAX_PAYLOAD_BYTES,
            refusal=lambda _: too_large(),
        )

    @property
    def address(self) -> str:
        """Where it answers, as "host:port"."""
        return f"127.0.0.1:{self._server.port}"

    def start(self) -> None:
        """Serve from now on."""
        self._server.start()

    def close(self) -> None:
        """Stop."""
        self._server.close()

    def _answer(self, request: Request) -> Response:
        found = PATH.fullmatch(request.target)
        pool = self._pools.get(unquote(found[1]).rpartition(":")[2]) if found else None
        if request.method != "POST" or pool is None:
            return problem(
                HTTPStatus.NOT_FOUND, "ResourceNotFoundException", f"no function at {request.target}"
            )
        invocation = Invocation(request.body or b"{}", request.header("x-amzn-trace-id") or new_trace_id())
        try:
            pool.submit(invocation)
        except RequestTooLargeError:
            return too_large()
        if request.header("x-amz-invocation-type") == "Event":
            return Response(HTTPStatus.ACCEPTED)
        outcome = invocation.wait()
        if outcome is None:
            return problem(
                HTTPStatus.INTERNAL_SERVER_ERROR, "ServiceException", "the invocation has no outcome"
            )
        error: Headers = (("X-Amz-Function-Error", "Unhandled"),) if outcome.failed else ()
        return Response(HTTPStatus.OK, (*JSON, *error), outcome.payload)


def too_large() -> Response:
    """Answer for an event over Lambda's limit."""
    message = f"Request must be smaller than {MAX_PAYLOAD_BYTES} bytes for the InvokeFunction operation"
    return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestTooLargeException", message)


def problem(status: HTTPStatus, error_type: str, message: str) -> Response:
    """Return an error in the form boto3 reads."""
    body = json.dumps({"Type": "User", "Message": message}).encode()
    return Response(status, (*JSON, ("x-amzn-ErrorType", error_type)), body)
