"""The official client shows who it is by every scheme of the card, to a deployment told of its callers."""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.auth.credentials import CredentialService
from a2a.client.auth.interceptor import AuthInterceptor
from a2a.client.errors import A2AClientError
from a2a.types import Message, Part, Role, SendMessageRequest, Task

from tests.e2e.conftest import BINDINGS
from tests.e2e.issuing import issuing
from tests.e2e.stack import PATIENCE, LocalStack, processes, running
from tests.fakes.issuers import AUDIENCE, FakeIssuer

ASKED_ONCE = 2
"""Requests by which a process learns of an issuer: for its configuration and for its keys."""

OTHER_SECRET = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Deployed:
    """A stack that was told of callers, and the issuer it trusts."""

    stack: LocalStack
    issuer: FakeIssuer


class Wallet(CredentialService):
    """What a client has, by the names that the card gives its schemes."""

    def __init__(self, credentials: Mapping[str, str]) -> None:
        self._credentials = credentials

    async def get_credentials(
        self, security_scheme_name: str, context: ClientCallContext | None
    ) -> str | None:
        return self._credentials.get(security_scheme_name)


def entry(name: str, secret: str) -> dict[str, str]:
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest()}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder: Path = tmp_path_factory.mktemp("access")
    with issuing() as issuer:
        document = {
            "bearer": [entry("ada", "adas-token")],
            "basic": [{**entry("ada", "adas:pässword"), "username": "ada@example.com"}],
            "apiKey": {
                "header": "X-Ada-Key",
                "keys": [{**entry("ada", "adas-key"), "scopes": ["tasks.write"]}],
            },
            "jwt": [
                {
                    "issuer": issuer.name,
                    "audience": AUDIENCE,
                    "algorithms": ["RS256"],
                    "tenantClaim": "org",
                    "claims": ["email"],
                }
            ],
            "requiredScopes": {"CancelTask": ["tasks.write"]},
        }
        file = folder / "callers.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        with running(folder, "--agent", "tests.e2e.told:agent", "--credentials", str(file)) as stack:
            yield Deployed(stack, issuer)


def told(stack: LocalStack, binding: str, wallet: Mapping[str, str], auth: Any = None) -> Task:
    """The task that the official client gets for a message, with these credentials and no others."""

    async def send() -> Task:
        async with httpx.AsyncClient(timeout=PATIENCE, auth=auth) as http:
            card = await A2ACardResolver(http, stack.url).get_agent_card()
            config = ClientConfig(
                httpx_client=http,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
                streaming=False,
            )
            client = ClientFactory(config).create(card, interceptors=[AuthInterceptor(Wallet(wallet))])
            message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text="who am I?")])
            (answer,) = [each async for each in client.send_message(SendMessageRequest(message=message))]
            return answer.task

    return asyncio.run(send())


def caller(task: Task) -> Any:
    return json.loads(task.status.message.parts[0].text)


ADA = {"iss": "principals", "sub": "ada"}


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("wallet", [{"bearer": "adas-token"}, {"apiKey": "adas-key"}])
def test_the_official_client_is_let_in_by_the_schemes_of_the_card(
    deployed: Deployed, binding: str, wallet: dict[str, str]
) -> None:
    assert caller(told(deployed.stack, binding, wallet)) == ADA


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_official_client_is_let_in_by_name_and_password(deployed: Deployed, binding: str) -> None:
    auth = httpx.BasicAuth("ada@example.com", "adas:pässword")

    assert caller(told(deployed.stack, binding, {}, auth)) == ADA


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_official_client_is_let_in_by_a_token_of_an_issuer_that_it_was_sent_to(
    deployed: Deployed, binding: str
) -> None:
    token = deployed.issuer.token(org="acme", email="ann@example.com", sub="ann")

    assert caller(told(deployed.stack, binding, {"oidc": token})) == {
        "iss": deployed.issuer.name,
        "sub": "ann",
        "email": "ann@example.com",
    }


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("wallet", [{}, {"bearer": "adas-key"}, {"apiKey": "adas-token"}, {"oidc": "a.b.c"}])
def test_the_official_client_is_turned_away_without_the_right_credentials(
    deployed: Deployed, binding: str, wallet: dict[str, str]
) -> None:
    with pytest.raises(A2AClientError, match="401"):
        told(deployed.stack, binding, wallet)


@pytest.fixture
def http(deployed: Deployed) -> Iterator[httpx.Client]:
    headers = {"A2A-Version": "1.0"}
    with httpx.Client(base_url=deployed.stack.url, headers=headers, timeout=PATIENCE) as client:
        yield client


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_one_person_sees_the_same_tasks_by_every_credential(deployed: Deployed, http: httpx.Client) -> None:
    task = told(deployed.stack, "JSONRPC", {"bearer": "adas-token"})

    by_key = http.get(f"/tasks/{task.id}", headers={"x-ada-key": "adas-key"})
    by_password = http.get(f"/tasks/{task.id}", auth=httpx.BasicAuth("ada@example.com", "adas:pässword"))
    by_ann = http.get(f"/tasks/{task.id}", headers=bearing(deployed.issuer.token(org="acme")))

    assert by_key.json() == by_password.json()
    assert (by_key.status_code, by_ann.status_code) == (200, 404)


def test_a_token_of_a_tenant_reaches_that_tenant_alone(deployed: Deployed, http: httpx.Client) -> None:
    headers = bearing(deployed.issuer.token(org="acme"))
    task = told(deployed.stack, "HTTP+JSON", {"oidc": deployed.issuer.token(org="acme")})

    assert [
        http.get(path, headers=headers).status_code
        for path in (
            f"/tasks/{task.id}",
            f"/acme/tasks/{task.id}",
            f"/globex/tasks/{task.id}",
            "/globex/tasks",
        )
    ] == [200, 200, 404, 403]
    assert http.get("/tasks", headers=bearing(deployed.issuer.token())).status_code == 401


def test_what_asks_for_a_scope_is_forbidden_without_it(deployed: Deployed, http: httpx.Client) -> None:
    task = told(deployed.stack, "JSONRPC", {"bearer": "adas-token"})

    forbidden = http.post(f"/tasks/{task.id}:cancel", headers=bearing("adas-token"))
    allowed = http.post(f"/tasks/{task.id}:cancel", headers={"X-Ada-Key": "adas-key"})

    assert (forbidden.status_code, forbidden.text) == (403, '{"error":"Forbidden"}')
    assert forbidden.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="tasks.write"'
    assert allowed.json()["error"]["details"][0]["reason"] == "TASK_NOT_CANCELABLE"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/"),
        ("GET", "/"),
        ("POST", "/message:send"),
        ("GET", "/tasks"),
        ("GET", "/extendedAgentCard"),
        ("GET", "/artifacts/t/a/0"),
        ("PUT", "/no/such/address"),
    ],
)
def test_every_door_gives_strangers_the_same_answer(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path, content=b"\xff{not json", headers={"Content-Type": "text/x"})

    assert (answer.status_code, answer.text) == (401, '{"error":"Unauthorized"}')
    assert answer.headers["www-authenticate"] == (
        'Bearer realm="a2a", Basic realm="a2a", charset="UTF-8", ApiKey realm="a2a", header="X-Ada-Key"'
    )
    assert answer.headers["access-control-allow-origin"] == "*"


def test_an_issuer_may_change_its_keys_and_is_not_asked_for_each_token(
    deployed: Deployed, http: httpx.Client
) -> None:
    issuer = deployed.issuer
    assert http.get("/tasks", headers=bearing(issuer.token(org="acme"))).status_code == 200
    asked = issuer.fetches
    for _ in range(10):
        assert http.get("/tasks", headers=bearing(issuer.token(org="acme"))).status_code == 200

    # Where the process before is not free again yet another one answers, which asks once for itself.
    others = len(processes(deployed.stack, "http_json")) - 1
    assert issuer.fetches - asked <= others * ASKED_ONCE


def test_the_card_and_the_health_check_are_open_and_tell_of_every_scheme(http: httpx.Client) -> None:
    card = http.get("/.well-known/agent-card.json").json()

    assert list(card["securitySchemes"]) == ["bearer", "oidc", "basic", "apiKey"]
    assert http.get("/health").json() == {"status": "healthy"}
