"""HTTP as far as webhooks go: one POST to one address that was checked before, and the status it earns.

The connection is made to the address given; Host header, SNI and certificate are those of the URL's host.
Nothing is followed, repeated, kept open or sent through a proxy. Whatever the other side does ends at one
moment and within a few kilobytes, and becomes an answer; only what is our own fault raises. Knows no policy:
a URL is read as registration read it, and was checked there.
"""

import io
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING, cast

from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.operations.webhook_urls import Target, read_url
from a2a_serverless.ports import Clock
from a2a_serverless.ports.webhooks import WebhookAnswer, WebhookRequest

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_LIMIT = 32 * 1024
"""Bytes of an answer's head, informational answers before it included."""

BODY_LIMIT = 64 * 1024
"""Bytes of an answer's body that are waited for. Nobody reads them; a receiver may finish what it says."""

LONGEST_PAUSE = 86_400.0
"""Seconds that a Retry-After asks for at most."""

RECORD = 16 * 1024
"""Bytes sent in one go, what TLS takes at once."""

NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
OURS = frozenset({"connection", "content-length", "expect", "host", "transfer-encoding", "upgrade"})
"""Headers that say how the message travels."""

UNTRUSTED = "TLS: certificate not trusted"
CERTIFICATE_FAULTS = {
    9: "TLS: certificate not valid yet",
    10: "TLS: certificate expired",
    62: "TLS: certificate for another name",
    64: "TLS: certificate for another address",
}
"""By OpenSSL's verification code; any other is `UNTRUSTED`."""


class _NoAnswerError(OSError):
    """The connection ended before the answer's head did."""


class _LongHeadError(OSError):
    """The answer's head does not end."""


PROBLEMS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "timed out"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "connection reset"),
    (_NoAnswerError, "closed without an answer"),
    (ssl.SSLEOFError, "closed without an answer"),
    (_LongHeadError, "answer's headers too long"),
    (ssl.SSLError, "TLS: handshake failed"),
    (HTTPException, "not an HTTP answer"),
    (OSError, "not reachable"),
)
"""What a failure is called, by the first class it belongs to; says nothing of addresses or paths."""


class HttpsPosts:
    """POST requests over HTTPS (TLS 1.2 or later, the system's trust store or `SSL_CERT_FILE`) or plain HTTP.

    May be used by several threads at once.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    def post(self, request: WebhookRequest) -> WebhookAnswer:
        """Make the request; never raises for what the other side does.

        Once an answer has a whole head its status counts, however its body ends.

        Raises:
            ValueError: the address is none, or a header cannot be sent.
            InvalidParamsError: the URL cannot be read.
        """
        target = read_url(request.url)
        message = _message(target, request.headers, request.body)
        address = ip_address(request.address)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004
        ends = monotonic() + request.timeout
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            try:
                connection.settimeout(_left(ends))
                connection.connect((str(address), target.port))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if target.scheme == "http":
                    return self._exchange(connection, message, ends)
                connection.settimeout(_left(ends))
                with self._tls.wrap_socket(connection, server_hostname=target.host) as secured:
                    return self._exchange(secured, message, ends)
            except (OSError, HTTPException) as error:
                return WebhookAnswer(None, problem=_problem(error))

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _exchange(self, connection: socket.socket, message: bytes, ends: float) -> WebhookAnswer:
        wire = _Wire(connection, ends)
        # A receiver may refuse before it has read everything, and say so before it hangs up.
        with suppress(ConnectionError):
            wire.send(message)
        answer = wire.answer()
        return WebhookAnswer(answer.status, _pause(answer.headers.get("Retry-After", ""), self._clock.now()))


class _Wire(io.RawIOBase):
    """A connection whose every step ends at the same moment, and which gives only so many bytes."""

    def __init__(self, connection: socket.socket, ends: float) -> None:
        self._connection = connection
        self._ends = ends
        self._in_head = True
        self._limit = HEAD_LIMIT
        self._reader = io.BufferedReader(self)

    def send(self, message: bytes) -> None:
        """Send all of it."""
        rest = memoryview(message)
        while rest:
            self._connection.settimeout(_left(self._ends))
            rest = rest[self._connection.send(rest[:RECORD]) :]

    def answer(self) -> HTTPResponse:
        """The answer that is not informational, its body taken off the wire as far as it comes."""
        # All are kept until the end: one that is thrown away closes the reader they share.
        answers = [self._begun()]
        while _is_interim(answers[-1].status):
            answers.append(self._begun())
        self._in_head = False
        self._limit = BODY_LIMIT
        # The status is known; a body that breaks off or is no chunked one takes nothing from it.
        with suppress(OSError, HTTPException, ValueError):
            answers[-1].read(BODY_LIMIT)
        return answers[-1]

    def _begun(self) -> HTTPResponse:
        answer = HTTPResponse(cast("socket.socket", self), method="POST")
        answer.begin()
        return answer

    def makefile(self, _mode: str) -> "io.BufferedReader[_Wire]":
        """What an answer is read from."""
        return self._reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Some bytes; none at the end of a body, be it the sender's or ours. A head must be whole."""
        if self._in_head and not self._limit:
            raise _LongHeadError
        room = memoryview(buffer)[: self._limit]
        if not room:
            return 0
        self._connection.settimeout(_left(self._ends))
        count = self._connection.recv_into(room)
        if self._in_head and not count:
            raise _NoAnswerError
        self._limit -= count
        return count


def _is_interim(status: int) -> bool:
    """Whether another answer follows (RFC 9110 15.2); none does after an upgrade, which nobody asked for."""
    return status < HTTPStatus.OK and status != HTTPStatus.SWITCHING_PROTOCOLS


def _left(ends: float) -> float:
    """Seconds until then."""
    left = ends - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _message(target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
    """The request as it goes over the wire (RFC 9112 3)."""
    if names := OURS.intersection(map(str.lower, headers)):
        raise ValueError(f"not for a caller to set: {', '.join(sorted(names))}")
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.authority}"]
    for name, value in headers.items():
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise ValueError(f"not a header that can be sent: {name!r}")
        lines.append(f"{name}: {value}")
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


def _pause(said: str, now: datetime) -> float | None:
    """Seconds of a Retry-After, which is a number of them or a date (RFC 9110 10.2.3)."""
    text = said.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_PAUSE)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    moment = date if date.tzinfo else date.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), LONGEST_PAUSE)


def _problem(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return CERTIFICATE_FAULTS.get(error.verify_code, UNTRUSTED)
    return next(text for kind, text in PROBLEMS if isinstance(error, kind))
