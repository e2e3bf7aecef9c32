"""An HTTP request and an HTTP response as values, and what every answer of this deployment has in common.

The vocabulary of the bindings. Knows no event of API Gateway, no operation and no error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from a2a_serverless.protocol.parameters import EXTENSIONS, VERSION

JSON = "application/json"
A2A_JSON = "application/a2a+json"

MAX_BODY = 5_767_168
"""Bytes of a request's body: 4 MiB in base64, and room for the rest of the message.

Lambda takes 6 MB, of which the event around the body and the quoting of it need something, too.
"""

MAX_STREAMED = 100_000_000
"""Bytes of an answer that leaves piece by piece. Lambda takes twice as much; it is made in memory first."""

MAX_ANSWER = 6_000_000
"""Bytes of an answer as Lambda counts them: 6 MB, with room for the event around it."""

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        f"{VERSION}, {EXTENSIONS}, Accept-Ranges, Allow, Content-Disposition, Content-Length, Content-Range, "
        "ETag, Repr-Digest, Retry-After, WWW-Authenticate, x-amzn-Remapped-Content-Length, "
        "x-amzn-Remapped-WWW-Authenticate, x-amzn-RequestId"
    ),
}
"""On every answer, errors included: without them a browser shows its page nothing but "network error"."""

AS_DECLARED = {"X-Content-Type-Options": "nosniff"}
"""What agents and callers wrote is what its media type says, and never a page or a script of this origin."""

ONLY_OVER_TLS = {"Strict-Transport-Security": "max-age=31536000"}
"""For a year a browser asks this host over TLS only (RFC 6797). Its subdomains may be somebody else's."""

ALLOW_HEADERS = "Access-Control-Allow-Headers"
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE, OPTIONS",
    ALLOW_HEADERS: (
        f"{VERSION}, {EXTENSIONS}, Authorization, Content-Type, If-Match, If-None-Match, If-Range, "
        "Last-Event-ID, Range"
    ),
    "Access-Control-Max-Age": "7200",
}


NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request.

    Attributes:
        method: the verb, in capitals.
        path: what follows the address of this deployment, without the stage; may be percent-encoded.
        headers: all values by lower-case name, in order.
        query: all values by name, decoded, in order.
        body: the bytes, whatever their encoding on the way.
        origin: the address the request came in by, `https://domain/stage`, as the gateway says it.
        request_id: names the request in the logs of the gateway.
        arrived: when it reached the gateway, if that is said.
        deadline: when whoever answers it will have to have ended.
    """

    method: str
    path: str
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    origin: str = ""
    request_id: str = ""
    arrived: datetime | None = None
    deadline: datetime = NEVER

    def header(self, name: str) -> str | None:
        """The value of a header, several joined by commas (RFC 9110, 5.3); None when it is absent."""
        values = self.headers.get(name.lower())
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str | None:
        """The media type of the body, without parameters and in lower case; None when it is not said."""
        said = self.header("content-type")
        return said.partition(";")[0].strip().lower() if said else None

    def accepts(self, media_type: str) -> bool:
        """Whether the client names this media type in Accept; a wildcard names nothing."""
        ranges = (self.header("accept") or "").lower().split(",")
        return any(each.partition(";")[0].strip() == media_type for each in ranges)


def nothing() -> None:
    """What is left to do after most answers."""


Afterwards = Callable[[], None]
"""To be called once, when the answer has left or nobody wants the rest of it."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer. `headers` are its own; those of `on_every_answer` are added when it is sent."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    afterwards: Afterwards = field(default=nothing, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """One answer whose body leaves piece by piece, each as soon as it is there."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]
    afterwards: Afterwards = field(default=nothing, compare=False, repr=False)


def on_every_answer(request: HttpRequest) -> dict[str, str]:
    """The headers of every answer to a request: for pages, against guessing, for TLS where it came by it.

    What stands in front says how it came, so no client can. A browser ignores the last one over anything else
    (RFC 6797, 8.1).
    """
    over_tls = request.header("x-forwarded-proto") == "https"
    return {**CORS, **AS_DECLARED, **(ONLY_OVER_TLS if over_tls else {})}


def preflight(headers: Iterable[str] = ()) -> HttpResponse:
    """What a browser wants to know before it sends a page's request; it may send these headers too."""
    allowed = ", ".join((PREFLIGHT[ALLOW_HEADERS], *headers))
    return HttpResponse(HTTPStatus.NO_CONTENT, {**PREFLIGHT, ALLOW_HEADERS: allowed})
