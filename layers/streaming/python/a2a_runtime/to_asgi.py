"""Handlers as one ASGI application, so that the code of a deployment also runs under uvicorn, in a container.

A handler runs in a thread of its own, since it may wait; a streamed answer leaves piece by piece. Knows no
function of this repository. ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from a2a_runtime.context import LambdaContext
from a2a_runtime.handler import Handler
from a2a_runtime.proxy import SAFE_IN_PATHS, HttpAnswer, HttpRequest, answer_of, event_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

THE_REST: Final = "/{proxy+}"
MOST_BYTES: Final = 10 * 1024 * 1024
"""Of a request's body, as API Gateway has it: nobody is asked who they are before it is read."""

END: Final = b""


class BodyTooLarge(Exception):
    """A client sends more than any handler is given."""


class HandlerApplication:
    """Serves handlers by path; `/{proxy+}` has every path that no other has.

    `seconds` is what a handler is told it may take, as Lambda's timeout; `concurrency` how many requests are
    served at once, streams included, each in a thread.
    """

    def __init__(
        self, handlers: Mapping[str, Handler], *, seconds: float = 900, concurrency: int = 200
    ) -> None:
        self._handlers = handlers
        self._seconds = seconds
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._threads = ThreadPoolExecutor(concurrency, "handler", self._give_loop)

    def close(self) -> None:
        """End the threads; none may be serving any more."""
        self._threads.shutdown()
        for loop in self._loops:
            loop.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection as ASGI has it."""
        if scope["type"] == "lifespan":
            await live(receive, send)
            self.close()
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            raise ValueError(f"not served: {scope['type']}")

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            body = await whole_body(receive)
        except BodyTooLarge:
            await refuse(send)
            return
        if body is None:
            return
        path = scope["path"].rstrip("/") or "/"
        resource = path if path in self._handlers else THE_REST
        event = event_of(request_of(scope, body, resource))
        answer = await self._in_thread(self._answer, self._handlers[resource], event)
        leaving = asyncio.ensure_future(receive())
        try:
            await self._send(answer, send, leaving)
        finally:
            leaving.cancel()

    async def _send(self, answer: HttpAnswer, send: Send, leaving: "asyncio.Future[Message]") -> None:
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        pieces = iter(answer.chunks)
        try:
            # A client that left has sent its last message; the handler is told after the piece it is making.
            while not leaving.done() and (piece := await self._in_thread(next_piece, pieces)) != END:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                await self._in_thread(close)
        if not leaving.done():
            await send({"type": "http.response.body", "body": b""})

    def _give_loop(self) -> None:
        """Give a thread an event loop, which some handlers take for granted, as the main thread has one."""
        self._loops.append(asyncio.new_event_loop())
        asyncio.set_event_loop(self._loops[-1])

    def _answer(self, handler: Handler, event: Message) -> HttpAnswer:
        return answer_of(handler(event, self._context()))

    def _context(self) -> LambdaContext:
        return LambdaContext(
            aws_request_id=str(uuid.uuid4()),
            invoked_function_arn="",
            deadline_ms=int((time.time() + self._seconds) * 1000),
            function_name=None,
            function_version=None,
            memory_limit_in_mb=None,
            log_group_name=None,
            log_stream_name=None,
        )

    async def _in_thread(self, call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - whatever it calls returns
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)


def request_of(scope: Message, body: bytes, resource: str) -> HttpRequest:
    """Return the request that an ASGI scope describes. Nothing a client sends becomes `requestContext`."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    # A server need not tell how the path was written (ASGI, `raw_path`).
    path = scope.get("raw_path") or quote(scope["path"], safe=SAFE_IN_PATHS).encode()
    return HttpRequest(
        method=scope["method"],
        path=path.decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        body=body,
        resource=resource,
    )


def next_piece(pieces: Iterator[bytes]) -> bytes:
    """Return the next piece that has any bytes; END after the last."""
    return next((piece for piece in pieces if piece), END)


async def whole_body(receive: Receive) -> bytes | None:
    """Read the request's body; None when the client left before its end.

    Raises:
        BodyTooLarge: There is more of it than any handler is given; the rest was not read.
    """
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > MOST_BYTES:
            raise BodyTooLarge
        if not message.get("more_body"):
            return b"".join(pieces)


async def refuse(send: Send) -> None:
    """Answer a request that is too large, as API Gateway does, and hang up on the rest of it."""
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": b'{"message":"Request Too Long"}'})


async def live(receive: Receive, send: Send) -> None:
    """Answer the server's start and end; handlers were loaded before."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
