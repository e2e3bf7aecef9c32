"""Finding an agent's card and seeing whether it can be trusted (specification 8.2, 8.4.3, 8.6.2).

A card is public: it is asked for without credentials, and only where that is refused with them, at the
address that the caller gave. Redirects are followed within one origin. A card is kept as long as its server
allows, and asked about with its ETag afterwards.
"""

import asyncio
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx

from a2a_serverless.client.card_verification import Verdict, Verification, verify
from a2a_serverless.client.connection import Connection, http_client
from a2a_serverless.client.failures import UnavailableError, UnexpectedAnswerError, UntrustedCardError
from a2a_serverless.client.fetching import AllowedKeys, fetched_keys
from a2a_serverless.client.options import Options, origin_of
from a2a_serverless.client.refusals import retry_after
from a2a_serverless.client.wire import Answered, Asked, refused_at_the_door
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import InvalidParamsError, JSONParseError

if TYPE_CHECKING:
    from a2a_serverless.client.trusted_keys import TrustedKey

WELL_KNOWN = "/.well-known/agent-card.json"
MOST_REDIRECTS = 3
LONGEST_KEPT = 24 * 3600
"""Seconds for which a card is kept without asking, whatever its server says."""

MAX_AGE = re.compile(r"max-age\s*=\s*\"?(\d{1,9})")


@dataclass(frozen=True, slots=True)
class CachedCard:
    """A card as it was received from `url`: `fresh_until` is in seconds since 1970."""

    text: bytes
    url: str
    etag: str | None
    fresh_until: float


class CardCache(Protocol):
    """Where cards are kept between calls, by the address that was asked for."""

    def get(self, url: str) -> CachedCard | None:
        """The card that is kept, fresh or not."""

    def put(self, url: str, card: CachedCard) -> None:
        """Keep a card in place of the one before."""


@dataclass(slots=True)
class MemoryCardCache:
    """Cards kept in this process."""

    cards: dict[str, CachedCard] = field(default_factory=dict)

    def get(self, url: str) -> CachedCard | None:
        return self.cards.get(url)

    def put(self, url: str, card: CachedCard) -> None:
        self.cards[url] = card


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Who may have signed a card. What a card itself says of keys counts only for hosts in `jku_hosts`.

    Attributes:
        jwks_url: where keys that are trusted lie, pinned by the caller.
        keys: keys that are trusted, see `trusted_keys` (of a local JWK set, a PEM file, or a shared secret).
        jku_hosts: hosts (`keys.example.com`, or with a port) on which the keys that a signature names are
        believed.
    """

    jwks_url: str | None = None
    keys: "Sequence[TrustedKey]" = ()
    jku_hosts: Collection[str] = ()

    def verification(self, text: bytes) -> Verification:
        """What can be said of a card; fetches keys, so it takes a while. Raises KeysOutOfReachError."""
        pinned = [*self.keys, *(fetched_keys(self.jwks_url) if self.jwks_url else ())]
        return verify(text, pinned, AllowedKeys(self.jku_hosts) if self.jku_hosts else None)


@dataclass(frozen=True, slots=True)
class Discovered:
    """A card, where it came from, its text as received, and what its signatures are worth."""

    card: AgentCard
    url: str
    text: bytes
    verification: Verification | None = None


async def discover(
    url: str,
    *,
    options: Options | None = None,
    trust: Trust | None = None,
    cache: CardCache | None = None,
    http: httpx.AsyncClient | None = None,
    now: Callable[[], float] = time.time,
) -> Discovered:
    """The card of the agent at an address: of the card itself, or of the agent.

    An agent's card is looked for at `/.well-known/agent-card.json` below its address, then at the root of
    its host. With `trust` a card counts only if somebody trusted has signed it.

    Raises:
        UntrustedCardError: nobody trusted has. KeysOutOfReachError: the keys to tell cannot be had.
        UnexpectedAnswerError: there is no card. UnreachableError, TimedOutError, UnavailableError, A2AError:
        see there.
    """
    options = options or Options()
    if origin_of(url) is None:
        raise UnexpectedAnswerError("the address is neither http nor https")
    if http is not None:
        return await _discovered(Connection(http, options, options.auth), url, trust, cache, now)
    async with http_client(options) as own:
        return await _discovered(Connection(own, options, options.auth), url, trust, cache, now)


async def _discovered(
    connection: Connection,
    url: str,
    trust: Trust | None,
    cache: CardCache | None,
    now: Callable[[], float],
) -> Discovered:
    kept = cache.get(url) if cache is not None else None
    found = kept
    if found is None or found.fresh_until <= now():
        found = await _fetched(connection, _places(url), kept, now)
        if cache is not None and found.fresh_until >= 0:
            cache.put(url, found)
    if trust is None:
        return Discovered(_read(found.text), found.url, found.text)
    verification = await asyncio.to_thread(trust.verification, found.text)
    if verification.verdict is not Verdict.VALID or verification.card is None:
        raise UntrustedCardError(verification)
    return Discovered(verification.card, found.url, found.text, verification)


def _places(url: str) -> list[str]:
    """Where the card may lie, the likeliest first."""
    parts = urlsplit(url)
    if parts.path.endswith(".json"):
        return [url]
    below = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + WELL_KNOWN, "", ""))
    root = urlunsplit((parts.scheme, parts.netloc, WELL_KNOWN, "", ""))
    return list(dict.fromkeys((below, root)))


async def _fetched(
    connection: Connection, places: Sequence[str], kept: CachedCard | None, now: Callable[[], float]
) -> CachedCard:
    for place in places:
        known = kept if kept is not None and kept.url == place else None
        answered = await connection.persistently(partial(_asked, connection, place, known), repeatable=True)
        if known is not None and answered.status == HTTPStatus.NOT_MODIFIED:
            return replace(known, fresh_until=_fresh_until(answered.headers, now()))
        if answered.status == HTTPStatus.OK:
            etag = answered.headers.get("etag")
            return CachedCard(answered.body, place, etag, _fresh_until(answered.headers, now()))
        if answered.status != HTTPStatus.NOT_FOUND:
            break
    raise UnexpectedAnswerError(
        f"there is no card (status {answered.status})",
        http_status=answered.status,
        excerpt=answered.excerpt,
    )


async def _asked(connection: Connection, url: str, known: CachedCard | None) -> Answered:
    """The answer at an address or where it leads to, within its origin."""
    headers = {"Accept": "application/json, application/a2a+json"}
    if known is not None and known.etag is not None:
        headers["If-None-Match"] = known.etag
    anybody = Connection(connection.http, connection.options, None)
    for _ in range(MOST_REDIRECTS + 1):
        answered = await _answer(anybody, Asked("GET", url, headers))
        if answered.status == HTTPStatus.UNAUTHORIZED and connection.auth is not None:
            answered = await _answer(connection, Asked("GET", url, headers))
        refused = refused_at_the_door(answered)
        if refused is not None:
            raise refused
        leads_to = answered.headers.get("location")
        if leads_to is None or not HTTPStatus.MOVED_PERMANENTLY <= answered.status < HTTPStatus.BAD_REQUEST:
            return answered
        leads_to = urljoin(url, leads_to)
        if origin_of(leads_to) != origin_of(url):
            raise UnexpectedAnswerError(
                "the card's address redirects to another origin, which is not followed",
                http_status=answered.status,
            )
        url = leads_to
    raise UnexpectedAnswerError("the card's address redirects too often")


async def _answer(connection: Connection, asked: Asked) -> Answered:
    async with connection.open(asked) as response:
        answered = await connection.whole(response, connection.options.limits.card)
    if answered.status == HTTPStatus.SERVICE_UNAVAILABLE:
        raise UnavailableError(answered.status, retry_after(answered.headers))
    return answered


def _read(text: bytes) -> AgentCard:
    try:
        return AgentCard.from_json(text)
    except JSONParseError:
        raise UnexpectedAnswerError(
            "what lies there is not JSON", excerpt=text[:500].decode(errors="replace")
        ) from None
    except InvalidParamsError as error:
        blamed = "; ".join(f"{each.field or 'it'} {each.description}" for each in error.violations)
        raise UnexpectedAnswerError(f"what lies there is no agent card: {blamed}") from None


def _fresh_until(headers: Mapping[str, str], now: float) -> float:
    """Until when a card need not be asked for again; below zero where it may not be kept."""
    control = headers.get("cache-control", "").lower()
    if "no-store" in control:
        return -1.0
    age = MAX_AGE.search(control)
    if age is None or "no-cache" in control:
        return now
    return now + min(int(age[1]), LONGEST_KEPT)
