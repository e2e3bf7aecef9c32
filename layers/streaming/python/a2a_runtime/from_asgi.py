"""An ASGI application as a handler: a REST proxy event goes in, and what it sends leaves as it is sent.

The application lives in one event loop, in a thread, for as long as the process; each invocation is one task
in that loop. Its messages are taken one by one, when the platform wants them, so it never runs ahead of its
reader.
ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html.
"""

import asyncio
import base64
import queue
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from a2a_runtime.proxy import SAFE_IN_PATHS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Event = Mapping[str, Any]

ASGI: Final = {"version": "3.0", "spec_version": "2.4"}


class ApplicationError(Exception):
    """The application does not keep to ASGI, or could not start."""


@dataclass(frozen=True)
class AsgiAnswer:
    """A streamed answer, as the runtime loop takes it."""

    prelude: Mapping[str, object]
    chunks: Generator[bytes]


class AsgiHandler:
    """A handler made of an ASGI application, for an integration that streams.

    Raises:
        ApplicationError: The application says that it cannot start.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asgi", daemon=True)
        self._thread.start()
        self._lifespan = Exchange(self._loop, {"type": "lifespan.startup"})
        self._start()

    def __call__(self, event: Event, context: object) -> AsgiAnswer:
        """Answer one event.

        Raises:
            ApplicationError: The application ended without an answer.
        """
        exchange = Exchange(self._loop, {"type": "http.request", "body": body_of(event), "more_body": False})
        exchange.begin(self._application, {**scope_of(event), "aws.event": event, "aws.context": context})
        start = exchange.take()
        if start is None or start["type"] != "http.response.start":
            raise ApplicationError(f"the application began its answer with {start and start['type']}")
        return AsgiAnswer(prelude_of(start), exchange.chunks())

    def close(self) -> None:
        """End the application, for whoever makes more than one; Lambda ends the process instead."""
        self._lifespan.leave()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self) -> None:
        self._lifespan.begin(self._application, {"type": "lifespan", "asgi": ASGI, "state": {}})
        try:
            message = self._lifespan.take()
        except Exception:  # noqa: BLE001 - how an application says that it knows no lifespan is its own affair
            return
        if message is not None and message["type"] == "lifespan.startup.failed":
            raise ApplicationError(f"the application cannot start: {message.get('message', '')}")
        self._lifespan.release()


class Exchange:
    """One call of the application, from the side of the thread that waits for what it sends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, first: Message) -> None:
        self._loop = loop
        self._received: asyncio.Queue[Message] = asyncio.Queue()
        self._received.put_nowait(first)
        self._sent: queue.SimpleQueue[tuple[Message, asyncio.Event] | Exception | None] = queue.SimpleQueue()
        self._taken: asyncio.Event | None = None
        self._running: Future[None] | None = None

    def begin(self, application: Application, scope: Message) -> None:
        """Call the application."""
        self._running = asyncio.run_coroutine_threadsafe(self._run(application, scope), self._loop)

    def take(self) -> Message | None:
        """Wait for its next message, which it has sent when the one after is asked for; None at its end.

        Whatever the application raises is raised here.
        """
        self.release()
        sent = self._sent.get()
        if sent is None:
            return None
        if isinstance(sent, Exception):
            raise sent
        message, self._taken = sent
        return message

    def release(self) -> None:
        """Let the application go on after the message taken last."""
        if self._taken is not None:
            self._loop.call_soon_threadsafe(self._taken.set)
            self._taken = None

    def chunks(self) -> Generator[bytes]:
        """Yield the pieces of the body; closing it tells the application that the client has left."""
        whole = False
        try:
            while (message := self.take()) is not None:
                if message.get("body"):
                    yield bytes(message["body"])
                whole = not message.get("more_body")
            if not whole:
                raise ApplicationError("the application ended before its answer did")
        finally:
            self.leave()

    def leave(self) -> None:
        """Say that the client has gone, and end the application's task if it goes on all the same."""
        self._loop.call_soon_threadsafe(self._received.put_nowait, {"type": "http.disconnect"})
        if self._running is not None:
            self._running.cancel()

    async def _run(self, application: Application, scope: Message) -> None:
        try:
            await application(scope, self._received.get, self._send)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            self._sent.put(error)
        else:
            self._sent.put(None)

    async def _send(self, message: Message) -> None:
        taken = asyncio.Event()
        self._sent.put((message, taken))
        await taken.wait()


def scope_of(event: Event) -> Message:
    """Return the ASGI scope of a REST proxy event (payload version 1.0)."""
    context = event.get("requestContext") or {}
    headers = several(event.get("multiValueHeaders"), event.get("headers"))
    query = several(event.get("multiValueQueryStringParameters"), event.get("queryStringParameters"))
    path = event.get("path") or "/"
    domain = context.get("domainName") or "localhost"
    return {
        "type": "http",
        "asgi": ASGI,
        "http_version": "1.1",
        "method": event["httpMethod"],
        "scheme": "https",
        "path": unquote(path),
        "raw_path": quote(path, safe=f"%{SAFE_IN_PATHS}").encode(),
        "query_string": urlencode(query, doseq=True).encode(),
        "root_path": "",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, values in headers.items()
            for value in values
        ],
        "client": ((context.get("identity") or {}).get("sourceIp", ""), 0),
        "server": (domain, 443),
    }


def several(
    many: Mapping[str, Sequence[str]] | None, single: Mapping[str, str] | None
) -> Mapping[str, Sequence[str]]:
    """Return all values by name, which an event written by hand may have one of each only."""
    return many if many is not None else {name: (value,) for name, value in (single or {}).items()}


def body_of(event: Event) -> bytes:
    """Return the bytes of an event's body."""
    body = event.get("body") or ""
    return base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()


def prelude_of(start: Message) -> Mapping[str, object]:
    """Return the prelude that the application's first message stands for."""
    headers: dict[str, list[str]] = {}
    for name, value in start.get("headers", ()):
        headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return {"statusCode": start["status"], "multiValueHeaders": headers}
