"""The functions as they are, as one ASGI application without a gateway."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from infra.local.template import read_deployment
from tests.integration.infra.declared import ROOT

ENVIRONMENT = {
    "AGENT": "a2a_agents.echo:agent",
    "ANONYMOUS": "allowed",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_SECRET_ACCESS_KEY": "none",
    "BASE_URL": "https://agent.example",
    "CONTENT_BUCKET": "bucket",
    "STREAMING": "on",
    "TASKS_TABLE": "table",
    "TURN_STATE_MACHINE_ARN": "arn",
}
OURS = ("infra.asgi", "functions.card.app", "functions.http_json.app", "functions.jsonrpc.app")


@pytest.fixture(scope="module")
def application() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        # Mangum wants an event loop to be there, and makes one that it never closes if there is none.
        with closing(asyncio.new_event_loop()) as loop:
            asyncio.set_event_loop(loop)
            loaded = importlib.import_module("infra.asgi").app
            asyncio.set_event_loop(None)
        yield loaded
        loaded.close()
        # Other tests load the functions with an environment of their own.
        for name in OURS:
            del sys.modules[name]


def ask(application: Any, method: str, path: str, **given: Any) -> httpx.Response:
    async def exchange() -> httpx.Response:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://forged.example") as client:
            return await client.request(method, path, headers={"A2A-Version": "1.0"}, **given)

    return asyncio.run(exchange())


def test_the_card_names_the_configured_address_and_no_other(application: Any) -> None:
    card = ask(application, "GET", "/.well-known/agent-card.json").json()

    assert {each["url"] for each in card["supportedInterfaces"]} == {"https://agent.example"}
    assert ask(application, "GET", "/health").json() == {"status": "healthy"}


@pytest.mark.usefixtures("application")
def test_every_address_leads_to_the_function_that_the_template_names() -> None:
    deployment = read_deployment(ROOT)
    routes = {
        route.path: f"functions.{deployment.functions[route.function].folder.name}.app.handler"
        for route in deployment.routes
    }

    assert routes == sys.modules["infra.asgi"].HANDLERS


def test_both_bindings_answer(application: Any) -> None:
    called = ask(application, "POST", "/", json={"jsonrpc": "2.0", "id": 1, "method": "Nothing"})
    asked = ask(application, "GET", "/nothing")

    assert called.json()["error"]["code"] == -32601
    assert (asked.status_code, asked.json()["error"]["status"]) == (404, "NOT_FOUND")
    assert asked.headers["access-control-allow-origin"] == "*"
