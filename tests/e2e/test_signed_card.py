"""A signed card and a caller's own one, as the official client and our command find them."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import AgentCard, GetExtendedAgentCardRequest
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from jwt import PyJWKClient

from tests.e2e.conftest import BINDINGS, TOKENS
from tests.e2e.stack import PATIENCE, ROOT, LocalStack, running

CARD, KEYS = "/.well-known/agent-card.json", "/.well-known/jwks.json"
KEY = "arn:aws:kms:us-east-1:123456789012:key/"
TWO_KEYS = ("--parameter", f"CardSigningKeys={KEY}new,{KEY}old")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The fulfilment agent with a signed card, and a caller who has a token."""
    token = f"alice={TOKENS['alice']}"
    with running(tmp_path_factory.mktemp("signed"), "--sign-card", "--token", token) as stack:
        yield stack


def by_the_keys_of(stack: LocalStack) -> Any:
    """The official verifier, trusting what the stack publishes."""
    keys = PyJWKClient(stack.url + KEYS)
    return create_signature_verifier(lambda kid, jku: keys.get_signing_key(kid or "").key, ["ES256"])


def get(stack: LocalStack, path: str, **headers: str) -> httpx.Response:
    return httpx.get(stack.url + path, headers=headers, timeout=PATIENCE)


def verified(stack: LocalStack, *arguments: str, status: int = 0) -> Any:
    """What our command says of a card."""
    command = [sys.executable, "-m", "a2a_serverless.cli", "card", "verify", *arguments, "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    return json.loads(ended.stdout)


def test_the_official_client_verifies_the_card_and_refuses_another(signed: LocalStack) -> None:
    verify = by_the_keys_of(signed)

    async def resolved() -> AgentCard:
        async with httpx.AsyncClient() as http:
            return await A2ACardResolver(http, signed.url).get_agent_card(signature_verifier=verify)

    card = asyncio.run(resolved())
    assert card.name == "Fulfilment Agent"

    card.supported_interfaces[0].url = "https://evil.example"
    with pytest.raises(InvalidSignaturesError):
        verify(card)


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_official_client_gets_a_card_of_its_own_that_is_signed_too(
    signed: LocalStack, binding: str
) -> None:
    async def extended() -> AgentCard:
        headers = {"Authorization": f"Bearer {TOKENS['alice']}"}
        async with httpx.AsyncClient(headers=headers) as http:
            public = await A2ACardResolver(http, signed.url).get_agent_card()
            config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])
            client = ClientFactory(config).create(public)
            return await client.get_extended_agent_card(
                GetExtendedAgentCardRequest(), signature_verifier=by_the_keys_of(signed)
            )

    assert [skill.id for skill in asyncio.run(extended()).skills] == [
        "order_investigation",
        "replacement_policy",
    ]


def test_no_stranger_sees_the_card_of_a_caller(signed: LocalStack) -> None:
    answer = get(signed, "/extendedAgentCard", **{"A2A-Version": "1.0"})

    assert (answer.status_code, answer.content) == (401, b'{"error":"Unauthorized"}')
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="a2a"'


def test_every_process_shows_the_same_bytes(signed: LocalStack) -> None:
    before = get(signed, CARD)

    signed.replace_functions()

    after = get(signed, CARD)
    assert (after.content, after.headers["ETag"]) == (before.content, before.headers["ETag"])
    assert get(signed, CARD, **{"If-None-Match": before.headers["ETag"]}).status_code == 304


def test_our_command_verifies_the_card_by_keys_that_it_was_told_to_trust(signed: LocalStack) -> None:
    host = urlsplit(signed.url).netloc

    assert verified(signed, signed.url, "--jwks", signed.url + KEYS)["verdict"] == "valid"
    assert verified(signed, signed.url, "--trust-jku", host)["verdict"] == "valid"
    assert verified(signed, signed.url, "--trust-jku", "agent.example", status=11)["verdict"] == "unknown-key"


def test_two_keys_are_published_and_each_signs(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("two-keys"), *TWO_KEYS) as stack:
        keys = [key["kid"] for key in get(stack, KEYS).json()["keys"]]
        card = get(stack, CARD).json()

        assert len(set(keys)) == len(card["signatures"]) == 2
        assert [
            finding["kid"] for finding in verified(stack, stack.url, "--jwks", stack.url + KEYS)["signatures"]
        ] == keys


def test_a_card_is_not_signed_unless_that_is_asked_for(fulfilment: LocalStack) -> None:
    assert "signatures" not in get(fulfilment, CARD).json()
