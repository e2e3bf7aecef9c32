"""The card of one caller (specification 3.1.11, 13.3)."""

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import jwt
import pytest

from a2a_serverless.agent import AgentSkill, CardAdditions
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.card import CardSource
from a2a_serverless.bindings.extended_card import ExtendedCards
from a2a_serverless.client.card_verification import Verdict, verify
from a2a_serverless.client.trusted_keys import trusted_pem
from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports import Policy
from a2a_serverless.ports.card_signing import CardSigning
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.card_signatures import canonical, read_base64url, signing_input
from tests.conformance.agent import profile
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused
from tests.fakes.card_signing import FakeCardKeys, FakeCardSignatures
from tests.unit.client.signing import P256, P384, PemCardKey, pem

DECLARED = Policy(capabilities=frozenset({"extended_agent_card"}))
TOKENS = [Token(name, hashlib.sha256(name.encode()).digest()) for name in ("alice", "bob", "carol")]


def own(claims: Mapping[str, str]) -> CardAdditions | None:
    """A skill for each caller but for Carol."""
    name = claims["sub"]
    if name == "carol":
        return None
    skill = AgentSkill(id=f"of-{name}", name=name, description=f"Only for {name}.", tags=("own",))
    return CardAdditions(skills=(skill,), version="1.0.0+own")


def extending(admittance: Admittance | None = None, *, policy: Policy = DECLARED) -> Deployment:
    """A deployment whose callers have cards of their own."""
    let_in = admittance or Admittance(TOKENS, anonymous=True)
    source = CardSource(profile, policy, let_in)
    return Deployment(policy=policy, admittance=let_in, callers_card=ExtendedCards(source, own))


def signing(*keys: PemCardKey) -> Deployment:
    """The same, signed by these keys."""
    deployment = extending()
    signs = CardSigning(FakeCardKeys(keys), FakeCardSignatures(), "https://agent.example/keys")
    source = CardSource(profile, DECLARED, deployment.admittance)
    cards = ExtendedCards(source, own, partial(signed, signs))
    return Deployment(policy=DECLARED, admittance=deployment.admittance, callers_card=cards)


def called_by(connect: Connect, name: str) -> Client:
    return connect(extending()).with_headers(authorization=f"Bearer {name}")


def skills(card: Mapping[str, Any]) -> list[str]:
    return [skill["id"] for skill in card["skills"]]


@requirement("3.1.11:more-than-the-public-card")
def test_the_extended_card_is_a_whole_card_with_what_the_public_one_does_not_show(connect: Connect) -> None:
    deployment = extending()
    public = CardSource(profile, DECLARED, deployment.admittance).card("https://agent.example").to_dict()

    card = connect(deployment).with_headers(authorization="Bearer alice").call("GetExtendedAgentCard")

    assert skills(card) == [*skills(public), "of-alice"]
    assert card["version"] == "1.0.0+own"
    assert card["capabilities"]["extendedAgentCard"] is True
    assert {**card, "skills": public["skills"], "version": public["version"]} == public


@requirement("13.3:by-identity")
def test_each_caller_sees_their_own_card_and_nobody_elses(connect: Connect) -> None:
    assert skills(called_by(connect, "alice").call("GetExtendedAgentCard"))[-1] == "of-alice"
    assert skills(called_by(connect, "bob").call("GetExtendedAgentCard"))[-1] == "of-bob"


@requirement("3.1.11:extended-card-undeclared")
def test_a_card_that_is_not_declared_is_refused_also_where_there_is_one(connect: Connect) -> None:
    client = connect(extending(policy=Policy())).with_headers(authorization="Bearer alice")

    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.call("GetExtendedAgentCard")


@requirement("3.1.11:extended-card-not-configured")
def test_a_caller_who_has_no_card_of_their_own_is_told_so(connect: Connect) -> None:
    with pytest.raises(Refused, match="EXTENDED_AGENT_CARD_NOT_CONFIGURED"):
        called_by(connect, "carol").call("GetExtendedAgentCard")


@requirement("3.1.11:extended-card-not-configured")
def test_a_deployment_that_declares_such_cards_and_has_none_says_so(connect: Connect) -> None:
    with pytest.raises(Refused, match="EXTENDED_AGENT_CARD_NOT_CONFIGURED"):
        connect(Deployment(policy=DECLARED)).call("GetExtendedAgentCard")


@requirement("3.1.11:extended-card-wants-a-caller")
@pytest.mark.parametrize("authorization", [None, "Bearer mallory", "Bearer"])
@pytest.mark.parametrize("anonymous", [True, False])
def test_whoever_does_not_say_who_they_are_is_refused(
    connect: Connect, authorization: str | None, *, anonymous: bool
) -> None:
    deployment = extending(Admittance(TOKENS, anonymous=anonymous))
    client = connect(deployment).with_headers(authorization=authorization)

    answer = client.answer("GetExtendedAgentCard", {})

    assert (answer.status, answer.body) == (401, b'{"error":"Unauthorized"}')
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="a2a"'


@requirement("3.1.11:extended-card-wants-a-caller")
def test_on_ones_own_machine_one_is_known_without_a_credential(connect: Connect) -> None:
    client = connect(extending(Admittance(local_principal="alice")))

    assert skills(client.call("GetExtendedAgentCard"))[-1] == "of-alice"


@requirement("13.3:caching")
def test_a_card_is_for_the_caches_of_its_caller_alone_and_for_a_while(connect: Connect) -> None:
    _, answer = called_by(connect, "alice").respond("GetExtendedAgentCard", {})

    assert answer.headers["Cache-Control"] == "private, max-age=300"
    assert "Authorization" in answer.headers["Vary"].split(", ")


@requirement("8.3.2:tenant-of-the-interface")
def test_the_card_of_a_tenant_says_which_tenant_its_clients_name(connect: Connect) -> None:
    client = called_by(connect, "alice")

    tenants = [each.get("tenant") for each in client.call("GetExtendedAgentCard")["supportedInterfaces"]]
    of_acme = client.call("GetExtendedAgentCard", {"tenant": "acme"})["supportedInterfaces"]

    assert set(tenants) == {None}
    assert {each["tenant"] for each in of_acme} == {"acme"}


def signed_card(connect: Connect, *keys: PemCardKey) -> Any:
    """Alice's card, signed by these keys."""
    client = connect(signing(*keys)).with_headers(authorization="Bearer alice")
    return client.call("GetExtendedAgentCard")


@requirement("8.4.1:canonical-form")
def test_a_signature_is_made_over_the_canonical_form_of_the_card(connect: Connect) -> None:
    card = signed_card(connect, PemCardKey("key-1", P256))
    first, payload = card["signatures"][0], canonical(AgentCard.from_dict(card))

    token = f"{signing_input(first['protected'], payload).decode()}.{first['signature']}"

    assert jwt.PyJWS().decode_complete(token, P256.public_key(), ["ES256"])["payload"] == payload


@requirement("8.4.2:signature")
def test_a_signature_says_how_and_by_which_key_it_was_made(connect: Connect) -> None:
    card = signed_card(connect, PemCardKey("key-1", P256))

    for each in card["signatures"]:
        assert json.loads(read_base64url(each["protected"])) == {
            "alg": "ES256",
            "typ": "JOSE",
            "kid": "key-1",
            "jku": "https://agent.example/keys",
        }


@requirement("8.4.3:several-keys")
def test_while_a_key_is_replaced_either_verifies_a_card(connect: Connect) -> None:
    card = json.dumps(
        signed_card(connect, PemCardKey("new", P256), PemCardKey("old", P384, "ES384"))
    ).encode()

    for kid, key in (("new", P256), ("old", P384)):
        assert verify(card, [trusted_pem(kid, pem(key))]).verdict is Verdict.VALID
