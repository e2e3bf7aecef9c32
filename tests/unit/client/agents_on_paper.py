"""An agent in the test's own process: it answers what a test tells it to, and remembers what it was asked."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from a2a_serverless.client import Options, Retries

URL = "https://agent.example"
AT_ONCE = Retries(first_pause=0.0, longest_pause=0.0)

Answering = Callable[[httpx.Request], httpx.Response]


def card(
    *interfaces: Mapping[str, Any], capabilities: Mapping[str, Any] | None = None, url: str = URL
) -> dict[str, Any]:
    """A card with these interfaces, or with both bindings at one address."""
    both = (
        {"url": f"{url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    )
    return {
        "name": "Paper",
        "description": "Answers what it is told to.",
        "version": "1.0.0",
        "supportedInterfaces": list(interfaces or both),
        "capabilities": capabilities if capabilities is not None else {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }


def task(state: str = "TASK_STATE_COMPLETED", task_id: str = "t1", **members: Any) -> dict[str, Any]:
    """A task as JSON."""
    return {"id": task_id, "contextId": "c1", "status": {"state": state}, **members}


def rpc(request: httpx.Request, result: Any) -> httpx.Response:
    """A JSON-RPC reply to a request."""
    asked = json.loads(request.content)
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})


def rpc_error(request: httpx.Request, error: Mapping[str, Any], status: int = 200) -> httpx.Response:
    """A JSON-RPC error reply to a request."""
    asked = json.loads(request.content)
    return httpx.Response(status, json={"jsonrpc": "2.0", "id": asked["id"], "error": error})


@dataclass
class Paper(httpx.AsyncBaseTransport):
    """Answers the requests in turn; the last answer stays. The card is answered beside."""

    answers: list[Answering]
    card: Mapping[str, Any] = field(default_factory=card)
    asked: list[httpx.Request] = field(default_factory=list)
    cards_asked: list[httpx.Request] = field(default_factory=list)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("agent-card.json"):
            self.cards_asked.append(request)
            return httpx.Response(200, json=self.card)
        await request.aread()
        # As it is now: whoever shows other credentials next changes the same object.
        self.asked.append(
            httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        )
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(request)

    def options(self, **given: Any) -> Options:
        """Options of a client that reaches this agent."""
        return Options(**{"transport": self, "retries": AT_ONCE, **given})

    def params(self, number: int = -1) -> dict[str, Any]:
        """The params of a JSON-RPC request."""
        sent: dict[str, Any] = json.loads(self.asked[number].content)["params"]
        return sent
