"""A small HTTP/1.1 server on loopback: keep-alive, chunked bodies both ways, a thread per connection.

Three servers here (gateway, Lambda API, moto's port) answer thousands of tiny requests on two cores; the
standard library's handler costs more than the work it carries. Knows no AWS: a request goes in, a response
comes out.
"""

import contextlib
import io
import socket
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from infra.local.wire import (
    MAX_LINE_BYTES,
    BadRequest,
    Hangup,
    Headers,
    Request,
    Response,
    bodiless,
    chunk,
    encode,
    head_bytes,
    read_body,
    read_chunks,
    read_head,
)

LINGER_BYTES: Final = 64 * 1024 * 1024
"""How much of a refused body is read and thrown away, so that the client sees the refusal and not a reset."""

LINGER_SECONDS: Final = 10.0
"""For how long, at most."""

LINGER_SILENCE_SECONDS: Final = 2.0
"""For how long while nothing comes."""

Handler = Callable[[Request], Response]


class Arrival(io.RawIOBase):
    """The bytes that a client sends, of which those of one request arrive within so many seconds.

    They count from the request's first byte, so that a connection may be idle between requests. Raises
    TimeoutError when they are over.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._until: float | None = None

    def readable(self) -> bool:
        """Say yes."""
        return True

    def begin(self) -> None:
        """Wait for the next request."""
        self._until = None

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as io declares it
        """Wait for more, and take what there is."""
        if self._until is not None:
            self._connection.settimeout(max(0.001, self._until - time.monotonic()))
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(None)
            if self._until is None:
                self._until = time.monotonic() + self._seconds


class ArrivingBody:
    """A chunked request body while it arrives: iterate once, then `trailers` are there."""

    def __init__(self, connection: socket.socket, reader: io.BufferedReader) -> None:
        self._connection = connection
        self._reader = reader
        self.trailers: Headers = ()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces; raise Hangup or BadRequest when they end too early."""
        self.trailers = yield from read_chunks(self._reader)

    def cut(self) -> None:
        """Cut the sender off; may be called from any thread."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


ArrivingHandler = Callable[[Request, ArrivingBody], Response | None]
"""Answers a request without its body, which follows; None when it wants the body first, as usual."""


class Server:
    """Serves `handler` on a listening socket until `close`; every connection has its own thread.

    A body longer than `max_body` bytes is answered by `refusal` (413 by default) and never reaches the
    handler. A chunked body is first offered to `arriving`, which may take it piece by piece, of any length.
    A request that has not arrived `arrival_seconds` after its first byte is answered 408, with None never.
    """

    def __init__(
        self,
        handler: Handler,
        listener: socket.socket,
        *,
        name: str,
        max_body: int = 2**31,
        refusal: Handler | None = None,
        arriving: ArrivingHandler | None = None,
        arrival_seconds: float | None = None,
    ) -> None:
        self._handler = handler
        self._listener = listener
        self._max_body = max_body
        self._refusal = refusal or (lambda _: Response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
        self._arriving = arriving
        self._arrival_seconds = arrival_seconds
        self._name = name
        self._open: set[socket.socket] = set()
        self._closed = False

    @property
    def port(self) -> int:
        """The port served."""
        port: int = self._listener.getsockname()[1]
        return port

    def start(self) -> None:
        """Accept connections from now on, in threads of their own."""
        threading.Thread(target=self._accept, name=self._name, daemon=True).start()

    def close(self) -> None:
        """Stop accepting and cut every connection."""
        self._closed = True
        # shutdown wakes the thread that is blocked in accept; close alone does not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(connection, address[0]), name=self._name, daemon=True
            ).start()

    def _serve(self, connection: socket.socket, client: str) -> None:
        self._open.add(connection)
        # A client that leaves in the middle ends its connection and nothing else.
        with contextlib.suppress(OSError), connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(Hangup), self._reader(connection) as reader:
                while self._exchange(connection, reader, client):
                    if isinstance(reader.raw, Arrival):
                        reader.raw.begin()
        self._open.discard(connection)

    def _reader(self, connection: socket.socket) -> io.BufferedReader:
        if self._arrival_seconds is None:
            return connection.makefile("rb")
        return io.BufferedReader(Arrival(connection, self._arrival_seconds))

    def _exchange(self, connection: socket.socket, reader: io.BufferedReader, client: str) -> bool:
        """Serve one request; return whether the connection may carry another."""
        try:
            head = read_head(reader)
            if head is None:
                return False
            method, target, version, headers = head
            given = {name.lower(): value for name, value in headers}
            if given.get("expect", "").lower() == "100-continue":
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            announced = Request(method, target, headers, b"", client, partial(has_left, connection))
            early = self._offer(announced, ArrivingBody(connection, reader), given)
            body = read_body(reader, given, self._max_body) if early is None else b""
        except BadRequest as bad:
            refuse(connection, encode(Response(bad.status), close=True, with_body=True))
            return False
        except TimeoutError:
            connection.sendall(encode(Response(HTTPStatus.REQUEST_TIMEOUT), close=True, with_body=True))
            return False
        if body is None:
            refuse(connection, encode(self._refusal(announced), close=True, with_body=method != "HEAD"))
            return False
        old = version == "HTTP/1.0"
        close = given.get("connection", "").lower() == "close" or old
        response = early or self._handle(replace(announced, body=body))
        send(connection, response, close=close, chunked=not old, with_body=method != "HEAD")
        return not close

    def _offer(self, request: Request, body: ArrivingBody, given: Mapping[str, str]) -> Response | None:
        if self._arriving is None or given.get("transfer-encoding", "").lower() != "chunked":
            return None
        return self._arriving(request, body)

    def _handle(self, request: Request) -> Response:
        try:
            return self._handler(request)
        except Hangup:
            raise
        except Exception:  # noqa: BLE001 - a fault in one request must not take its connection's others along unseen
            traceback.print_exc()
            return Response(HTTPStatus.INTERNAL_SERVER_ERROR)


def listen(port: int = 0) -> socket.socket:
    """Open a listening socket on 127.0.0.1; port 0 picks a free one.

    Raises:
        OSError: The port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(512)
    except OSError:
        listener.close()
        raise
    return listener


def send(
    connection: socket.socket, response: Response, *, close: bool, chunked: bool, with_body: bool
) -> None:
    """Write one response, a streamed one piece by piece.

    Raises:
        Hangup: The answer was cut off, or the client left while there was nothing to send.
    """
    if isinstance(response.body, bytes):
        connection.sendall(encode(response, close=close, with_body=with_body))
        return
    none = bodiless(response.status)
    # The answer to a HEAD may know the length of a body it does not have, and then has no chunks either.
    counted = any(name.lower() == "content-length" for name, _ in response.headers)
    framing = (("Transfer-Encoding", "chunked"),) if chunked and not none and not counted else ()
    connection.sendall(head_bytes(response, framing, close=close))
    with closing_pieces(response.body) as pieces:
        for piece in pieces:
            if not piece:
                if has_left(connection):
                    raise Hangup
            elif with_body and not none:
                connection.sendall(chunk(piece) if chunked else piece)
    if framing and with_body:
        connection.sendall(chunk(b""))


@contextlib.contextmanager
def closing_pieces(pieces: Iterable[bytes]) -> Iterator[Iterable[bytes]]:
    """Close a generator when its reader is done with it, so that it learns of it at once."""
    try:
        yield pieces
    finally:
        if isinstance(pieces, Generator):
            pieces.close()


def has_left(connection: socket.socket) -> bool:
    """Say whether the client has closed its end; what it sent meanwhile stays unread."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def refuse(connection: socket.socket, answer: bytes) -> None:
    """Send an answer and read what the client still sends, within reason, so that it gets to read it."""
    connection.sendall(answer)
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(LINGER_SILENCE_SECONDS)
    read, until = 0, time.monotonic() + LINGER_SECONDS
    while read < LINGER_BYTES and time.monotonic() < until and (piece := connection.recv(MAX_LINE_BYTES)):
        read += len(piece)
