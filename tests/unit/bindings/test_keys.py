"""The public keys: what is shown of each, and how the set is answered (RFC 7517)."""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import jwt
import pytest
from mangum import Mangum

from a2a_serverless.adapters.p256_key_pairs import P256KeyPairs
from a2a_serverless.bindings.card import CardDesk
from a2a_serverless.bindings.discovery import TEXT, discovery
from a2a_serverless.bindings.http import CORS
from a2a_serverless.bindings.keys import KeyDesk
from a2a_serverless.operations.signing_keys import current_ring, published, rotate
from a2a_serverless.ports.public_keys import PublicKey
from a2a_serverless.ports.signing_keys import SigningKey
from tests.fakes.signing import fake_keys
from tests.fakes.world import FakeIncidents
from tests.unit.bindings.test_card import source

PORTS = fake_keys(pairs=P256KeyPairs())
current_ring(PORTS)
KEYS = published(rotate(PORTS), PORTS.clock.now())
INCIDENTS = FakeIncidents()
PUBLIC = {"kty", "crv", "x", "y", "kid", "use", "alg"}

Ask = Callable[..., dict[str, Any]]


def asker(keys: Sequence[SigningKey] | None, card: Sequence[PublicKey] = ()) -> Ask:
    """The card's function, asked for the keys the way API Gateway asks it; None is without webhooks."""
    webhooks = None if keys is None else lambda: keys
    desk = KeyDesk(webhooks, lambda: card) if webhooks or card else None
    handler = Mangum(discovery(CardDesk(source()), INCIDENTS, desk), lifespan="off", text_mime_types=[*TEXT])

    def ask(method: str = "GET", path: str = "/.well-known/jwks.json", **headers: str) -> dict[str, Any]:
        event = {
            "resource": path,
            "path": path,
            "httpMethod": method,
            "headers": {},
            "multiValueHeaders": {name.replace("_", "-"): [value] for name, value in headers.items()},
            "queryStringParameters": None,
            "multiValueQueryStringParameters": None,
            "pathParameters": None,
            "requestContext": {"domainName": "abc", "stage": "prod", "path": f"/prod{path}"},
            "body": None,
            "isBase64Encoded": False,
        }
        answer: dict[str, Any] = handler(event, None)  # type: ignore[arg-type]
        return answer

    return ask


@pytest.fixture(scope="module")
def ask() -> Ask:
    return asker(KEYS)


def test_keys_are_answered_with_their_validator(ask: Ask) -> None:
    answer = ask()

    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
    headers = answer["headers"]
    assert headers["content-type"] == "application/jwk-set+json"
    assert headers["cache-control"] == "public, max-age=300"
    assert headers["etag"] == f'"{hashlib.sha256(answer["body"].encode()).hexdigest()[:32]}"'
    assert {name: headers[name.lower()] for name in CORS} == CORS


def test_every_published_pair_is_shown_by_its_public_half_alone(ask: Ask) -> None:
    shown = json.loads(ask()["body"])

    assert shown.keys() == {"keys"}
    assert [key["kid"] for key in shown["keys"]] == [key.kid for key in KEYS]
    assert all(key.keys() == PUBLIC for key in shown["keys"])
    assert all(key.sealed not in ask()["body"] for key in KEYS)


def test_a_library_reads_the_keys(ask: Ask) -> None:
    keys = jwt.PyJWKSet.from_json(ask()["body"]).keys

    assert [(key.key_id, key.algorithm_name, key.public_key_use) for key in keys] == [
        (key.kid, "ES256", "sig") for key in KEYS
    ]


CARD_KEY = PublicKey.at(bytes(range(64)))


def test_the_keys_of_the_card_are_shown_like_those_of_webhooks() -> None:
    shown = json.loads(asker(KEYS, [CARD_KEY])()["body"])["keys"]

    assert [key["kid"] for key in shown] == [CARD_KEY.kid, *(key.kid for key in KEYS)]
    assert shown[0].keys() == PUBLIC


def test_without_webhooks_the_keys_of_the_card_are_shown_alone() -> None:
    answer = asker(None, [CARD_KEY])()

    assert [key["kid"] for key in json.loads(answer["body"])["keys"]] == [CARD_KEY.kid]
    assert answer["headers"]["cache-control"] == "public, max-age=300"


def test_a_set_that_the_first_key_of_webhooks_is_still_to_join_is_kept_by_nobody() -> None:
    answer = asker([], [CARD_KEY])()

    assert len(json.loads(answer["body"])["keys"]) == 1
    assert answer["headers"]["cache-control"] == "no-store"


def test_a_set_without_keys_is_kept_by_nobody() -> None:
    answer = asker([])()

    assert (answer["statusCode"], answer["body"]) == (200, '{"keys":[]}')
    assert answer["headers"]["cache-control"] == "no-store"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_client_that_has_the_keys_is_told_so(ask: Ask, method: str) -> None:
    etag = ask()["headers"]["etag"]

    answer = ask(method, If_None_Match=etag)

    assert (answer["statusCode"], answer["body"]) == (304, "")
    assert answer["headers"]["etag"] == etag
    assert answer["headers"]["cache-control"] == "public, max-age=300"
    assert ask(method, If_None_Match=asker(KEYS[:1])()["headers"]["etag"])["statusCode"] == 200


def test_a_key_more_is_shown_with_the_next_answer() -> None:
    keys: list[SigningKey] = []
    ask = asker(keys)
    assert json.loads(ask()["body"])["keys"] == []

    keys.append(KEYS[0])

    assert [key["kid"] for key in json.loads(ask()["body"])["keys"]] == [KEYS[0].kid]


def test_a_browser_may_ask_first(ask: Ask) -> None:
    answer = ask("OPTIONS")

    assert (answer["statusCode"], answer["body"]) == (204, "")
    assert "GET" in answer["headers"]["access-control-allow-methods"]


def test_keys_are_read_and_never_written(ask: Ask) -> None:
    assert ask("POST")["statusCode"] == 405
    assert ask(path="/.well-known/jwks.json/")["statusCode"] == 404


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_where_there_are_no_webhooks_keys_have_no_address(method: str) -> None:
    answer = asker(None)(method)

    assert (answer["statusCode"], answer["body"]) == (404, "")
    assert answer["headers"]["access-control-allow-origin"] == "*"
