"""What is signed where webhooks are delivered verifies with the keys that the card's function shows."""

import json
from typing import Any

import jwt
import pytest

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.operations.signing_keys import rotate
from a2a_serverless.ports import WebhookPorts
from a2a_serverless.ports.signing_keys import KeyPorts
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.webhooks import key_ports
from a2a_serverless.wiring.world import ports
from tests.integration.functions.deployment import Deployed, read_event

BODY = b'{"task":{"id":"t-1"}}'
CLAIMS = {"jti": "t-1-1", "url": "https://receiver.example/hook"}


@pytest.fixture
def webhooks(deployed: Deployed) -> WebhookPorts:
    """What the function that delivers is given in this environment, made anew as at its start."""
    made = ports(Settings.from_environment()).webhooks
    assert made is not None
    return made


@pytest.fixture
def keys(webhooks: WebhookPorts) -> KeyPorts:
    settings, clock = Settings.from_environment(), SystemClock()
    table = DynamoTable(AwsClients().dynamodb(), settings.tasks_table, clock)
    return key_ports(settings, table, webhooks.seals, clock)


def sign(webhooks: WebhookPorts) -> str:
    assert webhooks.signatures is not None
    return webhooks.signatures.sign(BODY, CLAIMS)


def shown(deployed: Deployed) -> dict[str, Any]:
    """The keys by name."""
    answer = deployed.invoke("card", read_event("card.keys.json"))
    assert answer["statusCode"] == 200
    return {key["kid"]: key for key in json.loads(answer["body"])["keys"]}


def test_a_signature_verifies_with_the_keys_that_are_shown_a_moment_later(
    deployed: Deployed, webhooks: WebhookPorts
) -> None:
    signature = sign(webhooks)

    key = jwt.PyJWK(shown(deployed)[jwt.get_unverified_header(signature)["kid"]])
    decoded = jwt.PyJWS().decode_complete(signature, key, ["ES256"], detached_payload=BODY)
    assert {name: decoded["header"][name] for name in CLAIMS} == CLAIMS


def test_another_process_signs_with_the_same_key(deployed: Deployed, webhooks: WebhookPorts) -> None:
    other = ports(Settings.from_environment()).webhooks
    assert other is not None

    signatures = [sign(webhooks), sign(other)]

    assert len({jwt.get_unverified_header(each)["kid"] for each in signatures}) == 1


def test_the_next_key_is_shown_at_once_and_signs_later(
    deployed: Deployed, webhooks: WebhookPorts, keys: KeyPorts
) -> None:
    before = sign(webhooks)
    ring = rotate(keys)

    assert ring.keys[-1].kid in shown(deployed)
    after = sign(webhooks)
    assert jwt.get_unverified_header(before)["kid"] == jwt.get_unverified_header(after)["kid"]
    assert ring.keys[-1].kid != jwt.get_unverified_header(after)["kid"]


def test_private_halves_lie_sealed_and_are_shown_to_nobody(deployed: Deployed, keys: KeyPorts) -> None:
    ring = rotate(keys)
    assert all(key.sealed.startswith("kms1:") for key in ring.keys if key.sealed)
    answer = deployed.invoke("card", read_event("card.keys.json"))
    assert not any(key.sealed in answer["body"] for key in ring.keys if key.sealed)
    assert all(
        key.keys() == {"kty", "crv", "x", "y", "kid", "use", "alg"} for key in shown(deployed).values()
    )
