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
from functools import cached_property
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

from a2a_serverless.adapters.http_answers import BODY_LIMIT, NoAnswerError, read_answer, skip_body
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.operations.webhook_urls import Target, read_url
from a2a_serverless.ports import Clock
from a2a_serverless.ports.webhooks import WebhookAnswer, WebhookRequest

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD_LIMIT = 32 * 1024
"""Bytes of an answer's head, informational answers before it included."""

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


NO_ANSWER = "closed without an answer"
PROBLEMS: tuple[tuple[type[OSError], str], ...] = (
    (TimeoutError, "timed out"),
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "connection reset"),
    (ssl.SSLEOFError, NO_ANSWER),
    (ssl.SSLError, "TLS: handshake failed"),
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
            except OSError as error:
                return WebhookAnswer(None, problem=_problem(error))
            except NoAnswerError as error:
                return WebhookAnswer(None, problem=str(error))

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
        reader = io.BufferedReader(wire)
        answer = read_answer(reader)
        wire.begin_body()
        skip_body(reader, answer)
        return WebhookAnswer(answer.status, answer.retry_after(self._clock.now()))


class _Wire(io.RawIOBase):
    """A connection whose every step ends at the same moment, and which gives only so many bytes."""

    def __init__(self, connection: socket.socket, ends: float) -> None:
        self._connection = connection
        self._ends = ends
        self._in_head = True
        self._limit = HEAD_LIMIT

    def send(self, message: bytes) -> None:
        """Send all of it."""
        rest = memoryview(message)
        while rest:
            self._connection.settimeout(_left(self._ends))
            rest = rest[self._connection.send(rest[:RECORD]) :]

    def begin_body(self) -> None:
        """What comes from now on may end anywhere."""
        self._in_head = False
        self._limit = BODY_LIMIT

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Some bytes; none at the end of a body, be it the sender's or ours. A head must be whole."""
        if self._in_head and not self._limit:
            raise NoAnswerError("answer's headers too long")
        room = memoryview(buffer)[: self._limit]
        if not room:
            return 0
        self._connection.settimeout(_left(self._ends))
        count = self._connection.recv_into(room)
        if self._in_head and not count:
            raise NoAnswerError(NO_ANSWER)
        self._limit -= count
        return count


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


def _problem(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return CERTIFICATE_FAULTS.get(error.verify_code, UNTRUSTED)
    return next(text for kind, text in PROBLEMS if isinstance(error, kind))
