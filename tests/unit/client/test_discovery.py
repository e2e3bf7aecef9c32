"""Finding a card: where it may lie, how long it is kept, what is followed, and whether it can be trusted."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from a2a_serverless.client import (
    Bearer,
    CachedCard,
    Discovered,
    Limits,
    MemoryCardCache,
    Options,
    Retries,
    Trust,
    UnavailableError,
    UnexpectedAnswerError,
    UntrustedCardError,
    discover,
)
from a2a_serverless.client.card_verification import Verdict
from a2a_serverless.client.trusted_keys import trusted_secret
from a2a_serverless.protocol.errors import PermissionDeniedError, UnauthenticatedError
from tests.unit.client.agents_on_paper import URL, card
from tests.unit.client.signing import SECRET, signature

PLACE = "/.well-known/agent-card.json"


@dataclass
class Shelf(httpx.AsyncBaseTransport):
    """Cards by address; answers of what lies nowhere are 404."""

    answers: dict[str, list[httpx.Response]] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(httpx.Request(request.method, request.url, headers=request.headers))
        answers = self.answers.get(str(request.url), [httpx.Response(404)])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def places(self) -> list[str]:
        return [str(each.url) for each in self.asked]


def a_card(status: int = 200, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=card() if body is None else body, headers=headers)


def found(shelf: Shelf, url: str = URL, trust: Trust | None = None, **given: Any) -> Discovered:
    cache, now = given.pop("cache", None), given.pop("now", lambda: 0.0)
    options = Options(**{"transport": shelf, "retries": Retries(first_pause=0, longest_pause=0), **given})
    return asyncio.run(discover(url, options=options, trust=trust, cache=cache, now=now))


@pytest.mark.parametrize("url", [URL, f"{URL}/", f"{URL}{PLACE}"])
def test_a_card_lies_in_its_well_known_place(url: str) -> None:
    shelf = Shelf({f"{URL}{PLACE}": [a_card()]})

    assert found(shelf, url).card.name == "Paper"
    assert shelf.places() == [f"{URL}{PLACE}"]


def test_of_an_address_with_a_path_it_lies_below_it_or_at_the_root() -> None:
    below = Shelf({f"{URL}/prod{PLACE}": [a_card()]})
    root = Shelf({f"{URL}{PLACE}": [a_card()]})

    assert found(below, f"{URL}/prod").url == f"{URL}/prod{PLACE}"
    assert found(root, f"{URL}/prod/").url == f"{URL}{PLACE}"


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404),
        httpx.Response(500, html="Oops"),
        httpx.Response(200, html="Welcome"),
        a_card(body={"name": "Half"}),
        a_card(body=[]),
        httpx.Response(204),
    ],
)
def test_what_is_no_card_is_told_from_one(answer: httpx.Response) -> None:
    with pytest.raises(UnexpectedAnswerError, match=r"card|JSON"):
        found(Shelf({f"{URL}{PLACE}": [answer]}))


def test_an_address_is_http_or_https() -> None:
    with pytest.raises(UnexpectedAnswerError, match="neither http nor https"):
        found(Shelf(), "ftp://agent.example")


def test_a_card_that_is_too_long_is_not_read_to_its_end() -> None:
    with pytest.raises(UnexpectedAnswerError, match="more than 100 bytes"):
        found(Shelf({f"{URL}{PLACE}": [a_card()]}), limits=Limits(card=100))


def test_redirects_are_followed_within_the_origin_only() -> None:
    within = Shelf(
        {
            f"{URL}{PLACE}": [httpx.Response(307, headers={"Location": "/v1/card.json"})],
            f"{URL}/v1/card.json": [a_card()],
        }
    )
    away = Shelf(
        {f"{URL}{PLACE}": [httpx.Response(301, headers={"Location": f"http://agent.example{PLACE}"})]}
    )
    round_ = Shelf({f"{URL}{PLACE}": [httpx.Response(302, headers={"Location": PLACE})]})

    assert found(within).card.name == "Paper"
    with pytest.raises(UnexpectedAnswerError, match="another origin"):
        found(away)
    with pytest.raises(UnexpectedAnswerError, match="too often"):
        found(round_)
    assert len(away.asked) == 1


def test_a_card_is_kept_as_long_as_its_server_allows_and_then_asked_about() -> None:
    shelf = Shelf(
        {
            f"{URL}{PLACE}": [
                a_card(**{"Cache-Control": "public, max-age=60", "ETag": '"1"'}),
                httpx.Response(304, headers={"Cache-Control": "max-age=60"}),
                a_card(ETag='"2"'),
            ]
        }
    )
    cache = MemoryCardCache()

    for second in (0, 59, 60, 119, 120):
        assert found(shelf, cache=cache, now=lambda: float(second)).card.name == "Paper"  # noqa: B023  at once

    assert [each.headers.get("if-none-match") for each in shelf.asked] == [None, '"1"', '"1"']
    kept = cache.get(URL)
    assert kept is not None
    assert (kept.etag, kept.fresh_until) == ('"2"', 120.0)


@pytest.mark.parametrize("control", ["no-cache, max-age=60", ""])
def test_a_card_that_says_nothing_of_it_is_asked_about_each_time(control: str) -> None:
    shelf = Shelf(
        {f"{URL}{PLACE}": [a_card(**{"Cache-Control": control, "ETag": '"1"'}), httpx.Response(304)]}
    )
    cache = MemoryCardCache()

    for _ in range(3):
        found(shelf, cache=cache)

    assert len(shelf.asked) == 3


def test_a_card_that_must_not_be_kept_is_not() -> None:
    cache = MemoryCardCache()

    found(Shelf({f"{URL}{PLACE}": [a_card(**{"Cache-Control": "no-store"})]}), cache=cache)

    assert cache.get(URL) is None


def test_no_card_is_kept_for_ever() -> None:
    cache = MemoryCardCache()

    found(Shelf({f"{URL}{PLACE}": [a_card(**{"Cache-Control": "max-age=999999999"})]}), cache=cache)

    assert cache.get(URL) == CachedCard(
        json.dumps(card(), separators=(",", ":")).encode(), f"{URL}{PLACE}", None, 86400.0
    )


def test_a_card_is_asked_for_by_nobody_and_with_credentials_only_where_that_is_refused() -> None:
    open_ = Shelf({f"{URL}{PLACE}": [a_card()]})
    closed = Shelf({f"{URL}{PLACE}": [httpx.Response(401), a_card()]})

    found(open_, auth=Bearer("secret"))
    found(closed, auth=Bearer("secret"))

    assert [each.headers.get("authorization") for each in open_.asked] == [None]
    assert [each.headers.get("authorization") for each in closed.asked] == [None, "Bearer secret"]


def test_a_card_that_is_not_shown_is_refused_as_any_call() -> None:
    with pytest.raises(UnauthenticatedError):
        found(Shelf({f"{URL}{PLACE}": [httpx.Response(401)]}))
    with pytest.raises(UnauthenticatedError):
        found(Shelf({f"{URL}{PLACE}": [httpx.Response(401)]}), auth=Bearer("wrong"))
    with pytest.raises(PermissionDeniedError):
        found(Shelf({f"{URL}{PLACE}": [httpx.Response(403)]}))


def test_a_server_that_is_busy_is_asked_again() -> None:
    shelf = Shelf({f"{URL}{PLACE}": [httpx.Response(503), a_card()]})

    assert found(shelf).card.name == "Paper"
    with pytest.raises(UnavailableError):
        found(Shelf({f"{URL}{PLACE}": [httpx.Response(503)]}))


def test_with_trust_a_card_counts_only_if_somebody_trusted_has_signed_it() -> None:
    key = trusted_secret("partner", SECRET)
    unsigned = card()
    ours = {**unsigned, "signatures": [signature(unsigned, SECRET, alg="HS256", kid="partner")]}
    tampered = {**ours, "name": "Somebody else"}

    def asked(body: Any) -> Discovered:
        return found(Shelf({f"{URL}{PLACE}": [a_card(body=body)]}), trust=Trust(keys=[key]))

    trusted = asked(ours)

    assert trusted.verification is not None
    assert trusted.verification.verdict is Verdict.VALID
    assert trusted.card.name == "Paper"
    for body, verdict in ((unsigned, Verdict.UNSIGNED), (tampered, Verdict.MISMATCH)):
        with pytest.raises(UntrustedCardError) as caught:
            asked(body)
        assert caught.value.verification.verdict is verdict
