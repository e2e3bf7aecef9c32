"""Addresses, media types and errors of HTTP+JSON (specification 11)."""

import hashlib
from typing import Any

import pytest

from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.http import MAX_BODY
from a2a_serverless.bindings.routes import ROUTES, find
from a2a_serverless.protocol.operations import OPERATIONS
from tests.fakes.ports import fake_ports
from tests.unit.bindings.asking import endpoint, parsed, request, rest, violations

A2A = "application/a2a+json"
JSON = "application/json"
MESSAGE = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
IMMEDIATELY = {"configuration": {"returnImmediately": True}}


def reason(error: dict[str, Any]) -> str:
    found: str = error["error"]["details"][0]["reason"]
    return found


# --- addresses -------------------------------------------------


def test_every_operation_has_its_address_with_and_without_a_tenant() -> None:
    for operation in OPERATIONS:
        segments = operation.path.replace("{id}", "i-1").replace("{taskId}", "t-1").strip("/").split("/")
        plain, prefixed = find(segments), find(["acme", *segments])
        assert plain is not None
        assert prefixed is not None
        for verb in operation.verbs:
            assert plain.operations[verb] is operation
            assert prefixed.operations[verb] is operation
        assert prefixed.fields == {"tenant": "acme", **plain.fields}
        assert set(plain.fields) == {name for name in ("id", "taskId") if f"{{{name}}}" in operation.path}


def test_no_two_routes_share_an_address() -> None:
    assert len({route.path for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/nothing",
        "/tasks/",
        "/tasks//",
        "//tasks",
        "/tasks/x/y",
        "/tasks/:cancel",
        "/message",
        "/message:",
        "/message:send/",
        "/v1/acme/tasks",
        "/artifacts",
        "/artifacts/x",
        "/acme",
        "/.well-known/agent-card.json/x",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
def test_there_is_nothing_at_any_other_address(method: str, path: str) -> None:
    response = rest(method, path)

    assert response.status == 404
    assert reason(parsed(response)) == "METHOD_NOT_FOUND"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/message:send", "POST, OPTIONS"),
        ("HEAD", "/message:send", "POST, OPTIONS"),
        ("POST", "/tasks", "GET, HEAD, OPTIONS"),
        ("DELETE", "/tasks/t", "GET, HEAD, OPTIONS"),
        ("GET", "/tasks/t:cancel", "POST, OPTIONS"),
        ("PUT", "/tasks/t:subscribe", "POST, GET, OPTIONS"),
        ("HEAD", "/tasks/t:subscribe", "POST, GET, OPTIONS"),
        ("DELETE", "/tasks/t/pushNotificationConfigs", "POST, GET, HEAD, OPTIONS"),
        ("POST", "/acme/tasks/t/pushNotificationConfigs/c", "GET, DELETE, HEAD, OPTIONS"),
        ("POST", "/extendedAgentCard", "GET, HEAD, OPTIONS"),
    ],
)
def test_an_address_asked_with_another_verb_says_which_it_takes(method: str, path: str, allowed: str) -> None:
    response = rest(method, path)

    assert (response.status, response.headers["Allow"]) == (405, allowed)


@pytest.mark.parametrize("path", ["/tasks/t-1%3Acancel", "/tasks/t-1:cancel", "/tasks/t%2D1:cancel"])
def test_an_address_is_decoded_once(path: str) -> None:
    response = rest("POST", path)

    assert reason(parsed(response)) == "TASK_NOT_FOUND"


@pytest.mark.parametrize(
    "path", ["/tasks/a%252Fb", "/tasks/a%2Fb", "/tasks/a%20b", "/tasks/%00", "/tasks/%FF"]
)
def test_an_id_that_cannot_be_one_is_refused_by_name(path: str) -> None:
    response = rest("GET", path)

    assert response.status == 400
    assert list(violations(parsed(response)["error"]["details"])) == ["id"]


@pytest.mark.parametrize("verb", ["POST", "GET"])
def test_a_subscription_may_be_asked_for_with_either_verb(verb: str) -> None:
    assert reason(parsed(rest(verb, "/tasks/t:subscribe"))) == "UNSUPPORTED_OPERATION"


def test_a_head_is_a_get_without_its_body() -> None:
    got, head = rest("GET", "/tasks"), rest("HEAD", "/tasks")

    assert (head.status, head.headers, head.body) == (got.status, got.headers, b"")
    assert rest("HEAD", "/tasks/none").status == 404
    assert rest("HEAD", "/tasks/none").body == b""


def test_a_browser_may_ask_first_at_any_address_without_credentials() -> None:
    response = http_json.answer(endpoint(admittance=Admittance()), request("OPTIONS", "/any/thing"))

    assert response.status == 204
    assert "DELETE" in response.headers["Access-Control-Allow-Methods"]
    assert "Last-Event-ID" in response.headers["Access-Control-Allow-Headers"]


def test_nothing_tells_a_stranger_which_addresses_there_are() -> None:
    guarded = endpoint(admittance=Admittance((Token("a", hashlib.sha256(b"secret").digest()),)))

    answers = [rest(method, path, at=guarded) for method, path in (("GET", "/tasks"), ("PUT", "/nothing"))]

    assert {answer.status for answer in answers} == {401}
    assert {answer.headers["WWW-Authenticate"] for answer in answers} == {'Bearer realm="a2a"'}
    assert answers[0].body == answers[1].body
    assert answers[0].body == b'{"error":"Unauthorized"}'


# --- media types -------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "accept", "expected"),
    [
        (JSON, None, JSON),
        (JSON, "*/*", JSON),
        (f"{JSON}; charset=utf-8", None, JSON),
        (A2A, None, A2A),
        (None, None, A2A),
        (None, "*/*", A2A),
        (None, JSON, JSON),
        (None, f"text/html, {JSON};q=0.9", JSON),
        (JSON, A2A, A2A),
        (A2A, JSON, JSON),
        (None, f"{A2A}, {JSON}", A2A),
    ],
)
def test_an_answer_has_the_media_type_of_its_request(
    content_type: str | None, accept: str | None, expected: str
) -> None:
    headers = {name: value for name, value in (("Content-Type", content_type), ("Accept", accept)) if value}

    assert rest("GET", "/tasks", headers=headers).headers["Content-Type"] == expected


@pytest.mark.parametrize(
    ("accept", "expected"), [(None, JSON), ("*/*", JSON), (JSON, JSON), (A2A, A2A), (f"{A2A};q=1", A2A)]
)
def test_an_error_is_plain_json_unless_the_protocols_own_is_wanted(accept: str | None, expected: str) -> None:
    headers = {"Content-Type": A2A, **({"Accept": accept} if accept else {})}

    assert rest("GET", "/tasks/none", headers=headers).headers["Content-Type"] == expected


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded"]
)
def test_a_body_of_another_type_is_refused(content_type: str) -> None:
    response = rest("POST", "/message:send", MESSAGE, headers={"Content-Type": content_type})

    assert response.status == 415
    assert parsed(response)["error"]["code"] == 415
    assert reason(parsed(response)) == "CONTENT_TYPE_NOT_SUPPORTED"


def test_the_type_of_no_body_does_not_matter() -> None:
    for verb, path in (("POST", "/tasks/t:cancel"), ("GET", "/tasks/t")):
        assert reason(parsed(rest(verb, path, headers={"Content-Type": "text/plain"}))) == "TASK_NOT_FOUND"


# --- bodies -------------------------------------------------


def test_a_body_that_is_no_json_is_a_parse_error() -> None:
    for body in (b"{", b"\xff", b'{"a":1,"a":2}'):
        response = rest("POST", "/message:send", body)
        assert (response.status, reason(parsed(response))) == (400, "JSON_PARSE_ERROR")


@pytest.mark.parametrize("body", [[], "text", 7])
def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    response = rest("POST", "/message:send", body)

    assert response.status == 400
    assert violations(parsed(response)["error"]["details"]) == {"": "must be an object"}


def test_a_body_beyond_the_limit_is_refused() -> None:
    response = rest("POST", "/message:send", b" " * (MAX_BODY + 1))

    assert (response.status, parsed(response)["error"]["code"]) == (413, 413)


def test_a_message_in_no_body_is_missed_however_nothing_is_said() -> None:
    for body in (b"", b"{}", b"null"):
        response = rest("POST", "/message:send", body)

        assert response.status == 400
        assert violations(parsed(response)["error"]["details"]) == {"message": "is required"}


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"metadata":{"why":"x"}}', b'{"id":"t"}'])
def test_canceling_needs_no_body_and_takes_one(body: bytes) -> None:
    assert reason(parsed(rest("POST", "/tasks/t:cancel", body))) == "TASK_NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "body", "blamed"),
    [
        ("/tasks/t:cancel", {"id": "another"}, "id"),
        ("/acme/tasks/t:cancel", {"tenant": "another"}, "tenant"),
        ("/acme/message:send", {**MESSAGE, "tenant": "another"}, "tenant"),
        ("/tasks/t/pushNotificationConfigs", {"taskId": "another"}, "taskId"),
        ("/tasks/t/pushNotificationConfigs", {"task_id": "another"}, "taskId"),
        ("/acme/tasks/t/pushNotificationConfigs", {"taskId": "t", "tenant": "another"}, "tenant"),
    ],
)
def test_a_body_may_not_contradict_its_address(path: str, body: object, blamed: str) -> None:
    response = rest("POST", path, body)

    assert violations(parsed(response)["error"]["details"]) == {blamed: "must be what the address says"}


@pytest.mark.parametrize("body", [{"id": ""}, {"id": "t", "tenant": ""}, {"tenant": "acme"}, {"id": None}])
def test_a_body_may_repeat_its_address_or_say_nothing_about_it(body: object) -> None:
    response = rest("POST", "/acme/tasks/t:cancel", body)

    assert reason(parsed(response)) == "TASK_NOT_FOUND"


# --- queries -------------------------------------------------


@pytest.mark.parametrize(
    ("query", "blamed"),
    [
        ({"pageSize": ["abc"]}, "pageSize"),
        ({"pageSize": ["1.5"]}, "pageSize"),
        ({"pageSize": ["+5"]}, "pageSize"),
        ({"pageSize": [" 5"]}, "pageSize"),
        ({"pageSize": ["5", "6"]}, "pageSize"),
        ({"pageSize": ["9223372036854775808"]}, "pageSize"),
        ({"pageSize": ["0"]}, "pageSize"),
        ({"pageSize": [""]}, "pageSize"),
        ({"historyLength": ["-1"]}, "historyLength"),
        ({"historyLength": ["٣"]}, "historyLength"),
        ({"includeArtifacts": ["TRUE"]}, "includeArtifacts"),
        ({"includeArtifacts": ["1"]}, "includeArtifacts"),
        ({"includeArtifacts": [""]}, "includeArtifacts"),
        ({"status": ["working"]}, "status"),
        ({"status": ["-1"]}, "status"),
        ({"status": ["99"]}, "status"),
        ({"status": ["2.0"]}, "status"),
        ({"status": ["TASK_STATE_WORKING,TASK_STATE_FAILED"]}, "status"),
        ({"statusTimestampAfter": ["1700000000"]}, "statusTimestampAfter"),
        ({"statusTimestampAfter": ["2026-01-01T00:00:00 05:30"]}, "statusTimestampAfter"),
        ({"contextId": ["a/b"]}, "contextId"),
        ({"pageToken": ["x", "x"]}, "pageToken"),
        ({"tenant": ["a b"]}, "tenant"),
    ],
)
def test_a_query_that_cannot_be_read_is_refused_by_name(query: dict[str, list[str]], blamed: str) -> None:
    response = rest("GET", "/tasks", query=query)

    assert response.status == 400
    assert list(violations(parsed(response)["error"]["details"])) == [blamed]


@pytest.mark.parametrize(
    "query",
    [
        {"pageSize": ["7"], "includeArtifacts": ["true"], "historyLength": ["0"]},
        {"page_size": ["7"], "include_artifacts": ["false"]},
        {"pageSize": ["7"], "status": ["TASK_STATE_WORKING"], "contextId": [""], "pageToken": [""]},
        {"pageSize": ["7"], "status": ["2"]},
        {"pageSize": ["7"], "statusTimestampAfter": ["2026-01-01T00:00:00+05:30"]},
        {"pageSize": ["7"], "unknown": ["x", "y"], "A2A-Version": ["0.3"]},
    ],
)
def test_a_query_that_can_be_read_is(query: dict[str, list[str]]) -> None:
    assert parsed(rest("GET", "/tasks", query=query))["pageSize"] == 7


# --- errors -------------------------------------------------


def test_an_error_is_a_google_rpc_status() -> None:
    assert parsed(rest("GET", "/tasks/none")) == {
        "error": {
            "code": 404,
            "status": "NOT_FOUND",
            "message": "Task not found",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "TASK_NOT_FOUND",
                    "domain": "a2a-protocol.org",
                }
            ],
        }
    }


def test_a_request_to_send_begins_its_task_for_the_tenant_of_its_address() -> None:
    ports = fake_ports()
    body = {**MESSAGE, "configuration": {"returnImmediately": True}}

    response = rest("POST", "/acme/message:send", body, at=endpoint(ports))

    assert parsed(response)["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert [turn.task.tenant for turn in ports.executions.started] == ["acme"]  # type: ignore[attr-defined]


def test_the_proto_empty_is_an_empty_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr("a2a_serverless.bindings.service.HANDLERS", {"ListTasks": nothing})

    assert parsed(rest("GET", "/tasks")) == {}


# --- caches -------------------------------------------------


@pytest.mark.parametrize("path", ["/tasks", "/tasks/none", "/nowhere"])
def test_no_cache_keeps_an_answer_for_another_caller(path: str) -> None:
    assert rest("GET", path).headers["Cache-Control"] == "no-store"


# --- calls of JSON-RPC at the address of a tenant -------------------------------------------------


def call(method: str, params: object, request_id: object = 7) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


@pytest.mark.parametrize("named", [{}, {"tenant": ""}, {"tenant": "acme"}])
def test_a_call_at_the_address_of_a_tenant_is_for_that_tenant(named: dict[str, str]) -> None:
    ports = fake_ports()

    response = rest(
        "POST", "/acme", call("SendMessage", {**MESSAGE, **IMMEDIATELY, **named}), endpoint(ports)
    )

    assert (response.status, parsed(response)["id"], set(parsed(response)["result"])) == (200, 7, {"task"})
    assert [turn.task.tenant for turn in ports.executions.started] == ["acme"]  # type: ignore[attr-defined]


def test_what_is_wrong_with_such_a_call_is_said_as_in_any_other() -> None:
    another = parsed(rest("POST", "/acme", call("ListTasks", {"tenant": "another"})))
    unknown = parsed(rest("POST", "/acme", call("message/send", {})))
    no_tenant = parsed(rest("POST", "/a%20b", call("ListTasks", {})))

    assert violations(another["error"]["data"]) == {"tenant": "must be what the address says"}
    assert (unknown["id"], unknown["error"]["code"]) == (7, -32601)
    assert list(violations(no_tenant["error"]["data"])) == ["tenant"]


@pytest.mark.parametrize(
    "body", [MESSAGE, [call("ListTasks", {})], {"method": "ListTasks"}, b"{", b" " * (MAX_BODY + 1)]
)
def test_where_nothing_is_but_a_tenant_nothing_but_a_call_is_taken(body: object) -> None:
    assert rest("POST", "/acme", body).status == 404


def test_of_a_stranger_no_call_at_the_address_of_a_tenant_is_read() -> None:
    door = Admittance([Token("alice", hashlib.sha256(b"alice-secret").digest())])

    assert rest("POST", "/acme", call("ListTasks", {}), endpoint(admittance=door)).status == 401
