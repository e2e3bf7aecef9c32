"""API Gateway's limits and answers, over HTTP, in front of processes that really run."""

import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import Deployment, Function, GatewayResponse, Route
from infra.local.front import Front
from infra.local.gateway import MAX_BODY_BYTES
from infra.local.http import Server, listen
from tests.integration.local.conftest import PATIENCE, Lines, PoolOf

READABLE = {"Access-Control-Allow-Origin": "*"}
OWN_ANSWERS = {
    "DEFAULT_4XX": GatewayResponse(headers=READABLE),
    "DEFAULT_5XX": GatewayResponse(headers=READABLE),
    "MISSING_AUTHENTICATION_TOKEN": GatewayResponse(
        status=404, headers=READABLE, body='{"said": $context.error.messageString}'
    ),
}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


class Caller:
    """Sends requests to the front, each over a connection of its own."""

    def __init__(self, port: int) -> None:
        self._port = port

    def call(self, method: str, target: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()


@pytest.fixture
def caller(pool_of: PoolOf, console: Lines) -> Iterator[Caller]:
    function = Function("ApiFunction", "stack-api", Path("functions/api"), "app.handler", 20, 128, {})
    deployment = Deployment(
        functions={"ApiFunction": function},
        routes=(
            Route("GET", "/health", "ApiFunction"),
            Route("ANY", "/{proxy+}", "ApiFunction", timeout_seconds=2),
        ),
        schedules=(),
        stage="prod",
        binary_media_types=(),
        gateway_responses=OWN_ANSWERS,
        state_machine="",
        state_machine_definition="",
        state={},
        state_parameters={},
    )
    front = Front(deployment, {"ApiFunction": pool_of()}, console)
    server = Server(front.answer, listen(), name="front", max_body=MAX_BODY_BYTES, refusal=front.refuse)
    server.start()
    yield Caller(server.port)
    server.close()


def test_a_request_is_answered_by_the_function_of_its_route(caller: Caller) -> None:
    answer = caller.call("POST", "/message:send", b"12345")

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-amzn-requestid"]
    assert answer.json()["length"] == 5


def test_the_callers_trace_reaches_the_function(caller: Caller) -> None:
    answer = caller.call("GET", "/x", **{"X-Amzn-Trace-Id": "Root=1-caller"})

    assert answer.json()["trace"] == "Root=1-caller"
    assert answer.headers["x-amzn-trace-id"] == "Root=1-caller"


def test_a_method_that_a_resource_lacks_is_answered_by_the_gateway_in_the_templates_words(
    caller: Caller,
) -> None:
    answer = caller.call("DELETE", "/health")

    assert (answer.status, answer.json()) == (404, {"said": "Missing Authentication Token"})
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("what", ["raise", "malformed", "large", "leave"])
def test_a_function_that_does_not_answer_properly_is_a_bad_gateway(caller: Caller, what: str) -> None:
    answer = caller.call("GET", f"/x?do={what}")

    assert (answer.status, answer.json()) == (502, {"message": "Internal server error"})
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_function_that_takes_too_long_is_a_gateway_timeout_and_goes_on(
    caller: Caller, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    answer = caller.call("GET", f"/x?do=wait&for={gate}")
    # Somebody still reads at the other end: the function was not interrupted.
    gate.write_bytes(b"go")

    assert (answer.status, answer.json()) == (504, {"message": "Endpoint request timed out"})


@pytest.mark.parametrize("length", [6 * 1024 * 1024 + 1, 10 * 1024 * 1024 + 1])
def test_a_body_over_lambdas_or_the_gateways_limit_is_too_long(caller: Caller, length: int) -> None:
    answer = caller.call("POST", "/x", b"x" * length)

    assert (answer.status, answer.json()) == (413, {"message": "Request Too Long"})


def test_head_gets_the_headers_and_no_body(caller: Caller) -> None:
    answer = caller.call("HEAD", "/x")

    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) > 0


def test_every_request_is_told_at_the_terminal(caller: Caller, console: Lines) -> None:
    caller.call("DELETE", "/health")

    assert console.next_said().startswith("DELETE /health -> 404 no route ")
