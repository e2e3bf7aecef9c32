"""A page of another origin: what its browser asks first, and what it must find on every answer (Fetch, CORS).

A browser hands an answer to a page only if the answer allows it, and of its headers only those it exposes.
`browser.py` beside this file does the same in a real one.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from infra.local.gateway import MAX_BODY_BYTES
from tests.e2e.conftest import BINDINGS, TOKENS
from tests.e2e.stack import PATIENCE, LocalStack

PAGE = "https://page.example"
SENT = {
    "A2A-Version": "1.0",
    "Authorization": f"Bearer {TOKENS['alice']}",
    "Content-Type": "application/json",
}

Ask = tuple[str, str, Mapping[str, Any]]


@contextmanager
def browser(stack: LocalStack) -> Iterator[httpx.Client]:
    """A client that says which page asks."""
    with httpx.Client(base_url=stack.url, headers={"Origin": PAGE}, timeout=PATIENCE) as client:
        yield client


def asks_first(client: httpx.Client, method: str, path: str, headers: Mapping[str, str]) -> None:
    """What a browser asks before it sends such a request, and whether it may then send it."""
    named = ", ".join(sorted(name.lower() for name in headers))
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": named}

    answer = client.options(path, headers=asked)

    assert answer.is_success
    assert answer.headers["access-control-allow-origin"] == "*"
    assert method in answer.headers["access-control-allow-methods"].split(", ")
    # Authorization is never among what `*` would allow.
    allowed = {name.lower() for name in answer.headers["access-control-allow-headers"].split(", ")}
    assert {name.lower() for name in headers} <= allowed


def shown(answer: httpx.Response) -> httpx.Headers:
    """The headers that a browser shows to the page, if it shows it the answer at all."""
    assert answer.headers["access-control-allow-origin"] == "*"
    exposed = {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}
    always = {"cache-control", "content-length", "content-type"}
    return httpx.Headers({name: value for name, value in answer.headers.items() if name in exposed | always})


def spelling(binding: str) -> Ask:
    """A message whose answer streams."""
    parts = [{"text": "spell a b c d"}]
    params = {"message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts}}
    if binding == "HTTP+JSON":
        return "POST", "/message:stream", params
    return "POST", "/", {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}


def following(binding: str, task_id: str) -> Ask:
    if binding == "HTTP+JSON":
        return "POST", f"/tasks/{task_id}:subscribe", {}
    params = {"id": task_id}
    return "POST", "/", {"jsonrpc": "2.0", "id": 2, "method": "SubscribeToTask", "params": params}


def events(client: httpx.Client, ask: Ask, headers: Mapping[str, str], most: int) -> list[tuple[str, Any]]:
    """The first events of a stream with their ids, as a page would read them."""
    method, path, body = ask
    asks_first(client, method, path, headers)
    seen: list[tuple[str, Any]] = []
    with client.stream(method, path, json=body, headers=headers) as answer:
        readable = shown(answer)
        assert (readable["content-type"], readable["a2a-version"]) == ("text/event-stream", "1.0")
        assert readable["x-amzn-requestid"]
        lines = answer.iter_lines()
        while len(seen) < most and (line := next(lines, None)) is not None:
            field, _, value = line.partition(": ")
            if field == "id":
                position = value
            elif field == "data":
                data = json.loads(value)
                seen.append((position, data.get("result", data)))
    return seen


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_page_of_another_origin_streams_and_goes_on_where_it_was(
    workshop: LocalStack, binding: str
) -> None:
    with browser(workshop) as client:
        begun = events(client, spelling(binding), SENT, 3)
        task_id = begun[0][1]["task"]["id"]
        last = begun[-1][0]

        rest = events(client, following(binding, task_id), {**SENT, "Last-Event-ID": last}, 100)

    assert rest[0][0] == last
    assert rest[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    told = [data for _, data in (*begun[1:], *rest[1:])]
    texts = [
        part["text"]
        for data in told
        if "artifactUpdate" in data
        for part in data["artifactUpdate"]["artifact"]["parts"]
    ]
    assert "".join(texts) == "abcd"


STRANGER = {name: value for name, value in SENT.items() if name != "Authorization"}

ANSWERS: Mapping[str, tuple[str, str, Mapping[str, Any], int, str]] = {
    "no such task, JSON-RPC": (
        "POST",
        "/",
        {"headers": SENT, "json": {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}},
        200,
        "content-type",
    ),
    "no such task, HTTP+JSON": ("POST", "/tasks/x:subscribe", {"headers": SENT}, 404, "content-type"),
    "no JSON": ("POST", "/message:stream", {"headers": SENT, "content": b"{"}, 400, "content-type"),
    "no credentials, JSON-RPC": ("POST", "/", {"headers": STRANGER, "json": {}}, 401, "www-authenticate"),
    "no credentials, HTTP+JSON": ("GET", "/tasks", {"headers": STRANGER}, 401, "www-authenticate"),
    "another verb": ("DELETE", "/tasks/x", {"headers": SENT}, 405, "allow"),
    "the card": ("GET", "/.well-known/agent-card.json", {}, 200, "etag"),
    "too long, by the gateway": (
        "POST",
        "/",
        {"headers": SENT, "content": b"x" * (MAX_BODY_BYTES + 1)},
        413,
        "content-type",
    ),
}


@pytest.mark.parametrize(("method", "path", "given", "status", "header"), ANSWERS.values(), ids=ANSWERS)
def test_a_page_of_another_origin_may_read_every_answer(  # noqa: PLR0917  a table
    workshop: LocalStack, method: str, path: str, given: Mapping[str, Any], status: int, header: str
) -> None:
    with browser(workshop) as client:
        answer = client.request(method, path, **given)

    assert answer.status_code == status
    readable = shown(answer)
    assert readable[header]
    assert readable["x-amzn-requestid"]
    assert isinstance(answer.json(), dict)
