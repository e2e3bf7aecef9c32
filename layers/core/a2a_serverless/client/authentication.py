"""Credentials of a caller, each an `httpx.Auth`: a token, a name and password, a key, or several at once.

A secret is shown neither by `repr` nor in any error. To which origins credentials go at all is not decided
here, but by whoever sends the request.
"""

from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from http import HTTPStatus
from typing import Literal

import httpx

TokenSource = Callable[[], Awaitable[str]]
"""Gives a token that is valid now; asked for every request, and once more after a 401."""


class Decorating(httpx.Auth):
    """Credentials that are put onto a request as they are."""

    def put(self, request: httpx.Request) -> None:
        """Put the credentials onto the request."""
        raise NotImplementedError

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        self.put(request)
        yield request


class Bearer(httpx.Auth):
    """A token, or a source of tokens: of JWTs that expire, say."""

    def __init__(self, token: str | TokenSource) -> None:
        self._token = token

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show the token; where it is refused and the source has another by now, show that one, once."""
        token = await self._current()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED and not isinstance(self._token, str):
            renewed = await self._current()
            if renewed != token:
                request.headers["Authorization"] = f"Bearer {renewed}"
                yield request

    async def _current(self) -> str:
        return self._token if isinstance(self._token, str) else await self._token()


class Basic(Decorating):
    """A name and a password (RFC 7617)."""

    def __init__(self, username: str, password: str) -> None:
        self._credentials = b64encode(f"{username}:{password}".encode()).decode()

    def put(self, request: httpx.Request) -> None:
        request.headers["Authorization"] = f"Basic {self._credentials}"


class ApiKey(Decorating):
    """A key in a header, in the query or in a cookie, as a card's `apiKeySecurityScheme` says."""

    def __init__(
        self, key: str, name: str = "X-API-Key", location: Literal["header", "query", "cookie"] = "header"
    ) -> None:
        self._key = key
        self._name = name
        self._location = location

    def put(self, request: httpx.Request) -> None:
        match self._location:
            case "header":
                request.headers[self._name] = self._key
            case "query":
                request.url = request.url.copy_set_param(self._name, self._key)
            case "cookie":
                given = request.headers.get("Cookie")
                pair = f"{self._name}={self._key}"
                request.headers["Cookie"] = f"{given}; {pair}" if given else pair


class Together(httpx.Auth):
    """Credentials of several schemes on one request, of which one may look at answers."""

    def __init__(self, *credentials: httpx.Auth) -> None:
        self._put = [each for each in credentials if isinstance(each, Decorating)]
        others = [each for each in credentials if not isinstance(each, Decorating)]
        if len(others) > 1:
            raise ValueError("of credentials that look at answers there can be one")
        self._flowing = others[0] if others else None

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        for each in self._put:
            each.put(request)
        if self._flowing is None:
            yield request
            return
        flow = self._flowing.async_auth_flow(request)
        try:
            shown = await anext(flow)
            while True:
                shown = await flow.asend((yield shown))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
