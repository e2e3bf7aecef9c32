"""The HTTP front: API Gateway's place in the local stack, with its limits.

Takes a request off the wire, finds its route, invokes the function and sends what comes back, or what API
Gateway would send instead.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.gateway import (
    INTERNAL,
    MAX_HEAD_BYTES,
    NO_ROUTE,
    TIMED_OUT,
    TOO_LONG,
    TOO_MUCH_HEAD,
    MalformedAnswer,
    Match,
    Refusal,
    event_of,
    find_route,
    head_size,
    refusal,
    response_of,
    split_prelude,
)
from infra.local.invocations import Invocation, Outcome, new_trace_id
from infra.local.pool import FunctionPool, RequestTooLargeError
from infra.local.streams import Stream, StreamBroken
from infra.local.wire import Hangup, Request, Response

IDLE_SECONDS: Final = 300.0
"""After which API Gateway ends a streamed answer that is silent (Regional)."""

ARRIVAL_SECONDS: Final = 30.0
"""In which a request must have arrived, once it has begun to."""

LOOK_UP_SECONDS: Final = 0.25
"""How often a silent answer lets the server look whether the client is still there."""


class Refused(Exception):
    """The gateway answers itself."""

    def __init__(self, refused: Refusal) -> None:
        super().__init__(refused.message)
        self.refused = refused


class Front:
    """Serves the deployment's routes from the functions' pools (by logical id)."""

    def __init__(
        self,
        deployment: Deployment,
        pools: Mapping[str, FunctionPool],
        console: Console,
        *,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._deployment = deployment
        self._pools = pools
        self._console = console
        self._idle_seconds = idle_seconds
        self._clock = clock

    def answer(self, request: Request) -> Response:
        """Answer one request."""
        began = self._clock()
        invocation = Invocation(b"", request.header("x-amzn-trace-id") or new_trace_id())
        match = find_route(self._deployment.routes, request.method, request.target.partition("?")[0])
        try:
            response = self._serve(request, match, invocation, began)
        except Refused as own:
            response = self._own(own.refused, invocation.request_id)
        served_by = self._deployment.functions[match.route.function].folder.name if match else "no route"
        milliseconds = (self._clock() - began) * 1000
        self._console.say(
            f"{request.method} {request.target} -> {int(response.status)} {served_by} {milliseconds:.0f} ms"
        )
        return response

    def refuse(self, request: Request) -> Response:
        """Answer a request whose body is over 10 MB."""
        self._console.say(f"{request.method} {request.target} -> 413 body over 10 MB")
        return self._own(TOO_LONG, Invocation(b"", "").request_id)

    def _serve(self, request: Request, match: Match | None, invocation: Invocation, began: float) -> Response:
        if head_size(request) > MAX_HEAD_BYTES:
            raise Refused(TOO_MUCH_HEAD)
        if match is None:
            raise Refused(NO_ROUTE)
        at = datetime.fromtimestamp(began, UTC)
        invocation.event = event_of(request, match, self._deployment, request_id=invocation.request_id, at=at)
        invocation.takes_stream = match.route.streams
        try:
            self._pools[match.route.function].submit(invocation)
        except RequestTooLargeError as error:
            raise Refused(TOO_LONG) from error
        answer = invocation.wait_for_answer(match.route.timeout_seconds)
        if answer is None:
            # As on AWS the function goes on; only nobody waits for it any more.
            invocation.abandon()
            raise Refused(TIMED_OUT)
        traced = (("x-amzn-RequestId", invocation.request_id), ("X-Amzn-Trace-Id", invocation.trace_id))
        try:
            until = began + match.route.timeout_seconds
            response = self._received(answer, match, until=until, to_head=request.method == "HEAD")
        except MalformedAnswer as malformed:
            invocation.abandon()
            self._console.say(f"malformed answer of {match.route.function}: {malformed}")
            raise Refused(INTERNAL) from malformed
        return Response(response.status, (*response.headers, *traced), response.body)

    def _received(self, answer: Stream | Outcome, match: Match, *, until: float, to_head: bool) -> Response:
        """Return what the function's answer stands for.

        Raises:
            MalformedAnswer: API Gateway could not send it.
            Refused: The function failed before there was a status to send.
        """
        if isinstance(answer, Stream):
            return self._streamed(answer, until=until, to_head=to_head)
        if answer.failed:
            raise Refused(INTERNAL)
        if not match.route.streams:
            return response_of(answer.payload, to_head=to_head)
        split = split_prelude(answer.payload, to_head=to_head)
        if split is None:
            raise MalformedAnswer("a streaming integration got an answer without a prelude")
        return Response(split[0].status, split[0].headers, split[1])

    def _streamed(self, stream: Stream, *, until: float, to_head: bool) -> Response:
        """Wait for the prelude of a streamed answer; the rest follows by itself."""
        received = b""
        while (split := split_prelude(received, to_head=to_head)) is None:
            try:
                piece = stream.take(max(0.0, until - self._clock()))
            except StreamBroken as broken:
                raise Refused(INTERNAL) from broken
            if piece == b"":
                stream.abandon()
                raise Refused(TIMED_OUT)
            if piece is None:
                raise MalformedAnswer("the answer ended before its prelude did")
            received += piece
        response, rest = split
        return Response(response.status, response.headers, self._pieces(stream, rest, until=until))

    def _pieces(self, stream: Stream, first: bytes, *, until: float) -> Iterator[bytes]:
        """Yield the body as it arrives, and nothing from time to time; cut it off at AWS's limits."""
        end = "the client left in the middle of an answer"
        try:
            if first:
                yield first
            silent_since = self._clock()
            while (piece := stream.take(LOOK_UP_SECONDS)) is not None:
                now = self._clock()
                silent_since = now if piece else silent_since
                if now >= until or now - silent_since >= self._idle_seconds:
                    end = "an answer reached a time limit of the gateway and was cut off"
                    raise Hangup
                yield piece
            end = ""
        except StreamBroken as broken:
            end = "an answer broke off in the middle"
            raise Hangup from broken
        finally:
            stream.abandon()
            if end:
                self._console.say(end)

    def _own(self, refused: Refusal, request_id: str) -> Response:
        return refusal(refused, self._deployment.gateway_responses, request_id)
