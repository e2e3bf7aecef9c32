"""How a client calls: how long it waits, how often it tries again, what it shows to whom.

Values only. Every number has a default that suits an agent on the internet whose turns take seconds.
"""

import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that each phase of a call may take; None is for ever.

    `first_byte` is from the request to the first byte of the answer: an agent that answers a blocking call
    only when it is done is silent for so long. `idle` is between two bytes of an answer that has begun, and
    longer than what servers leave between two signs of life (ours 4 s, the official SDK's 15 s). `total` is
    for one answer from its request to its end, and does not count for streams.
    """

    connect: float | None = 5.0
    first_byte: float | None = 90.0
    idle: float | None = 35.0
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Retries:
    """How often something is tried, and the pauses between: doubling, half of each by chance.

    Tried again is what could not be sent, what was refused with 429 or 503 (after the `Retry-After` that
    came along, unless it is longer than `longest_wait`), and what a broken connection left open. A message is
    sent again under its own messageId: agents that keep count, as ours do, take it once.
    `resend=False` sends none again that may have been heard.
    """

    attempts: int = 4
    first_pause: float = 0.3
    longest_pause: float = 10.0
    longest_wait: float = 60.0
    resend: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes that are read before an answer is given up: of a card, of any other answer, of one event."""

    card: int = MEBIBYTE
    answer: int = 64 * MEBIBYTE
    event: int = 64 * MEBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to call an agent.

    Attributes:
        auth: the caller's credentials, see `authentication`, or any `httpx.Auth`.
        credential_origins: origins (`https://api.example.com`) beside the one the card was asked from that
        credentials may be shown to. An interface elsewhere is passed over.
        bindings: which are spoken, `JSONRPC` and `HTTP+JSON`; the card decides the order.
        extensions: URIs of extensions to opt into (specification 4.6).
        headers: further headers of every request to the agent; not for credentials.
        poll_seconds: how long between two looks at a task of an agent that does not stream.
        verify: certificates that are trusted, if not the usual ones.
        transport: what carries the requests, if not the network; for tests.
    """

    auth: httpx.Auth | None = None
    credential_origins: Collection[str] = ()
    bindings: Collection[str] = ("JSONRPC", "HTTP+JSON")
    extensions: Collection[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=Retries)
    limits: Limits = field(default_factory=Limits)
    poll_seconds: float = 2.0
    verify: ssl.SSLContext | bool = True
    transport: httpx.AsyncBaseTransport | None = None


PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str | None:
    """Scheme, host and port of an http or https address, `https://agent.example:443`; None for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
        written_right = bool(httpx.URL(url).host)  # what is asked for by it; its host is read only here
    except (ValueError, httpx.InvalidURL):
        return None
    if parts.scheme not in PORTS or not parts.hostname or port == 0 or not written_right:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or PORTS[parts.scheme]}"
