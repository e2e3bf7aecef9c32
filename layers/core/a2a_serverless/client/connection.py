"""One client's way to an agent: requests go out with their headers, answers come back within their limits.

Follows no redirect: where an agent is was said by its card, and credentials go nowhere else. Tries again
what may be tried again. Knows nothing of tasks.
"""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar

import httpx

from a2a_serverless.client.breaking import what_broke
from a2a_serverless.client.failures import (
    ClientError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
    UnknownError,
    UnreachableError,
)
from a2a_serverless.client.options import Options
from a2a_serverless.client.refusals import retry_after
from a2a_serverless.client.wire import A2A_JSON, JSON, Answered, Asked, Binding, refused_at_the_door
from a2a_serverless.protocol.errors import ContentTypeNotSupportedError, RateLimitedError
from a2a_serverless.protocol.operations import Operation
from a2a_serverless.protocol.parameters import EXTENSIONS, VERSION

T = TypeVar("T")

SPOKEN = "1.0"
"""The version of the protocol that is spoken here."""

AWAY = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def http_client(options: Options) -> httpx.AsyncClient:
    """An HTTP client as the options have it; whoever makes it closes it.

    Raises:
        UnreachableError: the environment names a proxy, or certificates, that cannot be used.
    """
    timeouts = options.timeouts
    waits = [each for each in (timeouts.first_byte, timeouts.idle) if each is not None]
    whole = None if len(waits) < 2 else max(waits)  # noqa: PLR2004  without one of them a read may last for ever
    with made_by_environment():
        return httpx.AsyncClient(
            verify=_usual_certificates() if options.verify is True else options.verify,
            transport=options.transport,
            timeout=httpx.Timeout(whole, connect=timeouts.connect, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=10),
            headers={"User-Agent": "a2a-serverless", "Accept-Encoding": "identity"},
            follow_redirects=False,
        )


@contextmanager
def made_by_environment() -> Iterator[None]:
    """While an HTTP client is made: the environment may name proxies and certificates for it.

    Raises:
        UnreachableError: they cannot be used.
    """
    try:
        yield
    except ImportError as error:
        raise UnreachableError("the environment names a SOCKS proxy, which needs httpx[socks]") from error
    except OSError as error:
        named = "SSL_CERT_FILE, SSL_CERT_DIR or SSLKEYLOGFILE"
        raise UnreachableError(f"what {named} names in the environment cannot be used") from error
    except (ValueError, httpx.InvalidURL) as error:
        raise UnreachableError("the environment names a proxy that cannot be used") from error


@cache
def _usual_certificates() -> ssl.SSLContext:
    """Read once: it takes longer than many a call."""
    return httpx.create_ssl_context()


class Connection:
    """Carries requests to one agent. `auth` is what may be shown to it, decided by whoever opened this."""

    def __init__(self, http: httpx.AsyncClient, options: Options, auth: httpx.Auth | None) -> None:
        self.http = http
        self.options = options
        self.auth = auth
        self._plainly = False

    def plainer(self, asked: Asked) -> bool:
        """Whether a request that was refused for its type is worth sending again, now as plain JSON.

        The protocol's own type should be sent, but servers in Java take no other JSON than the plain one
        (specification 11.1). Once refused it is never sent to this agent again.
        """
        before, self._plainly = self._plainly, asked.headers.get("Content-Type") == A2A_JSON
        return self._plainly and not before

    def _request(self, asked: Asked, last_event_id: str | None = None) -> httpx.Request:
        headers = {**self.options.headers, **asked.headers, VERSION: SPOKEN}
        if self._plainly and asked.headers.get("Content-Type") == A2A_JSON:
            headers["Content-Type"] = JSON
        if self.options.extensions:
            headers[EXTENSIONS] = ", ".join(self.options.extensions)
        request = self.http.build_request(asked.verb, asked.url, headers=headers, content=asked.body)
        if last_event_id is not None:
            request.headers["Last-Event-ID"] = last_event_id  # in UTF-8, as HTML has it (9.2.3)
        return request

    @asynccontextmanager
    async def open(self, asked: Asked, last_event_id: str | None = None) -> AsyncIterator[httpx.Response]:
        """An answer whose headers are here and whose body is not.

        Raises:
            UnreachableError, TimedOutError: see there.
        """
        request = self._request(asked, last_event_id)
        limit = self.options.timeouts.first_byte
        response = await within("first byte", limit, self._sent(request))
        try:
            yield response
        finally:
            await response.aclose()

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self.http.send(request, stream=True, auth=self.auth)
        except httpx.ConnectTimeout as error:
            raise TimedOutError("connect", self.options.timeouts.connect or 0) from error
        except httpx.TimeoutException as error:
            raise TimedOutError("first byte", self.options.timeouts.first_byte or 0) from error
        except httpx.TransportError as error:
            raise _failed(error, request_sent=not isinstance(error, NOT_SENT)) from error

    async def pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The body of an opened answer as it comes. Raises as `open` does."""
        idle = self.options.timeouts.idle
        body = response.aiter_bytes()
        while True:
            try:
                piece = await within("idle", idle, anext(body, None))
            except httpx.TimeoutException as error:
                raise TimedOutError("idle", idle or 0) from error
            except httpx.TransportError as error:
                raise _failed(error, request_sent=True) from error
            except httpx.DecodingError as error:
                raise UnexpectedAnswerError("the answer is not encoded as it says") from error
            if piece is None:
                return
            yield piece

    async def whole(self, response: httpx.Response, most: int) -> Answered:
        """All of an opened answer; raises UnexpectedAnswerError for one of more than `most` bytes."""
        body = bytearray()
        async for piece in self.pieces(response):
            body += piece
            if len(body) > most:
                raise UnexpectedAnswerError(
                    f"the answer has more than {most} bytes", http_status=response.status_code
                )
        return Answered(response.status_code, media_type(response), bytes(body), said_by(response))

    async def call(self, binding: Binding, operation: Operation, params: dict[str, Any]) -> Any:  # noqa: ANN401  JSON
        """The result of an operation that answers once, as JSON.

        Raises:
            A2AError: the agent refuses. ClientError: it did not come to that.
        """

        async def once() -> object:
            asked = binding.ask(operation, params)
            async with self.open(asked) as response:
                answered = await self.whole(response, self.options.limits.answer)
            try:
                return understood(binding, asked, answered)
            except ContentTypeNotSupportedError:
                if not self.plainer(asked):
                    raise
            return await once()

        again = repeatable(operation, params, resend=self.options.retries.resend)
        total = self.options.timeouts.total
        return await within("total", total, self.persistently(once, repeatable=again))

    async def persistently(self, once: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
        """What `once` gives, tried again where that harms nobody."""
        retries = self.options.retries
        attempt = 1
        while True:
            try:
                return await once()
            except (UnreachableError, UnavailableError, RateLimitedError) as error:
                pause = pause_before(attempt + 1, retries.first_pause, retries.longest_pause)
                asked = getattr(error, "retry_after", None) or 0.0
                if attempt >= retries.attempts or not _may_repeat(error, repeatable=repeatable):
                    raise
                if asked > retries.longest_wait:
                    raise
            await asyncio.sleep(max(pause, asked))
            attempt += 1


def _may_repeat(error: ClientError | RateLimitedError, *, repeatable: bool) -> bool:
    match error:
        case UnreachableError(request_sent=sent):
            return repeatable or not sent
        case UnavailableError(http_status=status):
            return repeatable or status == HTTPStatus.SERVICE_UNAVAILABLE
    return True


def repeatable(operation: Operation, params: dict[str, Any], *, resend: bool) -> bool:
    """Whether asking a second time does no more than asking once."""
    match operation.method:
        case "SendMessage" | "SendStreamingMessage":
            return resend
        case "CreateTaskPushNotificationConfig":
            return bool(params.get("id"))
    return True


def pause_before(attempt: int, first: float, longest: float) -> float:
    """Seconds to wait before the attempt of that number: doubling, and half of it by chance."""
    doubled: float = min(longest, first * 2.0 ** min(attempt - 2, 30))
    return doubled * random.uniform(0.5, 1.0)  # noqa: S311  so that not everybody comes back at once


async def within(phase: str, seconds: float | None, awaited: Awaitable[T]) -> T:
    """The result of something that must come within a time; raises TimedOutError, which names the phase."""
    deadline = asyncio.timeout(seconds)
    try:
        async with deadline:
            return await awaited
    except TimeoutError:
        if not deadline.expired():
            raise
        raise TimedOutError(phase, seconds or 0) from None


def understood(binding: Binding, asked: Asked, answered: Answered) -> Any:  # noqa: ANN401  JSON is any of six types
    """What an answer says as a result, or else by its status alone, whatever its body is.

    Raises:
        A2AError, UnexpectedAnswerError: what it says instead. UnavailableError: nobody is at home.
    """
    try:
        return binding.result(asked, answered)
    except UnexpectedAnswerError as error:
        if answered.status in AWAY:
            raise UnavailableError(answered.status, retry_after(answered.headers)) from error
        refused = refused_at_the_door(answered)
        if refused is not None:
            raise refused from error
        leads_on = HTTPStatus.MULTIPLE_CHOICES <= answered.status < HTTPStatus.BAD_REQUEST
        if leads_on and "location" in answered.headers:
            raise UnexpectedAnswerError(
                f"the address leads to another (status {answered.status}), which the card has to name itself",
                http_status=answered.status,
            ) from error
        raise
    except UnknownError as error:
        if answered.status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise UnavailableError(answered.status, retry_after(answered.headers)) from error
        raise


def said_by(response: httpx.Response) -> dict[str, str]:
    """The headers of an answer by their names in lower case; API Gateway renames one, which is undone."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    remapped = headers.get("x-amzn-remapped-www-authenticate")
    return headers if remapped is None else {"www-authenticate": remapped, **headers}


def media_type(response: httpx.Response) -> str:
    """The media type of an answer, without parameters."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _failed(error: httpx.TransportError, *, request_sent: bool) -> UnreachableError:
    return UnreachableError(f"the connection failed: {what_broke(error)}", request_sent=request_sent)
