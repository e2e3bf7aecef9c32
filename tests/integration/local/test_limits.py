"""Streams against the limits of time: the function's, before which they close themselves, and the gateway's.

Both are fifteen minutes on AWS; here they are seconds. Whichever ends a stream, its reader goes on from the
last event it has seen and misses nothing.
"""

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from infra.local.aws import ROOT
from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.options import parse
from infra.local.stack import Stack
from infra.local.template import read_deployment
from tests.integration.local.conftest import PATIENCE

WORDS = [f"word-{number}" for number in range(100)]
"""Spelled one every twentieth of a second: longer than one stream lasts here."""

FUNCTION_SECONDS = 13.0
"""Ten of which are kept back for closing."""

GATEWAY_SECONDS = 3.0


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    """The template's, with little time for JSON-RPC in its function and for HTTP+JSON at the gateway."""
    declared = read_deployment(ROOT)
    functions = {
        name: replace(function, timeout_seconds=FUNCTION_SECONDS)
        if function.folder.name == "jsonrpc"
        else function
        for name, function in declared.functions.items()
    }
    routes = tuple(
        replace(route, timeout_seconds=GATEWAY_SECONDS) if route.path == "/{proxy+}" else route
        for route in declared.routes
    )
    return replace(declared, functions=functions, routes=routes)


class Said(Console):
    """A console that keeps its lines."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="module")
def said() -> Said:
    return Said()


@pytest.fixture(scope="module")
def stack(deployment: Deployment, said: Said) -> Iterator[Stack]:
    made = Stack(deployment, parse(["--port", "0", "--agent", "tests.e2e.agents:agent"]), said)
    made.start()
    made.wait_until_ready()
    yield made
    made.close()
    said.close()


@dataclass(frozen=True)
class Read:
    """What came of one stream: whole events with their positions, what followed the last, how it ended."""

    events: Sequence[tuple[int, Any]]
    rest: bytes
    cut_off: bool

    @property
    def position(self) -> int:
        return self.events[-1][0]

    @property
    def ended(self) -> bool:
        status = self.events[-1][1].get("statusUpdate", {}).get("status", {})
        return bool(status.get("state") == "TASK_STATE_COMPLETED")


def read(stack: Stack, path: str, body: object, **headers: str) -> Read:
    """Read a stream to its end, whatever ends it."""
    host = stack.url.removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(host, timeout=PATIENCE)) as connection:
        named = {"Content-Type": "application/json", "A2A-Version": "1.0", **headers}
        connection.request("POST", path, json.dumps(body) if body else None, named)
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "text/event-stream"
        try:
            received, cut_off = response.read(), False
        except http.client.IncompleteRead as incomplete:
            received, cut_off = incomplete.partial, True
    *blocks, rest = received.split(b"\n\n")
    fields = [dict(line.split(": ", 1) for line in block.decode().split("\n")) for block in blocks]
    said = [(int(each["id"]), json.loads(each["data"])) for each in fields if "data" in each]
    return Read([(position, data.get("result", data)) for position, data in said], rest, cut_off)


def message(name: str) -> Mapping[str, Any]:
    parts = [{"text": " ".join(["spell", *WORDS])}]
    return {"message": {"messageId": name, "role": "ROLE_USER", "parts": parts}}


def gone_on_with(begun: Read, follow: Callable[[str, int], Read]) -> Sequence[Read]:
    """The stream and those that go on with it, each from the last event before, until the task has ended."""
    reads = [begun]
    task_id = begun.events[0][1]["task"]["id"]
    while not reads[-1].ended:
        reads.append(follow(task_id, reads[-1].position))
        assert reads[-1].events[0][0] == reads[-2].position
    told = [event for each in reads for event in each.events[1:]]
    assert told == follow(task_id, begun.events[0][0]).events[1:]
    updates = [data["artifactUpdate"]["artifact"] for _, data in told if "artifactUpdate" in data]
    assert "".join(part["text"] for update in updates for part in update["parts"]) == "".join(WORDS)
    return reads


def test_a_stream_closes_itself_before_its_function_is_killed_and_is_gone_on_with(
    stack: Stack, said: Said
) -> None:
    def call(method: str, params: object, **headers: str) -> Read:
        return read(stack, "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **headers)

    def follow(task_id: str, position: int) -> Read:
        return call("SubscribeToTask", {"id": task_id}, **{"Last-Event-ID": str(position)})

    reads = gone_on_with(call("SendStreamingMessage", message("closes itself")), follow)

    assert len(reads) > 1
    assert [(each.rest, each.cut_off) for each in reads] == [(b"", False)] * len(reads)
    assert [line for line in said.lines if "timed out" in line] == []


def test_a_stream_that_the_gateway_cuts_off_is_gone_on_with(stack: Stack, said: Said) -> None:
    def follow(task_id: str, position: int) -> Read:
        return read(stack, f"/tasks/{task_id}:subscribe", None, **{"Last-Event-ID": str(position)})

    first, *others = gone_on_with(read(stack, "/message:stream", message("is cut off")), follow)

    assert first.cut_off
    assert not others[-1].cut_off
    assert "an answer reached a time limit of the gateway and was cut off" in said.lines
