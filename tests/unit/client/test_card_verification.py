"""Whom a card may be believed to come from (specification 8.4.3)."""

import hmac
import json
from collections.abc import Sequence
from typing import Any

import pytest
from a2a.types import AgentCard as OfficialCard
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict, ParseDict

from a2a_serverless.client.card_verification import KeysOutOfReachError, Verdict, Verification, verify
from a2a_serverless.client.trusted_keys import TrustedKey, trusted_jwks, trusted_pem, trusted_secret
from a2a_serverless.protocol.card_signatures import base64url, canonical_as_received
from tests.unit.client.signing import CARD, KEYS, P256, RSA, SECRET, jwk, pem, private_pem, signature, signed

STRANGER = ec.generate_private_key(ec.SECP256R1())
TRUSTED = [trusted_pem("key-1", pem(P256))]
JKU = "https://agent.example/.well-known/jwks.json"


def verdicts(verification: Verification) -> list[Verdict]:
    return [finding.verdict for finding in verification.findings]


def test_a_card_signed_by_a_trusted_key_is_valid() -> None:
    verification = verify(signed(signature(CARD, P256)), TRUSTED)

    assert verification.verdict is Verdict.VALID
    assert verification.card is not None
    assert verification.card.name == "Agent"
    (finding,) = verification.findings
    assert (finding.kid, finding.algorithm, finding.jku) == ("key-1", "ES256", None)


@pytest.mark.parametrize("algorithm", KEYS)
def test_every_kind_of_key_verifies_what_it_signed(algorithm: str) -> None:
    card = signed(signature(CARD, KEYS[algorithm], alg=algorithm))

    assert verify(card, trusted_jwks({"keys": [jwk(algorithm)]})).verdict is Verdict.VALID


def test_a_shared_secret_verifies_what_it_signed() -> None:
    card = signed(signature(CARD, SECRET, alg="HS256", kid="default"))

    assert verify(card, [trusted_secret("default", SECRET)]).verdict is Verdict.VALID
    assert verify(card, [trusted_secret("default", SECRET[::-1])]).verdict is Verdict.MISMATCH


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Other"},
        {"supportedInterfaces": [{**CARD["supportedInterfaces"][0], "url": "https://evil.example"}]},
        {"capabilities": {"streaming": True}},
        {"securityRequirements": [{"schemes": {"bearer": {"list": ["x"]}}}]},
        {"skills": []},
        {"iconUrl": "https://evil.example/icon"},
    ],
)
def test_a_card_that_was_changed_since_is_a_mismatch(changed: dict[str, Any]) -> None:
    verification = verify(signed(signature(CARD, P256), **changed), TRUSTED)

    assert (verification.verdict, verification.card) == (Verdict.MISMATCH, None)


def test_members_in_another_order_and_spelling_are_the_same_card() -> None:
    members = {**CARD, "signatures": [signature(CARD, P256)]}
    other = {name: members[name] for name in reversed(members)}
    other["default_input_modes"] = other.pop("defaultInputModes")

    assert verify(json.dumps(other, indent=3).encode(), TRUSTED).verdict is Verdict.VALID


def test_a_card_without_signatures_is_unsigned() -> None:
    assert verify(signed(), TRUSTED).verdict is Verdict.UNSIGNED
    assert verify(json.dumps(CARD).encode(), TRUSTED).verdict is Verdict.UNSIGNED


def test_a_key_that_nobody_trusts_proves_nothing() -> None:
    card = signed(signature(CARD, STRANGER, kid="stranger"))

    assert verify(card, TRUSTED).verdict is Verdict.UNKNOWN_KEY
    assert verify(card, []).verdict is Verdict.UNKNOWN_KEY


def test_a_stranger_who_uses_the_name_of_a_trusted_key_is_a_mismatch() -> None:
    assert verify(signed(signature(CARD, STRANGER)), TRUSTED).verdict is Verdict.MISMATCH


def test_one_signature_that_verifies_is_enough() -> None:
    old = signature(CARD, STRANGER, kid="old")
    verification = verify(signed(old, signature(CARD, P256)), TRUSTED)

    assert verification.verdict is Verdict.VALID
    assert verdicts(verification) == [Verdict.UNKNOWN_KEY, Verdict.VALID]


def test_of_several_that_do_not_the_most_telling_counts() -> None:
    broken = {"protected": base64url(b"[]"), "signature": "AAAA"}
    verification = verify(signed(broken, signature(CARD, P256, kid="x"), signature(CARD, STRANGER)), TRUSTED)

    assert verification.verdict is Verdict.MISMATCH
    assert verdicts(verification) == [Verdict.MALFORMED, Verdict.UNKNOWN_KEY, Verdict.MISMATCH]


def test_two_trusted_keys_of_one_name_are_ambiguous_unless_they_are_the_same() -> None:
    card = signed(signature(CARD, P256))

    assert verify(card, [*TRUSTED, trusted_pem("key-1", pem(STRANGER))]).verdict is Verdict.AMBIGUOUS
    assert verify(card, [*TRUSTED, *trusted_jwks({"keys": [jwk("ES256")]})]).verdict is Verdict.VALID
    assert verify(card, [*TRUSTED, trusted_pem("key-1", pem(RSA))]).verdict is Verdict.VALID


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "RS256"},
        {"alg": "ES384"},
        {"crit": ["exp"], "exp": 1},
        {"b64": False},
    ],
)
def test_a_key_verifies_by_its_own_algorithms_only(header: dict[str, Any]) -> None:
    said = json.dumps({"alg": "ES256", "kid": "key-1", **header}).encode()
    forged = {"protected": base64url(said), "signature": "AAAA"}

    assert verify(signed(forged), TRUSTED).verdict is Verdict.UNSUPPORTED_ALGORITHM


def test_a_public_key_is_never_taken_for_a_secret() -> None:
    """The attack: HS256 with the public key, which everybody has, as the secret."""
    forged = signature(CARD, SECRET, alg="HS256")
    payload = f"{forged['protected']}.{base64url(b'{}')}".encode()
    forged["signature"] = base64url(hmac.digest(pem(P256), payload, "sha256"))

    assert verify(signed(forged), TRUSTED).verdict is Verdict.UNSUPPORTED_ALGORITHM


@pytest.mark.parametrize(
    "written",
    [
        {"protected": "e30", "signature": "AAAA"},
        {"protected": "!", "signature": "AAAA"},
        {"protected": base64url(b"{"), "signature": "AAAA"},
        {**signature(CARD, P256), "signature": "AA=="},
    ],
)
def test_a_signature_that_is_written_wrongly_is_malformed(written: dict[str, str]) -> None:
    assert verify(signed(written), TRUSTED).verdict is Verdict.MALFORMED


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "no agent card"),
        (b'{"name":"a","name":"b"}', "not JSON"),
        (json.dumps({**CARD, "version": None, "signatures": []}).encode(), "version is required"),
        (
            json.dumps({**CARD, "signatures": [{"protected": "e30"}]}).encode(),
            "signatures[0].signature is required",
        ),
        (json.dumps({**CARD, "novelty": "\ud800"}).encode(), "no canonical form"),
    ],
)
def test_what_is_no_card_is_malformed_and_it_is_said_why(text: bytes, words: str) -> None:
    verification = verify(text, TRUSTED)

    assert verification.verdict is Verdict.MALFORMED
    assert words in verification.detail


def test_a_signature_of_a_length_that_none_has_is_a_mismatch() -> None:
    short = {**signature(CARD, P256), "signature": "AAAA"}

    assert verify(signed(short), TRUSTED).verdict is Verdict.MISMATCH


def test_a_card_of_a_later_protocol_is_verified_with_what_it_has_more() -> None:
    newer = {**CARD, "novelty": {"of": "1.1"}}
    written = signature(CARD, P256, payload=canonical_as_received(newer))

    assert verify(signed(written, novelty={"of": "1.1"}), TRUSTED).verdict is Verdict.VALID
    assert verify(signed(written, novelty={"of": "2.0"}), TRUSTED).verdict is Verdict.MISMATCH


@pytest.mark.parametrize("card", [CARD, {**CARD, "iconUrl": ""}], ids=["full", "with an empty value"])
def test_a_card_signed_by_the_official_sdk_is_valid(card: dict[str, Any]) -> None:
    sign = create_agent_card_signer(
        private_pem(P256), {"alg": "ES256", "kid": "key-1", "jku": None, "typ": "JOSE"}
    )
    official = sign(ParseDict(card, OfficialCard()))

    assert verify(json.dumps(MessageToDict(official)).encode(), TRUSTED).verdict is Verdict.VALID


class Places:
    """Addresses of keys, those that were asked for, and what becomes of asking."""

    def __init__(self, keys: Sequence[TrustedKey] | None, fault: str = "") -> None:
        self.keys = keys
        self.fault = fault
        self.asked: list[str] = []

    def __call__(self, jku: str) -> Sequence[TrustedKey] | None:
        self.asked.append(jku)
        if self.fault:
            raise KeysOutOfReachError(self.fault)
        return self.keys


def test_the_address_of_keys_in_a_signature_is_followed_where_it_is_allowed() -> None:
    card = signed(signature(CARD, P256, jku=JKU))

    allowed, refused = Places(TRUSTED), Places(None)

    assert verify(card, [], allowed).verdict is Verdict.VALID
    assert verify(card, [], refused).verdict is Verdict.UNKNOWN_KEY
    assert verify(card, [], None).verdict is Verdict.UNKNOWN_KEY
    assert allowed.asked == refused.asked == [JKU]


def test_a_key_that_is_trusted_anyway_is_not_looked_up_again() -> None:
    elsewhere = Places([trusted_pem("key-1", pem(STRANGER))])

    assert verify(signed(signature(CARD, STRANGER, jku=JKU)), TRUSTED, elsewhere).verdict is Verdict.MISMATCH
    assert elsewhere.asked == []


def test_a_card_of_a_stranger_who_shows_keys_of_his_own_proves_nothing() -> None:
    """The attack: a card that was signed by anybody, and whose own header says where to find that key."""
    forged = signed(signature(CARD, STRANGER, kid="evil", jku="https://evil.example/jwks.json"))

    assert verify(forged, TRUSTED, Places(None)).verdict is Verdict.UNKNOWN_KEY


def test_keys_that_are_out_of_reach_are_no_verdict() -> None:
    card = signed(signature(CARD, P256, kid="new", jku=JKU))

    with pytest.raises(KeysOutOfReachError, match="no answer"):
        verify(card, TRUSTED, Places(None, fault="no answer"))

    both = signed(signature(CARD, STRANGER, kid="new", jku=JKU), signature(CARD, P256))
    assert verify(both, TRUSTED, Places(None, fault="no answer")).verdict is Verdict.VALID


@pytest.mark.parametrize("jku", [7, "", None, {"x": 1}])
def test_an_address_that_is_none_is_not_followed(jku: Any) -> None:
    said = json.dumps({"alg": "ES256", "kid": "other", "jku": jku}).encode()
    places = Places(TRUSTED)

    verification = verify(signed({"protected": base64url(said), "signature": "AAAA"}), TRUSTED, places)

    assert verification.verdict is Verdict.UNKNOWN_KEY
    assert places.asked in ([], [""])
