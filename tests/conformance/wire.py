"""A deployment in memory, called through either binding as its clients would call it.

A test speaks of operations and fields; which envelope or address carries them is decided here, and every
error is held to the specification's table on the way in. Turns run when time passes, that is while somebody
waits.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from a2a_serverless.bindings import http_json, jsonrpc
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.operations.deliveries import deliver
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Caller, Policy, Ports, TurnKey
from a2a_serverless.ports.webhooks import Poke, Webhook, WebhookRequest
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD
from tests.conformance.agent import agent as scripted
from tests.conformance.agent import answer
from tests.fakes.event_source import EventSource
from tests.fakes.ports import FakeClock, FakeExecutions, FakeTable, fake_ports

Fields = Mapping[str, Any]

HEADERS = {"content-type": ("application/json",), "a2a-version": ("1.0",)}

ROWS: Mapping[str, tuple[int, int, str]] = {
    "TASK_NOT_FOUND": (-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": (-32002, 400, "FAILED_PRECONDITION"),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": (-32003, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": (-32004, 400, "FAILED_PRECONDITION"),
    "CONTENT_TYPE_NOT_SUPPORTED": (-32005, 400, "INVALID_ARGUMENT"),
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": (-32007, 400, "FAILED_PRECONDITION"),
    "EXTENSION_SUPPORT_REQUIRED": (-32008, 400, "FAILED_PRECONDITION"),
    "VERSION_NOT_SUPPORTED": (-32009, 400, "FAILED_PRECONDITION"),
    "INVALID_PARAMS": (-32602, 400, "INVALID_ARGUMENT"),
    "INTERNAL_ERROR": (-32603, 500, "INTERNAL"),
    "RATE_LIMITED": (-31429, 429, "RESOURCE_EXHAUSTED"),
}
"""JSON-RPC code, HTTP status and its google.rpc name for each reason (specification 5.4, 9.5, 11.6)."""


AT_THE_DOOR: Mapping[int, tuple[str, bytes]] = {
    401: ("UNAUTHENTICATED", b'{"error":"Unauthorized"}'),
    403: ("PERMISSION_DENIED", b'{"error":"Forbidden"}'),
    503: ("UNAVAILABLE", b'{"error":"Unavailable"}'),
}
"""What whoever is not let in is answered with, over either binding, and what these tests call it."""


class Refused(Exception):
    """An error answer: its reason, its text, what it says about it, and which fields it blames."""

    def __init__(self, message: str, details: Sequence[Fields]) -> None:
        info, *rest = details
        assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
        assert info["domain"] == "a2a-protocol.org"
        self.reason: str = info["reason"]
        self.metadata: Fields = info.get("metadata", {})
        self.message = message
        self.fields = {
            each["field"]: each["description"] for found in rest for each in found.get("fieldViolations", ())
        }
        super().__init__(f"{self.reason}: {message} {self.fields}")


@dataclass
class Deployment:
    """Everything behind the bindings. It streams if its policy declares that it does."""

    clock: FakeClock = field(default_factory=FakeClock)
    policy: Policy = field(default_factory=lambda: Policy(deduplicate=True))
    admittance: Admittance = field(default_factory=lambda: Admittance(local_principal="tester"))
    callers_card: Callable[[Caller], AgentCard] | None = None

    def __post_init__(self) -> None:
        self.executions = FakeExecutions(on_start=self._begin)
        self.table = FakeTable(self.clock)
        self.ports: Ports = fake_ports(
            clock=self.clock,
            table=self.table,
            executions=self.executions,
            policy=self.policy,
            answer=answer,
        )
        self.webhooks: Any = self.ports.webhooks
        """What webhooks need, each part a fake that remembers."""
        self.endpoint = Endpoint(
            self.ports,
            self.admittance,
            streaming="streaming" in self.policy.capabilities,
            callers_card=self.callers_card,
        )

    def _begin(self, turn: TurnKey) -> None:
        """Run the turn as soon as somebody waits, as another process would."""
        self.clock.after(0, lambda: run_turn(self.ports, scripted, turn, lambda: 900.0))

    def let_pass(self, seconds: float) -> None:
        """Let time pass, and with it whatever was begun."""
        self.clock.sleep(seconds)

    def deliver(self) -> list[WebhookRequest]:
        """Tell every webhook what it does not know yet; returns the requests that this took."""
        known = len(self.webhooks.posts.made)
        until = self.clock.now() + timedelta(minutes=5)
        for _, webhook in self.table.all(Webhook):
            deliver(self.ports, Poke(webhook.key), until)
        made: list[WebhookRequest] = self.webhooks.posts.made[known:]
        return made


@dataclass(frozen=True)
class Client:
    """A client of a deployment over one binding. `call` is the binding; the rest is what tests say."""

    binding: str
    deployment: Deployment
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(HEADERS))
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_headers(self, **changed: str | None) -> "Client":
        """The same client sending other headers; None leaves one out."""
        renamed = {name.replace("_", "-"): value for name, value in changed.items()}
        kept = {name: value for name, value in self.headers.items() if name not in renamed}
        given = {name: (value,) for name, value in renamed.items() if value is not None}
        return replace(self, headers={**kept, **given})

    def call(self, method: str, fields: Fields | None = None) -> Any:
        """The result of an operation; raises Refused."""
        return self.respond(method, fields or {})[0]

    def respond(self, method: str, fields: Fields) -> tuple[Any, HttpResponse]:
        """The result of an operation with the whole answer; raises Refused."""
        return self._read(self.answer(method, fields))

    def answer(self, method: str, fields: Fields) -> HttpResponse:
        """The whole answer as it is, refusals included."""
        return whole(self._ask(method, fields))

    def ask_as_it_is(self, request: HttpRequest) -> HttpResponse:
        """The whole answer to any request at all."""
        binding = jsonrpc if self.binding == "JSONRPC" else http_json
        return whole(binding.answer(self.deployment.endpoint, request))

    def open(self, method: str, fields: Fields) -> "Stream":
        """The stream that an operation opens; raises Refused, which only a plain answer can say."""
        response = self._ask(method, fields)
        if isinstance(response, StreamedResponse):
            assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
            return Stream(self.binding, response)
        result, _ = self._read(response)
        raise AssertionError(f"a stream was asked for, and this came: {result}")

    def _ask(self, method: str, fields: Fields) -> HttpResponse | StreamedResponse:
        return (_ask_jsonrpc if self.binding == "JSONRPC" else _ask_http_json)(self, method, fields)

    def _read(self, response: HttpResponse) -> tuple[Any, HttpResponse]:
        if response.status in AT_THE_DOOR:
            raise _turned_away(response)
        return (_read_jsonrpc if self.binding == "JSONRPC" else _read_http_json)(response), response

    def send(self, text: str = "tck-complete-task", *, message_id: str = "", **fields: Any) -> Any:
        """Send a text; `configuration` and `tenant` go beside the message, other fields into it."""
        return self.call("SendMessage", self.message(text, message_id, **fields))

    def stream(self, text: str = "tck-complete-task", *, message_id: str = "", **fields: Any) -> "Stream":
        """Send a text and stream what comes of it; fields go where they go for `send`."""
        return self.open("SendStreamingMessage", self.message(text, message_id, **fields))

    def subscribe(self, task_id: str, **fields: Any) -> "Stream":
        """SubscribeToTask."""
        return self.open("SubscribeToTask", {"id": task_id, **fields})

    def message(self, text: str, message_id: str = "", **fields: Any) -> dict[str, Any]:
        """The request that sends a text, under an id of its own unless one is given."""
        beside: dict[str, Any] = {
            name: fields.pop(name) for name in ("configuration", "tenant") if name in fields
        }
        message = {
            "messageId": message_id or f"message-{self.deployment.ports.identifiers.new()}",
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            **fields,
        }
        return {"message": message, **beside}

    def task(self, text: str = "tck-complete-task", **fields: Any) -> Any:
        """The task that sending a text answers with."""
        return self.send(text, **fields)["task"]

    def get(self, task_id: str, **fields: Any) -> Any:
        """GetTask."""
        return self.call("GetTask", {"id": task_id, **fields})

    def cancel(self, task_id: str, **fields: Any) -> Any:
        """CancelTask."""
        return self.call("CancelTask", {"id": task_id, **fields})

    def list(self, **fields: Any) -> Any:
        """ListTasks."""
        return self.call("ListTasks", fields)


@dataclass
class Stream:
    """An open stream: each frame as it comes, out of its envelope. Time passes while the next is awaited."""

    binding: str
    response: StreamedResponse

    def __post_init__(self) -> None:
        self._events = iter(EventSource(self.response.chunks))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        event = next(self._events)
        if self.binding == "HTTP+JSON":
            return event.data
        assert (event.data["jsonrpc"], event.data["id"]) == ("2.0", "call-1")
        return event.data["result"]

    def close(self) -> None:
        """Leave, as a client whose connection is cut."""
        self.response.chunks.close()  # type: ignore[attr-defined]


def whole(response: HttpResponse | StreamedResponse) -> HttpResponse:
    """An answer with all of its body."""
    if isinstance(response, HttpResponse):
        return response
    return HttpResponse(response.status, response.headers, b"".join(response.chunks))


def _turned_away(response: HttpResponse) -> Refused:
    reason, body = AT_THE_DOOR[response.status]
    assert (response.body, response.headers["Content-Type"]) == (body, "application/json")
    assert response.status != 401 or response.headers["WWW-Authenticate"]
    assert response.status != 503 or int(response.headers["Retry-After"]) > 0
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "a2a-protocol.org"}
    return Refused(body.decode(), [{**info, "reason": reason}])


def _ask_jsonrpc(client: Client, method: str, fields: Fields) -> HttpResponse | StreamedResponse:
    body = json.dumps({"jsonrpc": "2.0", "id": "call-1", "method": method, "params": fields}).encode()
    return jsonrpc.answer(
        client.deployment.endpoint,
        HttpRequest("POST", "/", client.headers, client.query, body, "https://agent.example"),
    )


def _read_jsonrpc(response: HttpResponse) -> Any:
    reply = json.loads(response.body)
    assert reply["jsonrpc"] == "2.0"
    assert response.headers["Content-Type"] == "application/json"
    if "error" not in reply:
        assert (response.status, reply["id"]) == (200, "call-1")
        return reply["result"]
    error = reply["error"]
    refused = Refused(error["message"], error["data"])
    code, status, _ = ROWS[refused.reason]
    assert (error["code"], response.status) == (code, status if status == 429 else 200)
    raise refused


def _ask_http_json(client: Client, method: str, fields: Fields) -> HttpResponse | StreamedResponse:
    operation = OPERATION_OF_METHOD[method]
    left = dict(fields)
    tenant = left.pop("tenant", None)
    path = operation.path
    for name in [name for name in left if f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", quote(str(left.pop(name)), safe=""))
    verb = operation.verbs[0]
    query = {} if verb == "POST" else {name: (_in_query(value),) for name, value in left.items()}
    request = HttpRequest(
        verb,
        f"/{quote(tenant, safe='')}{path}" if tenant is not None else path,
        client.headers,
        {**client.query, **query},
        json.dumps(left).encode() if verb == "POST" else b"",
        "https://agent.example",
    )
    return http_json.answer(client.deployment.endpoint, request)


def _read_http_json(response: HttpResponse) -> Any:
    body = json.loads(response.body)
    if response.status == 200:
        return body
    error = body["error"]
    refused = Refused(error["message"], error["details"])
    _, status, name = ROWS[refused.reason]
    assert (error["code"], error["status"], response.status) == (status, name, status)
    raise refused


def _in_query(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


Connect = Callable[..., Client]
"""Makes a client over the binding under test, of a deployment of its own unless one is given."""
