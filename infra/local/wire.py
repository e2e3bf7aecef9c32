"""HTTP/1.1 as bytes: requests and responses as values, and how they are read and written (RFC 9112).

No socket and no thread: a reader goes in, values come out; a value goes in, bytes come out.
"""

import io
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit, urlunsplit

MAX_HEAD_LINES: Final = 200
MAX_LINE_BYTES: Final = 64 * 1024

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
    left: Callable[[], bool] = field(default=lambda: False, compare=False, repr=False)
    """Says whether the client has closed its end meanwhile."""

    def header(self, name: str, default: str = "") -> str:
        """Return the last header of that name."""
        wanted = name.lower()
        return next((value for given, value in reversed(self.headers) if given.lower() == wanted), default)


@dataclass(frozen=True)
class Response:
    """One answer; a body that is not bytes is sent piece by piece, each as soon as it exists.

    An empty piece says that there is nothing yet: the server then looks whether the client is still there. An
    iterator that raises Hangup cuts the answer off, so that the client sees that it is incomplete.
    """

    status: int = HTTPStatus.OK
    headers: Headers = ()
    body: bytes | Iterable[bytes] = b""


class BadRequest(Exception):
    """The bytes are not a request this server takes; `status` says why."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Hangup(Exception):
    """Raised by a handler that has no answer to give: the connection is closed instead."""


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
    fields = read_fields(reader)
    if len({value for name, value in fields if name.lower() == "content-length"}) > 1:
        # Of two lengths one reader may take the first and another the second (RFC 9112, 6.3).
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    target, host = origin_form(words[1])
    if host:
        fields = (*((name, value) for name, value in fields if name.lower() != "host"), ("Host", host))
    return words[0], target, words[2], fields


def origin_form(target: str) -> tuple[str, str]:
    """Return path and query of a request target, and the host it names if it is in absolute form.

    A server must take both forms, and then go by the host in the target (RFC 9112, 3.2).
    """
    if target.startswith("/") or target == "*":
        return target, ""
    try:
        parts = urlsplit(target)
    except ValueError as error:
        raise BadRequest(HTTPStatus.BAD_REQUEST) from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    return urlunsplit(("", "", parts.path or "/", parts.query, "")), parts.netloc


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


def read_chunks(reader: io.BufferedReader) -> Generator[bytes, None, Headers]:
    """Yield the pieces of a chunked body as they arrive and return the trailers.

    Raises:
        BadRequest: The bytes are no chunks.
        Hangup: The sender left before the end.
    """
    while True:
        line = reader.readline(MAX_LINE_BYTES)
        if not line:
            raise Hangup
        try:
            length = int(line.split(b";")[0].strip(), 16)
        except ValueError as error:
            raise BadRequest(HTTPStatus.BAD_REQUEST) from error
        if length == 0:
            return read_fields(reader)
        yield read_exactly(reader, length)
        reader.readline(MAX_LINE_BYTES)


def read_exactly(reader: io.BufferedReader, length: int) -> bytes:
    """Read that many bytes; raise Hangup when the client leaves before."""
    body = reader.read(length)
    if len(body) < length:
        raise Hangup
    return body


def bodiless(status: int) -> bool:
    """Say whether an answer of this status never has a body (RFC 9112, 6.3)."""
    return status < HTTPStatus.OK or status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


def encode(response: Response, *, close: bool, with_body: bool) -> bytes:
    """Return a response that is complete as one piece."""
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    none = bodiless(response.status)
    # The answer to a HEAD may know the length of a body it does not have.
    counted = any(name.lower() == "content-length" for name, _ in response.headers)
    length = () if none or counted else (("Content-Length", str(len(body))),)
    return head_bytes(response, length, close=close) + (body if with_body and not none else b"")


def chunk(piece: bytes) -> bytes:
    """Frame a piece of a chunked body; an empty one is its end."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def head_bytes(response: Response, framing: Headers, *, close: bool) -> bytes:
    """Return status line and headers."""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    ending = (("Connection", "close"),) if close else ()
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*response.headers, *framing, *ending))
    return f"HTTP/1.1 {response.status} {phrase}\r\n{lines}\r\n".encode("latin-1", "replace")
