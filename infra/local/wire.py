"""HTTP/1.1 as bytes: requests and responses as values, and how they are read and written (RFC 9112).

No socket and no thread: a reader goes in, values come out; a value goes in, bytes come out.
"""

import io
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit, urlunsplit

MAX_HEAD_LINES: Final = 200
MAX_LINE_BYTES: Final = 64 * 1024

Headers = tuple[tuple[str, str], ...]

TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST_LINE: Final = re.compile(rb"(" + TOKEN + rb") ([\x21-\x7e]+) (HTTP/1\.[0-9])\r?\n")
FIELD: Final = re.compile(rb"(" + TOKEN + rb"):[ \t]*([\t\x20-\x7e\x80-\xff]*)\r?\n")
"""A value holds no control characters, and goes on in no second line (RFC 9110, 5.5; 9112, 5.2)."""
HOST: Final = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")
LENGTH: Final = re.compile(r"[0-9]{1,18}")
CHUNK_LENGTH: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(;[^\r\n]*)?\r?\n")


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
    words = REQUEST_LINE.fullmatch(line)
    if words is None:
        too_long = len(line) == MAX_LINE_BYTES and not line.endswith(b"\n")
        raise BadRequest(HTTPStatus.REQUEST_URI_TOO_LONG if too_long else HTTPStatus.BAD_REQUEST)
    method, sent, version = (word.decode("ascii") for word in words.groups())
    fields = read_fields(reader)
    check_framing(version, fields)
    target, host = origin_form(sent)
    if host:
        fields = (*((name, value) for name, value in fields if name.lower() != "host"), ("Host", host))
    check_host(version, fields)
    return method, target, version, fields


def check_framing(version: str, fields: Headers) -> None:
    """Raise BadRequest when two readers could find two ends of the body (RFC 9112, 6.1 and 6.3)."""
    lengths = {value for name, value in fields if name.lower() == "content-length"}
    codings = [value.lower() for name, value in fields if name.lower() == "transfer-encoding"]
    chunked = codings == ["chunked"] and not lengths and version != "HTTP/1.0"
    if len(lengths) > 1 or (codings and not chunked):
        raise BadRequest(HTTPStatus.BAD_REQUEST)


def check_host(version: str, fields: Headers) -> None:
    """Raise BadRequest unless one host is named, which HTTP/1.0 need not do (RFC 9112, 3.2)."""
    hosts = [value for name, value in fields if name.lower() == "host"]
    needed = 0 if version == "HTTP/1.0" else 1
    if not needed <= len(hosts) <= 1 or not all(HOST.fullmatch(host) for host in hosts):
        raise BadRequest(HTTPStatus.BAD_REQUEST)


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
        field = FIELD.fullmatch(line)
        if field is None:
            raise BadRequest(HTTPStatus.BAD_REQUEST)
        if len(fields) == MAX_HEAD_LINES:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        fields.append((field[1].decode("ascii"), field[2].decode("latin-1").rstrip(" \t")))
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
    if not LENGTH.fullmatch(announced):
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
        said = CHUNK_LENGTH.fullmatch(line)
        if said is None:
            raise BadRequest(HTTPStatus.BAD_REQUEST)
        length = int(said[1], 16)
        if length == 0:
            return read_fields(reader)
        yield read_exactly(reader, length)
        if reader.readline(MAX_LINE_BYTES) not in {b"\r\n", b"\n"}:
            raise BadRequest(HTTPStatus.BAD_REQUEST)


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
