"""API Gateway's REST proxy integration, version 1 (AWS: Lambda proxy integrations in API Gateway)."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import Deployment, GatewayResponse, Route
from infra.local.gateway import (
    INTERNAL,
    MAX_PRELUDE_BYTES,
    NO_ROUTE,
    TIMED_OUT,
    MalformedAnswer,
    Match,
    Refusal,
    event_of,
    find_route,
    refusal,
    response_of,
    split_prelude,
)
from infra.local.template import read_deployment
from infra.local.wire import Request

ROOT = Path(__file__).resolve().parents[3]
ROUTES = (
    Route("GET", "/.well-known/agent-card.json", "Card"),
    Route("OPTIONS", "/.well-known/agent-card.json", "Card"),
    Route("ANY", "/", "JsonRpc"),
    Route("GET", "/tasks/{id}", "Task"),
    Route("ANY", "/{proxy+}", "HttpJson"),
)


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return read_deployment(ROOT)


@pytest.mark.parametrize(
    ("method", "path", "function", "parameters"),
    [
        ("POST", "/", "JsonRpc", {}),
        ("HEAD", "/", "JsonRpc", {}),
        ("GET", "/.well-known/agent-card.json", "Card", {}),
        ("GET", "/tasks/1", "Task", {"id": "1"}),
        ("GET", "/tasks/1/push", "HttpJson", {"proxy": "tasks/1/push"}),
        ("POST", "/message:send", "HttpJson", {"proxy": "message:send"}),
        ("POST", "/tasks/x:cancel", None, {}),
        ("POST", "/.well-known/agent-card.json", None, {}),
    ],
)
def test_the_most_specific_resource_decides_and_then_its_methods(
    method: str, path: str, function: str | None, parameters: dict[str, str]
) -> None:
    match = find_route(ROUTES, method, path)

    assert (match and match.route.function, dict(match.path_parameters) if match else {}) == (
        function,
        parameters,
    )


def request(**given: Any) -> Request:
    fields: dict[str, Any] = {
        "method": "POST",
        "target": "/message:send?a=1&a=2&b=%C3%A9&empty=",
        "headers": (("Host", "127.0.0.1:8080"), ("X-Twice", "1"), ("X-Twice", "2"), ("User-Agent", "t")),
        "body": b"{}",
        "client": "127.0.0.1",
    }
    return Request(**{**fields, **given})


def event(deployment: Deployment, made: Request) -> dict[str, Any]:
    match = find_route(ROUTES, made.method, made.target.partition("?")[0])
    assert match
    at = datetime(2026, 11, 30, 14, 0, 1, tzinfo=UTC)
    decoded: dict[str, Any] = json.loads(event_of(made, match, deployment, request_id="r-1", at=at))
    return decoded


def test_an_event_says_what_was_asked_and_where(deployment: Deployment) -> None:
    made = event(deployment, request())

    assert made["resource"] == "/{proxy+}"
    assert made["path"] == "/message:send"
    assert made["httpMethod"] == "POST"
    assert made["pathParameters"] == {"proxy": "message:send"}
    assert made["headers"]["X-Twice"] == "2"
    assert made["multiValueHeaders"]["X-Twice"] == ["1", "2"]
    assert made["queryStringParameters"] == {"a": "2", "b": "\u00e9", "empty": ""}
    assert made["multiValueQueryStringParameters"] == {"a": ["1", "2"], "b": ["\u00e9"], "empty": [""]}
    assert (made["body"], made["isBase64Encoded"]) == ("{}", False)


def test_only_the_request_context_knows_the_stage(deployment: Deployment) -> None:
    context = event(deployment, request())["requestContext"]

    assert context["path"] == "/prod/message:send"
    assert context["stage"] == "prod"
    assert context["domainName"] == "127.0.0.1:8080"
    assert context["requestId"] == "r-1"
    assert context["requestTime"] == "30/Nov/2026:14:00:01 +0000"
    assert context["requestTimeEpoch"] == 1796047201000
    assert context["identity"] == {"sourceIp": "127.0.0.1", "userAgent": "t"}


def test_a_request_without_body_and_query_has_null_in_their_place(deployment: Deployment) -> None:
    made = event(deployment, request(method="GET", target="/x", body=b""))

    assert made["body"] is None
    assert made["queryStringParameters"] is None
    assert made["multiValueQueryStringParameters"] is None


@pytest.mark.parametrize(
    ("target", "path", "proxy"),
    [
        ("/messages/a%3Ab%2525", "/messages/a%3Ab%2525", "messages/a%3Ab%2525"),
        ("/messages/a%2Fb", "/messages/a%2Fb", "messages/a%2Fb"),
        ("/tasks/+/%20", "/tasks/+/%20", "tasks/+/%20"),
        ("/tasks/", "/tasks/", "tasks"),
        ("/tasks/?x=1", "/tasks/", "tasks"),
        ("//tasks", "/tasks", "tasks"),
    ],
)
def test_a_path_arrives_as_it_was_sent_and_its_parameter_without_slashes_at_the_ends(
    deployment: Deployment, target: str, path: str, proxy: str
) -> None:
    made = event(deployment, request(target=target))

    assert (made["path"], made["pathParameters"]) == (path, {"proxy": proxy})
    assert made["requestContext"]["path"] == f"/prod{path}"


def test_a_slash_at_the_end_is_the_same_resource() -> None:
    assert find_route(ROUTES, "GET", "/tasks/1/") == find_route(ROUTES, "GET", "/tasks/1")
    assert find_route(ROUTES, "GET", "/.well-known/agent-card.json/") == Match(ROUTES[0], {})


def test_a_body_that_is_no_text_arrives_in_base64(deployment: Deployment) -> None:
    made = event(deployment, request(body=b"\xff\x00"))

    assert made["isBase64Encoded"] is True
    assert base64.b64decode(made["body"]) == b"\xff\x00"


def test_an_answer_becomes_a_response() -> None:
    answer = {
        "statusCode": 201,
        "headers": {"Content-Type": "text/plain", "X-Twice": "0", "Content-Length": "99", "X-Number": 1},
        "multiValueHeaders": {"X-Twice": ["1", "2"]},
        "body": "caf\u00e9",
    }

    response = response_of(json.dumps(answer).encode())

    assert response.status == 201
    assert response.headers == (
        ("Content-Type", "text/plain"),
        ("X-Number", "1"),
        ("X-Twice", "1"),
        ("X-Twice", "2"),
    )
    assert response.body == "caf\u00e9".encode()


def test_a_body_in_base64_is_sent_as_bytes() -> None:
    answer = {"statusCode": "200", "body": base64.b64encode(b"\xff\x00").decode(), "isBase64Encoded": True}

    assert response_of(json.dumps(answer).encode()).body == b"\xff\x00"


@pytest.mark.parametrize(
    "payload",
    [
        b"not json",
        b"[]",
        b"null",
        b'{"body": "no status"}',
        b'{"statusCode": "ok"}',
        b'{"statusCode": 99}',
        b'{"statusCode": 200, "body": {"a": 1}}',
        b'{"statusCode": 200, "headers": ["a"]}',
        b'{"statusCode": 200, "headers": {"A": "b\\r\\nC: d"}}',
        b'{"statusCode": 200, "body": "!", "isBase64Encoded": true}',
    ],
)
def test_an_answer_that_api_gateway_cannot_send_is_malformed(payload: bytes) -> None:
    with pytest.raises(MalformedAnswer):
        response_of(payload)


@pytest.mark.parametrize(
    ("refused", "status", "body"),
    [
        (NO_ROUTE, 404, b'{"error":{"message":"Missing Authentication Token"}}'),
        (TIMED_OUT, 504, b'{"message":"Endpoint request timed out"}'),
        (INTERNAL, 502, b'{"message":"Internal server error"}'),
    ],
)
def test_the_gateways_own_answers_are_in_the_templates_words_or_in_awss(
    refused: Refusal, status: int, body: bytes
) -> None:
    declared = {
        "MISSING_AUTHENTICATION_TOKEN": GatewayResponse(
            status=404, body='{"error":{"message":$context.error.messageString}}'
        ),
        "DEFAULT_5XX": GatewayResponse(headers={"Access-Control-Allow-Origin": "*"}),
    }

    response = refusal(refused, declared, "r-1")

    assert (response.status, response.body) == (status, body)
    assert dict(response.headers)["x-amzn-RequestId"] == "r-1"
    assert ("Access-Control-Allow-Origin" in dict(response.headers)) is (status > 500)


def test_a_streamed_answer_parts_into_head_and_body_once_the_prelude_has_ended() -> None:
    prelude = b'{"statusCode":201,"headers":{"A":"1"},"multiValueHeaders":{"B":["2","3"]},"cookies":["c=4"]}'
    received = prelude + bytes(8) + b"first\0\0"

    split = split_prelude(received)

    assert split is not None
    assert (split[0].status, split[1]) == (201, b"first\0\0")
    assert split[0].headers == (("A", "1"), ("B", "2"), ("B", "3"), ("Set-Cookie", "c=4"))
    assert split_prelude(received[: len(prelude) + 7]) is None


@pytest.mark.parametrize(
    "received", [b"x" * (MAX_PRELUDE_BYTES + 1), b"no JSON" + bytes(8), b'{"headers":{}}' + bytes(8)]
)
def test_a_streamed_answer_without_a_proper_prelude_is_malformed(received: bytes) -> None:
    with pytest.raises(MalformedAnswer):
        split_prelude(received)
