"""The JSON-RPC envelope and what it answers when it is wrong (specification 9; JSON-RPC 2.0)."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from a2a_serverless.bindings import jsonrpc
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.http import MAX_ANSWER, MAX_BODY
from a2a_serverless.ports import Ports
from a2a_serverless.protocol.requests import ListTasksResponse
from tests.fakes.ports import fake_ports
from tests.unit.bindings.asking import endpoint, parsed, plain, post_rpc, request, violations

LIST = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}


def call(**changed: Any) -> dict[str, Any]:
    return {**LIST, **changed}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in LIST.items() if key != name}


@pytest.mark.parametrize("request_id", [1, 0, -5, 1.5, 2**53 + 1, "a", "", None, "ä\u2028", "\ud800"])
def test_a_reply_carries_the_id_it_was_asked_under(request_id: object) -> None:
    reply = parsed(post_rpc(call(id=request_id)))

    assert reply["id"] == request_id
    assert reply["result"]["tasks"] == []


def test_a_result_is_a_json_rpc_reply_and_nothing_more() -> None:
    response = post_rpc(LIST)

    assert response.status == 200
    assert response.headers == {"Content-Type": "application/json", "A2A-Version": "1.0"}
    assert parsed(response) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0},
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a":1,"a":2}',
        b"nul",
        b'{"id":NaN}',
        b"[" * 100_000,
        b'{"id":' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "cut", "not utf-8", "duplicate name", "no word", "nan", "deep", "huge number"],
)
def test_a_body_that_is_no_json_is_a_parse_error_under_no_id(body: bytes) -> None:
    response = post_rpc(body)

    assert response.status == 200
    assert parsed(response)["id"] is None
    assert parsed(response)["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("body", "answered_under", "blamed"),
    [
        ([], None, ""),
        ([LIST], None, ""),
        ("text", None, ""),
        (None, None, ""),
        (7, None, ""),
        (without("id"), None, "id"),
        (call(id=True), None, "id"),
        (call(id={}), None, "id"),
        (call(id=[1]), None, "id"),
        (without("jsonrpc"), 1, "jsonrpc"),
        (call(jsonrpc="1.0"), 1, "jsonrpc"),
        (call(jsonrpc=2.0), 1, "jsonrpc"),
        (without("method"), 1, "method"),
        (call(method=None), 1, "method"),
        (call(method=["ListTasks"]), 1, "method"),
    ],
)
def test_json_that_is_no_request_is_an_invalid_request_that_says_why(
    body: object, answered_under: object, blamed: str
) -> None:
    response = post_rpc(body)
    reply = parsed(response)

    assert response.status == 200
    assert reply["id"] == answered_under
    assert reply["error"]["code"] == -32600
    assert list(violations(reply["error"]["data"])) == [blamed]


def test_a_notification_runs_nothing() -> None:
    ports = fake_ports()
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    body = {"jsonrpc": "2.0", "method": "SendMessage", "params": {"message": message}}

    assert parsed(post_rpc(body, endpoint(ports)))["error"]["code"] == -32600
    assert ports.executions.started == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("params", [None, [], ["x"], "x", 1, False])
def test_params_that_are_no_object_are_invalid_params(params: object) -> None:
    reply = parsed(post_rpc(call(params=params)))

    assert reply["id"] == 1
    assert reply["error"]["code"] == -32602
    assert violations(reply["error"]["data"]) == {"params": "must be an object"}


def test_params_may_be_left_out_where_no_field_is_required() -> None:
    assert parsed(post_rpc(without("params")))["result"]["tasks"] == []


@pytest.mark.parametrize("method", ["listTasks", "message/send", "tasks/get", "", "ListTasks "])
def test_a_method_that_is_not_exactly_one_of_ours_is_not_found(method: str) -> None:
    reply = parsed(post_rpc(call(method=method)))

    assert (reply["id"], reply["error"]["code"]) == (1, -32601)


def test_a_client_of_an_older_version_is_told_so_rather_than_that_its_method_is_unknown() -> None:
    response = post_rpc(call(method="message/send"), headers={"A2A-Version": ""})

    assert parsed(response)["error"]["code"] == -32009


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/jsonp", "json", "multipart/form-data; x=y"]
)
def test_another_content_type_is_refused_before_the_body_is_read(content_type: str) -> None:
    response = post_rpc(b"not json", headers={"Content-Type": content_type})

    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json"
    assert (parsed(response)["id"], parsed(response)["error"]["code"]) == (None, -32005)


@pytest.mark.parametrize(
    "content_type", [None, "application/json", "Application/JSON; charset=utf-8", "application/a2a+json"]
)
def test_json_may_be_called_json_or_nothing(content_type: str | None) -> None:
    headers = {"Content-Type": content_type} if content_type else {}

    assert "result" in parsed(post_rpc(LIST, headers=headers))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE"])
def test_only_posts_are_calls(method: str) -> None:
    response = jsonrpc.answer(endpoint(), request(method, "/", LIST))

    assert response.status == 405
    assert response.headers["Allow"] == "POST, OPTIONS"


def test_a_browser_may_ask_first_without_credentials() -> None:
    response = plain(jsonrpc.answer(endpoint(admittance=Admittance()), request("OPTIONS")))

    assert (response.status, response.body) == (204, b"")
    assert "A2A-Version" in response.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("path", ["/", "", "/prod", "/prod/"])
def test_the_address_is_the_gateways_business(path: str) -> None:
    asked = replace(request("POST", "/", LIST), path=path)

    assert "result" in parsed(jsonrpc.answer(endpoint(), asked))


def test_a_body_beyond_the_limit_is_refused_unread() -> None:
    response = post_rpc(b"{" + b" " * MAX_BODY)

    assert response.status == 413
    assert parsed(response)["error"]["code"] == -32600
    assert parsed(response)["error"]["data"][0]["reason"] == "REQUEST_TOO_LARGE"


def test_without_credentials_the_answer_is_a_challenge_and_the_body_stays_unread() -> None:
    guarded = endpoint(admittance=Admittance((Token("a", hashlib.sha256(b"secret").digest()),)))

    response = post_rpc(b"not json", guarded)

    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="a2a"'
    assert response.body == b'{"error":"Unauthorized"}'


def broken(ports: Ports, error: Exception) -> Ports:
    class Broken:
        def load(self, *_: object, **__: object) -> None:
            raise error

    return replace(ports, tasks=Broken())  # type: ignore[arg-type]


def test_a_fault_is_reported_under_the_gateways_request_and_only_its_id_is_answered() -> None:
    ports = fake_ports()
    fault = OSError("/var/task/secret")

    response = post_rpc(call(method="GetTask", params={"id": "t"}), endpoint(broken(ports, fault)))

    assert response.status == 200
    assert b"secret" not in response.body
    error = parsed(response)["error"]
    assert (parsed(response)["id"], error["code"], error["message"]) == (1, -32603, "Internal error")
    assert error["data"][0]["metadata"] == {"errorId": "incident-1"}
    assert ports.incidents.reported == [(fault, {"request": "request-1"})]  # type: ignore[attr-defined]


def test_an_answer_too_large_for_lambda_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def far_too_much(*_: object) -> ListTasksResponse:
        return ListTasksResponse(tasks=(), next_page_token="x" * MAX_ANSWER, page_size=1, total_size=1)

    monkeypatch.setattr(
        "a2a_serverless.bindings.service.HANDLERS", {"ListTasks": far_too_much, "GetTask": far_too_much}
    )
    ports = fake_ports()

    error = parsed(post_rpc(LIST, endpoint(ports)))["error"]

    assert (error["code"], error["data"][0]["reason"]) == (-32603, "RESPONSE_TOO_LARGE")
    assert ports.incidents.reported == []  # type: ignore[attr-defined]


def test_the_proto_empty_is_a_null_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None:
        return None

    monkeypatch.setattr("a2a_serverless.bindings.service.HANDLERS", {"ListTasks": nothing})

    assert parsed(post_rpc(LIST)) == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_a_lone_surrogate_is_invalid_params() -> None:
    text = json.dumps(call(method="GetTask", params={"id": "\ud800"}))

    error = parsed(post_rpc(text.encode()))["error"]

    assert error["code"] == -32602
    assert list(violations(error["data"])) == ["id"]
