"""A small HTTP/1.1 server on loopback: keep-alive, chunked bodies both ways, a thread per connection.

Three servers here (gateway, Lambda API, moto's port) answer thousands of tiny requests on two cores; the
standard library's handler costs more than the work it carries. Knows no AWS: a request goes in, a response
comes out.
"""

import contextlib
import io
import socket
import threading
import traceback
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from infra.local.wire import (
    MAX_LINE_BYTES,
    BadRequest,
    Hangup,
    Request,
    Response,
    encode,
    head_bytes,
    read_body,
    read_head,
)

LINGER_BYTES: Final = 64 * 1024 * 1024
"""How much of a refused body is read and thrown away, so that the client sees the refusal and not a reset."""

Handler = Callable[[Request], Response]


class Server:
    """Serves `handler` on a listening socket until `close`; every connection has its own thread.

    A body longer than `max_body` bytes is answered by `refusal` (413 by default) and never reaches the
    handler.
    """

    def __init__(
        self,
        handler: Handler,
        listener: socket.socket,
        *,
        name: str,
        max_body: int = 2**31,
        refusal: Handler | None = None,
    ) -> None:
        self._handler = handler
        self._listener = listener
        self._max_body = max_body
        self._refusal = refusal or (lambda _: Response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
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
            reader: io.BufferedReader = connection.makefile("rb")
            with contextlib.suppress(Hangup), reader:
                while self._exchange(connection, reader, client):
                    pass
        self._open.discard(connection)

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
            body = read_body(reader, given, self._max_body)
        except BadRequest as bad:
            connection.sendall(encode(Response(bad.status), close=True, with_body=True))
            return False
        close = given.get("connection", "").lower() == "close" or version == "HTTP/1.0"
        if body is None:
            request = Request(method, target, headers, b"", client)
            connection.sendall(encode(self._refusal(request), close=True, with_body=method != "HEAD"))
            drain(connection, reader)
            return False
        try:
            response = self._handler(Request(method, target, headers, body, client))
        except Hangup:
            raise
        except Exception:  # noqa: BLE001 - a fault in one request must not take its connection's others along unseen
            traceback.print_exc()
            response = Response(HTTPStatus.INTERNAL_SERVER_ERROR)
        send(connection, response, close=close, with_body=method != "HEAD")
        return not close


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


def send(connection: socket.socket, response: Response, *, close: bool, with_body: bool) -> None:
    """Write one response, a streamed one piece by piece."""
    if isinstance(response.body, bytes):
        connection.sendall(encode(response, close=close, with_body=with_body))
        return
    connection.sendall(head_bytes(response, (("Transfer-Encoding", "chunked"),), close=close))
    if with_body:
        for piece in response.body:
            if piece:
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        trailers = "".join(f"{name}: {value}\r\n" for name, value in response.trailers.items())
        connection.sendall(b"0\r\n" + trailers.encode("latin-1") + b"\r\n")


def drain(connection: socket.socket, reader: io.BufferedReader) -> None:
    """Read what a refused client still sends, within reason, so that it gets to read the answer."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(2)
    read = 0
    while read < LINGER_BYTES and (piece := reader.read1(MAX_LINE_BYTES)):
        read += len(piece)
