"""The card of one caller: what it is made of, and how caches treat it (specification 3.1.11, 13.3)."""

import json
from dataclasses import replace
from typing import Any

import pytest

from a2a_serverless.agent import AgentProfile, AgentSkill, CardAdditions
from a2a_serverless.bindings import http_json, jsonrpc
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.caller.access import Access
from a2a_serverless.bindings.caller.schemes import ApiKeys, Bearer, Token
from a2a_serverless.bindings.extended_card import ExtendedCards, extended, for_one_caller
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.card_signing import signed
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.errors import ExtendedAgentCardNotConfiguredError, InvalidAgentResponseError
from tests.conformance.wire import whole
from tests.fakes.card_signing import fake_signing
from tests.fakes.ports import FakeIncidents, fake_ports
from tests.unit.bindings.test_card import PROFILE, source

DECLARED = Policy(capabilities=frozenset({"extended_agent_card"}))
ME = Admittance(local_principal="me")
REFUNDS = AgentSkill(id="refunds", name="Refunds", description="Pays back.", tags=("orders",))


def endpoint(given: Any, admittance: Admittance = ME, sign: Any = None) -> Endpoint:
    """An endpoint whose callers' cards are made of what is given."""

    def extend(_: Any) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    made = source(policy=DECLARED, admittance=admittance)
    return Endpoint(fake_ports(policy=DECLARED), admittance, callers_card=ExtendedCards(made, extend, sign))


def get(
    answering: Endpoint, method: str = "GET", path: str = "/extendedAgentCard", **headers: str
) -> HttpResponse:
    given = {name.replace("_", "-"): (value,) for name, value in {"a2a_version": "1.0", **headers}.items()}
    return whole(http_json.answer(answering, HttpRequest(method, path, given, origin="https://a.example")))


def test_skills_are_added_and_one_of_a_public_id_takes_its_place() -> None:
    closer = AgentSkill(id="orders", name="Orders", description="Finds all orders.", tags=("orders",))

    profile = extended(PROFILE, CardAdditions(skills=(REFUNDS, closer)))

    assert list(profile.skills) == [closer, REFUNDS]
    assert replace(profile, skills=PROFILE.skills) == PROFILE


def test_what_else_is_given_is_said_instead() -> None:
    additions = CardAdditions(
        description="More.", version="2.1.0+gold", documentation_url="https://docs.example"
    )

    assert extended(PROFILE, additions) == replace(
        PROFILE, description="More.", version="2.1.0+gold", documentation_url="https://docs.example"
    )


def test_a_profile_is_said_as_a_whole() -> None:
    other = AgentProfile(name="Other", description="Another.", skills=(REFUNDS,))

    assert extended(PROFILE, other) is other


def test_nothing_is_no_card_and_anything_else_is_a_fault_of_the_agents_package() -> None:
    with pytest.raises(ExtendedAgentCardNotConfiguredError):
        extended(PROFILE, None)
    with pytest.raises(InvalidAgentResponseError):
        extended(PROFILE, {"skills": []})


def test_what_goes_wrong_in_the_agents_package_is_an_incident_and_told_to_nobody() -> None:
    answering = endpoint(RuntimeError("hunter2"))

    answer = get(answering)

    incidents = answering.ports.incidents
    assert isinstance(incidents, FakeIncidents)
    assert (answer.status, len(incidents.reported)) == (500, 1)
    assert b"hunter2" not in answer.body


def test_a_client_that_has_its_card_is_told_so() -> None:
    answering = endpoint(CardAdditions(skills=(REFUNDS,)))
    first = get(answering)

    for method in ("GET", "HEAD"):
        answer = get(answering, method, if_none_match=f'"x", {first.headers["ETag"]}')
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["Cache-Control"] == "private, max-age=300"
        assert "Content-Type" not in answer.headers
    assert get(answering, if_none_match='"x"').status == 200
    assert get(answering, "HEAD").headers == first.headers


def test_another_card_and_another_media_type_have_other_entity_tags() -> None:
    tags = {
        get(endpoint(CardAdditions(skills=(REFUNDS,)))).headers["ETag"],
        get(endpoint(CardAdditions(version="3"))).headers["ETag"],
        get(endpoint(CardAdditions(version="3")), accept="application/json").headers["ETag"],
    }

    assert len(tags) == 3


def test_the_headers_of_every_credential_make_a_difference_to_caches() -> None:
    token = Token("alice", b"\x00" * 32)
    access = Access((Bearer((token,)), ApiKeys("X-API-Key", (token,))))
    admittance = Admittance(access=lambda: access)

    answer = for_one_caller(HttpRequest("POST", "/"), HttpResponse(200), admittance)

    assert answer.headers["Vary"] == "Accept, Authorization, Content-Type, x-api-key"


def test_json_rpc_brings_the_card_whatever_its_client_has() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}
    headers = {"a2a-version": ("1.0",), "if-none-match": ("*",)}
    request = HttpRequest("POST", "/", headers, body=json.dumps(call).encode(), origin="https://a.example")

    answer = whole(jsonrpc.answer(endpoint(CardAdditions(skills=(REFUNDS,))), request))

    assert answer.status == 200
    assert json.loads(answer.body)["result"]["skills"][-1]["id"] == "refunds"
    assert answer.headers["Cache-Control"] == "private, max-age=300"
    assert "ETag" not in answer.headers


def test_where_the_public_card_is_signed_so_are_those_of_callers() -> None:
    signing = fake_signing()

    def sign(card: Any) -> Any:
        return signed(signing, card)

    answering = endpoint(CardAdditions(skills=(REFUNDS,)), sign=sign)

    first, second = get(answering), get(answering)

    assert first == second
    assert len(json.loads(first.body)["signatures"]) == 1
    assert (
        json.loads(get(answering, path="/acme/extendedAgentCard").body)["signatures"]
        != json.loads(first.body)["signatures"]
    )
