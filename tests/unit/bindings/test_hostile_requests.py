"""Whatever a request holds, in its body, headers, query or address, it gets an answer and is no fault."""

import json
from collections.abc import Iterator

import pytest

from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.http import MAX_BODY, HttpRequest
from a2a_serverless.bindings.jsonrpc import MAX_ID
from a2a_serverless.protocol.json_limits import MAX_NESTING, MAX_VALUES
from tests.fakes.ports import FakeIncidents
from tests.unit.bindings.asking import parsed, plain, post_rpc, request, violations
from tests.unit.bindings.wires import Connect, Wire, message

HEADERS = 10_240
"""Bytes of headers that API Gateway lets through, and of an address."""

HARMLESS = {200, 204, 304, 400, 404, 405, 415}

VALUES = [
    "9" * 5000,
    '"' * HEADERS,
    "," * HEADERS,
    ";" * HEADERS,
    "a" * HEADERS,
    "\\" * HEADERS,
    '"a",' * 2500,
    'W/"' * 3000,
    "x/y;q=1," * 1200,
    "1.0" * 3000,
    "1.0\n",
    "-1",
    "1e9",
    "\N{ARABIC-INDIC DIGIT THREE}",
    "\N{SUPERSCRIPT TWO}",
    "\N{FIRE}" * 2000,
    "\ud800",
    "\0",
    "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "Mon, 01 Jan 0000 00:00:00 +9999",
]

TASK_HEADERS = [
    "Accept",
    "Content-Type",
    "If-None-Match",
    "If-Modified-Since",
    "Last-Event-ID",
    "A2A-Extensions",
    "A2A-Version",
    "Origin",
]

QUERIES = ["lastEventId", "A2A-Version", "pageToken", "pageSize", "historyLength", "status", "contextId"]
QUERIES += ["statusTimestampAfter", "includeArtifacts", "tenant"]


def begun(wire: Wire) -> str:
    """The id of a task that waits for nobody."""
    return str(wire.task_of(parsed(wire.ask("SendMessage", message())))["id"])


def harmless(wire: Wire, asked: HttpRequest) -> bool:
    """Whether an answer is one that anybody may get, and nobody has to look into."""
    response = wire.answer(asked)
    reported = wire.world.ports.incidents
    assert isinstance(reported, FakeIncidents)
    return response.status in HARMLESS and not reported.reported


@pytest.mark.parametrize("header", TASK_HEADERS)
@pytest.mark.parametrize("method", ["GetTask", "ListTasks", "SendMessage", "SubscribeToTask"])
def test_no_header_is_a_fault(wire: Wire, header: str, method: str) -> None:
    task_id = begun(wire)

    for value in VALUES:
        fields = {"id": task_id, **message("m-2", taskId=task_id)}
        assert harmless(wire, wire.request(method, fields, headers={header: value})), value[:40]


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("path", ["/tasks", "/tasks/{}", "/tasks/{}:subscribe", "/artifacts/{}/history/0/0"])
def test_no_query_is_a_fault(wire: Wire, name: str, path: str) -> None:
    task_id = begun(wire)

    for value in VALUES:
        asked = request("GET", path.format(task_id), query={name: [value]})
        if wire.binding == "JSONRPC":
            asked = wire.request("SubscribeToTask", {"id": task_id}, query={name: [value]})
        assert harmless(wire, asked), value[:40]


def addresses(task_id: str) -> Iterator[str]:
    """Addresses that lead nowhere, or nearly."""
    yield from ("/" * 5000, "/%", "/%2f" * 2000, "/tasks/%ff%fe", "/tasks/%00", "/..", "/tasks/../tasks")
    for value in VALUES:
        yield from (f"/{value}", f"/{value}/tasks", f"/tasks/{value}", f"/tasks/{task_id}:{value}")
        yield from (f"/artifacts/{value}/a/0", f"/artifacts/{task_id}/{value}/{value}")
        yield from (f"/artifacts/{task_id}/history/{value}/0", f"/artifacts/{task_id}/history/0/{value}")


@pytest.mark.parametrize("verb", ["GET", "HEAD", "POST", "DELETE", "PUT", "OPTIONS", "x" * HEADERS])
def test_no_address_is_a_fault(wire: Wire, verb: str) -> None:
    for address in addresses(begun(wire)):
        response = http_json.answer(wire.endpoint, request(verb, address))
        assert response.status in HARMLESS, address[:60]

    assert isinstance(wire.world.ports.incidents, FakeIncidents)
    assert wire.world.ports.incidents.reported == []


DEEP = b"[" * (MAX_NESTING + 1)
MANY = b"[" + b"1," * MAX_VALUES + b"1]"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (DEEP, f"The JSON is nested more than {MAX_NESTING} levels deep"),
        (MANY, f"The JSON has more than {MAX_VALUES} values"),
        (b'{"id":1,"id":2}', "An object of the JSON has two members of one name"),
        (b'{"id":' + b"1" * 401 + b"}", "A number of the JSON has more than 400 characters"),
        (b'{"id":1e999}', "A number of the JSON is not a finite double"),
        (b'{"id":"\xff"}', "The JSON is not UTF-8"),
    ],
)
def test_a_body_beyond_a_limit_is_refused_by_the_name_of_the_limit(
    wire: Wire, body: bytes, words: str
) -> None:
    address = "/" if wire.binding == "JSONRPC" else "/message:send"

    response = plain(wire.answer(request("POST", address, body)))

    reply = parsed(response)
    details = reply["error"]["data" if wire.binding == "JSONRPC" else "details"]
    assert response.status == (200 if wire.binding == "JSONRPC" else 400)
    assert reply["error"]["code"] == (-32700 if wire.binding == "JSONRPC" else 400)
    assert (reply["error"]["message"], details[0]["reason"]) == (words, "JSON_PARSE_ERROR")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(wire: Wire) -> None:
    address = "/" if wire.binding == "JSONRPC" else "/message:send"

    response = plain(wire.answer(request("POST", address, b"[" * (MAX_BODY + 1))))

    details = parsed(response)["error"]["data" if wire.binding == "JSONRPC" else "details"]
    assert (response.status, details[0]["reason"]) == (413, "REQUEST_TOO_LARGE")
    assert str(MAX_BODY) in parsed(response)["error"]["message"]


def test_as_many_parts_as_a_message_may_have_and_no_more(connect: Connect) -> None:
    wire = connect()
    sent = message()
    sent["message"]["parts"] = [{"text": "x"}] * 101

    reply = parsed(wire.ask("SendMessage", sent))

    details = reply["error"]["data" if wire.binding == "JSONRPC" else "details"]
    assert violations(details) == {"message.parts": "must have at most 100 elements"}


@pytest.mark.parametrize("request_id", ['"' * MAX_ID, "\N{FIRE}" * MAX_ID, 10**399, 1e308])
def test_an_id_may_be_as_long_as_the_limit(request_id: object) -> None:
    reply = parsed(post_rpc({"jsonrpc": "2.0", "id": request_id, "method": "NoSuchMethod"}))

    assert (reply["id"], reply["error"]["code"]) == (request_id, -32601)


def test_an_id_that_would_make_every_answer_large_is_refused_and_not_repeated() -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "\N{FIRE}" * (MAX_ID + 1), "method": "GetTask"})

    reply = parsed(post_rpc(body.encode()))

    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert violations(reply["error"]["data"]) == {"id": f"must have at most {MAX_ID} characters"}
