"""Requests and endpoints for the bindings' tests, each one call away."""

import json
from typing import Any

from a2a_serverless.bindings import http_json, jsonrpc
from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.ports import Caller, Ports
from tests.fakes.ports import fake_ports

ORIGIN = "https://agent.example/prod"
LOCAL = Admittance(local_principal="tester")
HEADERS = {"a2a-version": "1.0"}


def endpoint(ports: Ports | None = None, admittance: Admittance = LOCAL) -> Endpoint:
    """What a binding answers from: fakes, and a door open to one principal."""
    return Endpoint(ports or fake_ports(), admittance)


def caller(name: str = "tester", tenant: str = "") -> Caller:
    """Whoever calls when nothing else is said."""
    return Admittance(local_principal=name).authenticate(request("GET")).caller(tenant, ORIGIN)


def request(
    method: str,
    path: str = "/",
    body: object = b"",
    *,
    headers: dict[str, str] | None = None,
    query: dict[str, list[str]] | None = None,
) -> HttpRequest:
    """A request; a body that is not bytes is printed as JSON."""
    return HttpRequest(
        method=method,
        path=path,
        headers={name.lower(): (value,) for name, value in {**HEADERS, **(headers or {})}.items()},
        query={name: tuple(values) for name, values in (query or {}).items()},
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        origin=ORIGIN,
        request_id="request-1",
    )


def post_rpc(body: object, at: Endpoint | None = None, **asked: Any) -> HttpResponse:
    """The answer to a JSON-RPC body."""
    return plain(jsonrpc.answer(at or endpoint(), request("POST", "/", body, **asked)))


def rest(
    method: str, path: str, body: object = b"", at: Endpoint | None = None, **asked: Any
) -> HttpResponse:
    """The answer of the HTTP+JSON binding."""
    return plain(http_json.answer(at or endpoint(), request(method, path, body, **asked)))


def plain(response: HttpResponse | StreamedResponse) -> HttpResponse:
    """An answer that must have come in one piece."""
    assert isinstance(response, HttpResponse)
    return response


def streamed(response: HttpResponse | StreamedResponse) -> StreamedResponse:
    """An answer that must come piece by piece."""
    assert isinstance(response, StreamedResponse), response
    return response


def parsed(response: HttpResponse | StreamedResponse) -> Any:
    """The JSON of an answer that came in one piece."""
    return json.loads(plain(response).body)


def violations(details: list[dict[str, Any]]) -> dict[str, str]:
    """The fields an error blames, with why."""
    return {each["field"]: each["description"] for found in details[1:] for each in found["fieldViolations"]}
