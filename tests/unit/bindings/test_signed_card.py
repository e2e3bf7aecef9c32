"""The card as it is served where it is signed (specification 8.4)."""

import json
from functools import partial
from typing import Any

import pytest
from a2a.types import AgentCard as OfficialCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from google.protobuf.json_format import ParseDict

from a2a_serverless.adapters.hmac_card_keys import HmacCardKey
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.card import CardDesk
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.client.card_verification import Verdict, verify
from a2a_serverless.client.trusted_keys import trusted_pem, trusted_secret
from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports import Policy
from a2a_serverless.ports.card_signing import CardSigning
from tests.fakes.card_signing import FakeCardKeys, FakeCardSignatures
from tests.unit.bindings.test_card import DEPLOYED_IN_WORDS, source
from tests.unit.client.signing import P256, P384, PemCardKey, pem

GUARDED = Admittance((Token("alice", b"\x00" * 32),), base_url="https://agent.example")
OPEN = Admittance(anonymous=True, base_url="https://agent.example")
EVERYTHING = Policy(capabilities=frozenset({"streaming", "push_notifications"}))
SECRET = b"a secret of at least thirty-two bytes"
NEW, OLD = PemCardKey("new", P256), PemCardKey("old", P384, "ES384")


def desk(signing: CardSigning, **changed: Any) -> CardDesk:
    made = source(**{"admittance": GUARDED, "policy": EVERYTHING, **changed})
    return CardDesk(made, partial(signed, signing))


def signing(*keys: Any, kept: FakeCardSignatures | None = None) -> CardSigning:
    return CardSigning(FakeCardKeys(keys), kept or FakeCardSignatures(), "https://agent.example/keys")


def get(answering: CardDesk, **headers: str) -> HttpResponse:
    given = {name.replace("_", "-"): (value,) for name, value in headers.items()}
    return answering.answer(HttpRequest("GET", "/.well-known/agent-card.json", given))


@pytest.mark.parametrize("admittance", [GUARDED, OPEN], ids=["guarded", "open"])
@pytest.mark.parametrize("capabilities", [EVERYTHING, Policy()], ids=["all capabilities", "none"])
def test_it_verifies_in_every_reading(admittance: Admittance, capabilities: Policy) -> None:
    card = get(desk(signing(NEW), admittance=admittance, policy=capabilities)).body

    assert verify(card, [trusted_pem("new", pem(P256))]).verdict is Verdict.VALID
    verify_officially(card, pem(P256).decode(), ["ES256"])


def verify_officially(card: bytes, key: Any, algorithms: list[str]) -> None:
    verifier = create_signature_verifier(lambda kid, jku: key, algorithms)
    verifier(ParseDict(json.loads(card), OfficialCard()))


def test_what_was_changed_verifies_in_none() -> None:
    card = json.loads(get(desk(signing(NEW))).body)
    forged = json.dumps({**card, "name": "Other"}).encode()

    assert verify(forged, [trusted_pem("new", pem(P256))]).verdict is Verdict.MISMATCH
    with pytest.raises(InvalidSignaturesError):
        verify_officially(forged, pem(P256).decode(), ["ES256"])


def test_while_keys_are_replaced_either_of_them_verifies() -> None:
    card = get(desk(signing(NEW, OLD), admittance=OPEN)).body

    assert len(json.loads(card)["signatures"]) == 2
    for kid, key in (("new", P256), ("old", P384)):
        assert verify(card, [trusted_pem(kid, pem(key))]).verdict is Verdict.VALID


def test_a_shared_secret_signs_as_the_official_sdk_verifies() -> None:
    secret = HmacCardKey("default", SECRET)
    card = get(desk(CardSigning(FakeCardKeys([secret])))).body

    assert verify(card, [trusted_secret("default", SECRET)]).verdict is Verdict.VALID
    verify_officially(card, SECRET, ["HS256"])


def test_its_entity_tag_is_the_same_everywhere_and_until_it_changes() -> None:
    kept = FakeCardSignatures()
    one, other = desk(signing(NEW, kept=kept)), desk(signing(NEW, kept=kept))
    tag = get(one).headers["ETag"]

    assert get(one) == get(other)
    assert get(other, if_none_match=tag).status == 304
    assert get(other, if_modified_since=DEPLOYED_IN_WORDS).status == 304
    assert get(desk(signing(NEW, OLD, kept=kept))).headers["ETag"] != tag


def test_a_key_that_comes_or_goes_is_noticed_by_a_process_that_lives() -> None:
    keys = FakeCardKeys([NEW])
    answering = desk(CardSigning(keys, FakeCardSignatures(), ""), admittance=OPEN)
    assert len(json.loads(get(answering).body)["signatures"]) == 1

    keys.keys = [NEW, OLD]

    assert len(json.loads(get(answering).body)["signatures"]) == 2
