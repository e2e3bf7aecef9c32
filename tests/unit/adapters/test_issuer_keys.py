"""Keys change, and issuers go away: what is fetched when, and how long it is trusted."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event

import pytest

from a2a_serverless.adapters.https_keys import UnfetchedError
from a2a_serverless.adapters.issuer_keys import IssuerKeys
from a2a_serverless.adapters.pyjwt_tokens import PyjwtTokens
from a2a_serverless.adapters.verification_keys import fetched_from
from a2a_serverless.ports.access import KeysOutOfReachError, TrustedIssuer, UnbelievedTokenError
from tests.fakes.issuers import AUDIENCE, ISSUER, FakeIssuer
from tests.fakes.world import FakeClock

TRUSTED = TrustedIssuer(ISSUER, (AUDIENCE,), ("RS256",))


class Verifier:
    """Callers' tokens over days: each is signed when it is shown."""

    def __init__(self) -> None:
        self.issuer = FakeIssuer()
        keys = IssuerKeys(fetched_from(self.issuer.fetch), self.issuer.clock)
        self.tokens = PyjwtTokens((TRUSTED,), keys, self.issuer.clock)

    def later(self, **time: float) -> None:
        self.issuer.clock.moment += timedelta(**time)

    def rotates(self, kid: str, *, keeps_old: bool = False) -> None:
        old = self.issuer.published
        self.issuer.kid = kid
        self.issuer.published = [self.issuer.jwk(), *(old if keeps_old else ())]

    def believes(self, token: str | None = None) -> bool:
        try:
            return self.tokens.verify(token or self.issuer.token()).subject == "alice"
        except UnbelievedTokenError:
            return False

    def retries_after(self, token: str | None = None) -> float:
        with pytest.raises(KeysOutOfReachError) as out:
            self.tokens.verify(token or self.issuer.token())
        return out.value.retry_after


@pytest.fixture
def verifier() -> Verifier:
    return Verifier()


def test_keys_are_fetched_once_an_hour(verifier: Verifier) -> None:
    for _ in range(59):
        assert verifier.believes()
        verifier.later(minutes=1)
    assert verifier.issuer.fetches == 1

    verifier.later(minutes=1)
    assert verifier.believes()
    assert verifier.issuer.fetches == 2


def test_a_new_key_is_looked_for_at_once(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.later(minutes=1)
    verifier.rotates("two", keeps_old=True)

    assert verifier.believes()
    assert verifier.issuer.fetches == 2


def test_a_new_key_is_looked_for_once_a_minute_at_most_whoever_asks(verifier: Verifier) -> None:
    assert verifier.believes()
    for second in range(180):
        assert not verifier.believes(verifier.issuer.token({"kid": f"made-up-{second}"}))
        verifier.later(seconds=1)

    assert verifier.issuer.fetches == 3


def test_a_key_that_was_withdrawn_is_believed_for_an_hour_at_most(verifier: Verifier) -> None:
    assert verifier.believes()
    old = verifier.issuer.token(exp=verifier.issuer.clock.now().timestamp() + 86400)
    verifier.rotates("two")

    verifier.later(minutes=59)
    assert verifier.believes(old)
    verifier.later(minutes=1)
    assert not verifier.believes(old)


def test_a_token_without_a_kid_finds_a_new_key_too(verifier: Verifier) -> None:
    assert verifier.believes(verifier.issuer.token({"kid": None}))
    verifier.rotates("two")
    verifier.later(minutes=1)

    assert verifier.believes(verifier.issuer.token({"kid": None}))


def test_a_wrong_signature_under_a_known_name_fetches_nothing(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.later(minutes=5)
    token = verifier.issuer.token()

    assert not verifier.believes(f"{token[:-8]}AAAAAAAA")
    assert verifier.issuer.fetches == 1


def test_while_an_issuer_is_down_its_last_keys_serve_for_a_day(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.issuer.down = True

    verifier.later(hours=23, minutes=59)
    assert verifier.believes()
    verifier.later(minutes=1)
    assert 0 < verifier.retries_after() <= 60

    verifier.issuer.down = False
    verifier.later(minutes=1)
    assert verifier.believes()


def test_an_issuer_that_is_down_is_asked_once_a_minute_while_there_are_keys(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.issuer.down = True
    verifier.later(hours=2)
    for _ in range(120):
        assert verifier.believes()
        verifier.later(seconds=1)

    assert verifier.issuer.fetches == 3


def test_without_any_keys_nobody_can_tell_and_it_is_tried_again_after_seconds(verifier: Verifier) -> None:
    verifier.issuer.down = True

    assert verifier.retries_after() == 10
    verifier.later(seconds=4)
    assert verifier.retries_after() == 6
    assert verifier.issuer.fetches == 1

    verifier.issuer.down = False
    verifier.later(seconds=6)
    assert verifier.believes()


def test_a_name_that_is_not_known_cannot_be_told_while_the_issuer_is_down(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.issuer.down = True
    verifier.later(minutes=1)

    assert verifier.retries_after(verifier.issuer.token({"kid": "new"})) == 60
    verifier.later(seconds=30)
    assert verifier.retries_after(verifier.issuer.token({"kid": "new"})) == 30
    assert verifier.believes()


def test_a_key_set_without_a_key_is_no_key_set(verifier: Verifier) -> None:
    assert verifier.believes()
    verifier.issuer.published = [verifier.issuer.jwk(use="enc")]
    verifier.later(hours=2)

    assert verifier.believes()


def test_a_token_whose_claims_are_wrong_is_not_believed_whatever_the_keys(verifier: Verifier) -> None:
    assert verifier.believes()

    assert not verifier.believes(verifier.issuer.token(aud="somebody else"))


def test_many_at_once_fetch_once() -> None:
    begun, fetched = Barrier(8), Event()
    fetches = []

    def fetch(_: TrustedIssuer) -> str:
        fetches.append(1)
        fetched.wait(5)
        return "keys"

    keys = IssuerKeys(fetch, FakeClock())

    def ask() -> str:
        begun.wait(5)
        fetched.set()
        return keys.current(TRUSTED)

    with ThreadPoolExecutor(8) as threads:
        answers = [each.result() for each in [threads.submit(ask) for _ in range(8)]]

    assert (answers, len(fetches)) == (["keys"] * 8, 1)


def test_who_finds_that_another_has_renewed_the_keys_takes_those() -> None:
    sets = iter(["old", "new"])
    clock = FakeClock()
    keys = IssuerKeys(lambda _: next(sets), clock)
    old = keys.current(TRUSTED)
    clock.moment += timedelta(minutes=1)

    assert keys.newer(TRUSTED, old) == "new"
    clock.moment += timedelta(minutes=1)
    assert keys.newer(TRUSTED, old) == "new"


def test_issuers_are_kept_apart() -> None:
    def fetch(issuer: TrustedIssuer) -> str:
        if issuer.issuer == ISSUER:
            raise UnfetchedError("down")
        return issuer.jwks_uri

    keys = IssuerKeys(fetch, FakeClock())

    assert keys.current(TrustedIssuer("b", ("a",), ("RS256",), jwks_uri="https://b/1")) == "https://b/1"
    assert keys.current(TrustedIssuer("b", ("a",), ("RS256",), jwks_uri="https://b/2")) == "https://b/2"
    with pytest.raises(KeysOutOfReachError):
        keys.current(TRUSTED)
