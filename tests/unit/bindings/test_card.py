"""The agent card: that it says what is so, and how it is answered (specification 4.4, 8.2, 8.6)."""

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from mangum import Mangum

from a2a_serverless.agent import AgentProfile, AgentProvider, AgentSkill
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.card import CardDesk, CardSource, Sign
from a2a_serverless.bindings.discovery import discovery
from a2a_serverless.bindings.http import CORS
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.card import AgentCard, AgentExtension
from tests.fakes.world import FakeIncidents

PROFILE = AgentProfile(
    name="Fulfilment",
    description="Looks after orders.",
    skills=(AgentSkill(id="orders", name="Orders", description="Finds orders.", tags=("orders",)),),
    version="2.1.0",
    input_modes=("text/plain", "image/*"),
    output_modes=("text/plain",),
    provider=AgentProvider(url="https://shop.example", organization="Shop"),
    documentation_url="https://shop.example/docs",
)
DEPLOYED = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DEPLOYED_IN_WORDS = "Mon, 30 Nov 2026 12:00:00 GMT"
OPEN = Admittance(anonymous=True)
INCIDENTS = FakeIncidents()

Ask = Callable[..., dict[str, Any]]


def source(**changed: Any) -> CardSource:
    return CardSource(
        **{"profile": PROFILE, "policy": Policy(), "admittance": OPEN, "deployed_at": DEPLOYED, **changed}
    )


def asker(*, sign: Sign | None = None, **changed: Any) -> Ask:
    """The card's function, asked the way API Gateway asks it."""
    handler = Mangum(discovery(CardDesk(source(**changed), sign), INCIDENTS), lifespan="off")

    def ask(
        method: str = "GET",
        path: str = "/.well-known/agent-card.json",
        *,
        domain: str = "abc.execute-api",
        **headers: str,
    ) -> dict[str, Any]:
        event = {
            "resource": path,
            "path": path,
            "httpMethod": method,
            "headers": {},
            "multiValueHeaders": {name.replace("_", "-"): [value] for name, value in headers.items()},
            "queryStringParameters": None,
            "multiValueQueryStringParameters": None,
            "pathParameters": None,
            "requestContext": {
                "domainName": domain,
                "stage": "prod",
                "path": f"/prod{path}",
                "requestId": "r",
            },
            "body": None,
            "isBase64Encoded": False,
        }
        answer: dict[str, Any] = handler(event, None)  # type: ignore[arg-type]
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]

    return ask


@pytest.fixture(scope="module")
def ask() -> Ask:
    return asker()


def test_the_card_says_what_the_profile_says_and_where_the_agent_is() -> None:
    assert source().card("https://agent.example/prod").to_dict() == {
        "name": "Fulfilment",
        "description": "Looks after orders.",
        "version": "2.1.0",
        "provider": {"url": "https://shop.example", "organization": "Shop"},
        "documentationUrl": "https://shop.example/docs",
        "supportedInterfaces": [
            {"url": "https://agent.example/prod", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "https://agent.example/prod", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "capabilities": {"streaming": False, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": ["text/plain", "image/*"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "orders", "name": "Orders", "description": "Finds orders.", "tags": ["orders"]}],
    }


def test_capabilities_are_those_the_operations_serve() -> None:
    declared = Policy(capabilities=frozenset({"streaming", "push_notifications", "extended_agent_card"}))

    card = source(policy=declared, extensions=(AgentExtension(uri="https://x.example/1"),)).card("https://a")

    assert card.to_dict()["capabilities"] == {
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": True,
        "extensions": [{"uri": "https://x.example/1"}],
    }


def test_a_scheme_is_announced_where_tokens_are_configured_and_nowhere_else() -> None:
    tokens = (Token("alice", hashlib.sha256(b"secret").digest()),)

    guarded = source(admittance=Admittance(tokens)).card("https://a").to_dict()

    assert guarded["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert guarded["securityRequirements"] == [{"schemes": {"bearer": {}}}]
    assert "securitySchemes" not in source().card("https://a").to_dict()


def test_the_card_and_the_health_check_are_open_to_everybody() -> None:
    tokens = (Token("alice", hashlib.sha256(b"secret").digest()),)
    guarded = asker(admittance=Admittance(tokens))

    assert guarded()["statusCode"] == 200
    assert guarded("GET", "/health")["statusCode"] == 200


def test_the_card_is_answered_with_its_validators(ask: Ask) -> None:
    answer = ask()
    card = AgentCard.from_json(answer["body"])

    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
    assert card.supported_interfaces[0].url == "https://abc.execute-api/prod"
    headers = answer["headers"]
    assert headers["content-type"] == "application/json"
    assert headers["cache-control"] == "public, max-age=300"
    assert headers["last-modified"] == DEPLOYED_IN_WORDS
    assert headers["etag"] == f'"{hashlib.sha256(answer["body"].encode()).hexdigest()[:32]}"'
    assert {name: headers[name.lower()] for name in CORS} == CORS
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/health", "/nowhere"])
@pytest.mark.parametrize("method", ["GET", "OPTIONS", "DELETE"])
def test_whatever_is_answered_over_tls_asks_browsers_never_to_come_by_anything_else(
    ask: Ask, method: str, path: str
) -> None:
    pinned = "strict-transport-security"

    assert ask(method, path, X_Forwarded_Proto="https")["headers"][pinned] == "max-age=31536000"
    assert pinned not in ask(method, path, X_Forwarded_Proto="http")["headers"]


def test_the_address_is_the_configured_one_whatever_is_asked(ask: Ask) -> None:
    configured = asker(admittance=Admittance(anonymous=True, base_url="https://agent.example"))

    assert '"url":"https://agent.example"' in configured(Host="evil.example")["body"]
    assert "evil" not in ask(Host="evil.example", X_Forwarded_Host="evil.example")["body"]


def test_a_deployment_that_does_not_say_when_it_was_made_has_no_such_header() -> None:
    answer = asker(deployed_at=None)(If_Modified_Since="Tue, 01 Dec 2099 00:00:00 GMT")

    assert answer["statusCode"] == 200
    assert "last-modified" not in answer["headers"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_client_that_has_the_card_is_told_so(ask: Ask, method: str) -> None:
    etag = ask()["headers"]["etag"]
    for headers in (
        {"If_None_Match": etag},
        {"If_None_Match": f'"x", W/{etag}'},
        {"If_None_Match": "*"},
        {"If_Modified_Since": DEPLOYED_IN_WORDS},
    ):
        answer = ask(method, **headers)
        assert (answer["statusCode"], answer["body"]) == (304, "")
        assert answer["headers"]["etag"] == etag
        assert answer["headers"]["cache-control"] == "public, max-age=300"
        assert answer["headers"]["last-modified"] == DEPLOYED_IN_WORDS
        assert answer["headers"]["access-control-allow-origin"] == "*"
        assert "content-type" not in answer["headers"]


def test_a_client_with_another_card_gets_this_one(ask: Ask) -> None:
    assert ask(If_None_Match='"x"', If_Modified_Since=DEPLOYED_IN_WORDS)["statusCode"] == 200
    assert ask(If_Modified_Since="Mon, 30 Nov 2026 11:59:59 GMT")["statusCode"] == 200


def test_cards_of_different_addresses_are_different_cards(ask: Ask) -> None:
    one, other = ask(), ask(domain="agent.example")

    assert one["headers"]["etag"] != other["headers"]["etag"]
    assert one["headers"]["etag"] == ask()["headers"]["etag"]


def test_a_head_of_the_card_is_answered_like_a_get_for_the_gateway_to_keep_the_body_back(ask: Ask) -> None:
    """Its Content-Length must be that of the body it has not (RFC 9110, 8.6)."""
    assert ask("HEAD") == ask()


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json/", "/health/"])
def test_a_slash_too_many_is_nothing_and_never_a_redirect_to_whatever_host_was_named(
    path: str, ask: Ask
) -> None:
    answer = ask(path=path, host="evil.example")

    assert answer["statusCode"] == 404
    assert "evil.example" not in str(answer)


@pytest.mark.parametrize("path", ["/.well-known/agent-card.json", "/health"])
def test_a_browser_may_ask_first(ask: Ask, path: str) -> None:
    answer = ask("OPTIONS", path)

    assert (answer["statusCode"], answer["body"]) == (204, "")
    assert "GET" in answer["headers"]["access-control-allow-methods"]
    assert "A2A-Version" in answer["headers"]["access-control-allow-headers"]


def test_the_function_says_that_it_is_well(ask: Ask) -> None:
    answer = ask("GET", "/health")

    assert (answer["statusCode"], answer["body"]) == (200, '{"status":"healthy"}')
    assert answer["headers"]["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/redoc", 404),
        ("POST", "/.well-known/agent-card.json", 405),
    ],
)
def test_the_framework_adds_no_addresses_of_its_own(ask: Ask, method: str, path: str, status: int) -> None:
    answer = ask(method, path)

    assert (answer["statusCode"], answer["body"]) == (status, "")
    assert answer["headers"]["access-control-allow-origin"] == "*"


def test_a_card_that_cannot_be_made_is_an_incident_whose_id_alone_is_told() -> None:
    def out_of_reach(_: AgentCard) -> AgentCard:
        raise RuntimeError("arn:aws:kms:eu-central-1:123456789012:key/secret is disabled")

    answer = asker(sign=out_of_reach)()

    assert answer["statusCode"] == 500
    assert json.loads(answer["body"]) == {
        "error": "Internal",
        "errorId": f"incident-{len(INCIDENTS.reported)}",
    }
    assert isinstance(INCIDENTS.reported[-1][0], RuntimeError)
    assert answer["headers"]["cache-control"] == "no-store"
    assert answer["headers"]["access-control-allow-origin"] == "*"
