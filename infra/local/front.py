"""The HTTP front: API Gateway's place in the local stack, with its limits.

Takes a request off the wire, finds its route, invokes the function and sends what comes back, or what API
Gateway would send instead.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from infra.local.console import Console
from infra.local.gateway import (
    INTERNAL,
    MISSING_AUTHENTICATION_TOKEN,
    TIMED_OUT,
    TOO_LONG,
    MalformedAnswer,
    event_of,
    find_route,
    gateway_answer,
    response_of,
)
from infra.local.invocations import Invocation, new_trace_id
from infra.local.pool import FunctionPool, RequestTooLargeError
from infra.local.template import Deployment
from infra.local.wire import Request, Response

INTEGRATION_SECONDS: Final = 29.0
"""How long API Gateway waits for a buffered answer."""


class Front:
    """Serves the deployment's routes from the functions' pools (by logical id)."""

    def __init__(
        self,
        deployment: Deployment,
        pools: Mapping[str, FunctionPool],
        console: Console,
        *,
        integration_seconds: float = INTEGRATION_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._deployment = deployment
        self._pools = pools
        self._console = console
        self._integration_seconds = integration_seconds
        self._clock = clock

    def answer(self, request: Request) -> Response:
        """Answer one request."""
        began = self._clock()
        served_by, response = self._route(request)
        milliseconds = (self._clock() - began) * 1000
        self._console.say(
            f"{request.method} {request.target} -> {int(response.status)} {served_by} {milliseconds:.0f} ms"
        )
        return response

    def refuse(self, request: Request) -> Response:
        """Answer a request whose body is over 10 MB."""
        self._console.say(f"{request.method} {request.target} -> 413 body over 10 MB")
        return self._own(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LONG)

    def _route(self, request: Request) -> tuple[str, Response]:
        path = unquote(request.target.partition("?")[0])
        match = find_route(self._deployment.routes, request.method, path)
        if match is None:
            return "no route", self._own(HTTPStatus.FORBIDDEN, MISSING_AUTHENTICATION_TOKEN)
        invocation = Invocation(b"", request.header("x-amzn-trace-id") or new_trace_id())
        at = datetime.fromtimestamp(self._clock(), UTC)
        invocation.event = event_of(request, match, self._deployment, request_id=invocation.request_id, at=at)
        function = self._deployment.functions[match.route.function].folder.name
        return function, self._invoke(match.route.function, invocation)

    def _invoke(self, function: str, invocation: Invocation) -> Response:
        try:
            self._pools[function].submit(invocation)
        except RequestTooLargeError:
            return self._own(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LONG)
        outcome = invocation.wait(self._integration_seconds)
        if outcome is None:
            # As on AWS the function goes on; only nobody waits for it any more.
            return self._own(HTTPStatus.GATEWAY_TIMEOUT, TIMED_OUT)
        if outcome.failed:
            return self._own(HTTPStatus.BAD_GATEWAY, INTERNAL)
        try:
            response = response_of(outcome.payload)
        except MalformedAnswer as malformed:
            self._console.say(f"malformed answer of {function}: {malformed}")
            return self._own(HTTPStatus.BAD_GATEWAY, INTERNAL)
        traced = (
            ("x-amzn-RequestId", invocation.request_id),
            ("X-Amzn-Trace-Id", invocation.trace_id),
        )
        return Response(response.status, (*response.headers, *traced), response.body)

    def _own(self, status: HTTPStatus, message: str) -> Response:
        return gateway_answer(status, message, self._deployment.gateway_headers)
