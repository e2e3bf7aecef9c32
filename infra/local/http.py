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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

MAX_HEAD_LINES: Final = 200
MAX_LINE_BYTES: Final = 64 * 1024
LINGER_BYTES: Final = 64 * 1024 * 1024
"""How much of a refused body is read and thrown away, so that the client sees the refusal and not a reset."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One request, body included."""

    method: str
    target: str
    """Path and query as sent."""
    headers: Headers
    body: bytes
    client: str
    """Address of the caller."""

    def header(self, name: str, default: str = "") -> str:
        """Return the last header of that name."""
        wanted = name.lower()
        return next((value for given, value in reversed(self.headers) if given.lower() == wanted), default)


@dataclass(frozen=True)
class Response:
    """One answer; a body that is not bytes is sent chunked, each piece as soon as it exists."""

    status: int = HTTPStatus.OK
    headers: Headers = ()
    body: bytes | Iterable[bytes] = b""
    trailers: Mapping[str, str] = field(default_factory=dict)


class BadRequest(Exception):
    """The bytes are not a request this server takes; `status` says why."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Hangup(Exception):
    """Raised by a handler that has no answer to give: the connection is closed instead."""


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


def read_head(reader: io.BufferedReader) -> tuple[str, str, str, Headers] | None:
    """Read request line and headers; None at the end of the connection."""
    line = reader.readline(MAX_LINE_BYTES)
    while line in {b"\r\n", b"\n"}:
        line = reader.readline(MAX_LINE_BYTES)
    if not line:
        return None
    words = line.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):  # noqa: PLR2004 - method, target, version
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    return words[0], words[1], words[2], read_fields(reader)


def read_fields(reader: io.BufferedReader) -> Headers:
    """Read header or trailer fields up to the empty line."""
    fields: list[tuple[str, str]] = []
    while (line := reader.readline(MAX_LINE_BYTES)) not in {b"\r\n", b"\n"}:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not line.endswith(b"\n") or name != name.strip():
            raise BadRequest(HTTPStatus.BAD_REQUEST)
        if len(fields) == MAX_HEAD_LINES:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        fields.append((name, value.strip()))
    return tuple(fields)


def read_body(reader: io.BufferedReader, headers: Mapping[str, str], limit: int) -> bytes | None:
    """Read the body that the headers (lower-case names) announce; None when it is over `limit` bytes."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces: list[bytes] = []
        length = 0
        for piece in read_chunks(reader):
            length += len(piece)
            if length > limit:
                return None
            pieces.append(piece)
        return b"".join(pieces)
    announced = headers.get("content-length", "0")
    if not announced.isascii() or not announced.isdigit():
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    return None if int(announced) > limit else read_exactly(reader, int(announced))


def read_chunks(reader: io.BufferedReader) -> Iterator[bytes]:
    """Yield the pieces of a chunked body as they arrive; trailers are read and dropped."""
    while True:
        size = reader.readline(MAX_LINE_BYTES).split(b";")[0].strip()
        try:
            length = int(size, 16)
        except ValueError as error:
            raise BadRequest(HTTPStatus.BAD_REQUEST) from error
        if length == 0:
            read_fields(reader)
            return
        yield read_exactly(reader, length)
        reader.readline(MAX_LINE_BYTES)


def read_exactly(reader: io.BufferedReader, length: int) -> bytes:
    """Read that many bytes; raise Hangup when the client leaves before."""
    body = reader.read(length)
    if len(body) < length:
        raise Hangup
    return body


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


def encode(response: Response, *, close: bool, with_body: bool) -> bytes:
    """Return a response that is complete as one piece."""
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    bodiless = response.status < HTTPStatus.OK or response.status in (
        HTTPStatus.NO_CONTENT,
        HTTPStatus.NOT_MODIFIED,
    )
    # The answer to a HEAD may know the length of a body it does not have.
    counted = any(name.lower() == "content-length" for name, _ in response.headers)
    length = () if bodiless or counted else (("Content-Length", str(len(body))),)
    return head_bytes(response, length, close=close) + (body if with_body and not bodiless else b"")


def head_bytes(response: Response, framing: Headers, *, close: bool) -> bytes:
    """Return status line and headers."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    ending = (("Connection", "close"),) if close else ()
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*response.headers, *framing, *ending))
    return f"HTTP/1.1 {response.status} {phrase}\r\n{lines}\r\n".encode("latin-1", "replace")


def drain(connection: socket.socket, reader: io.BufferedReader) -> None:
    """Read what a refused client still sends, within reason, so that it gets to read the answer."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(2)
    read = 0
    while read < LINGER_BYTES and (piece := reader.read1(MAX_LINE_BYTES)):
        read += len(piece)
