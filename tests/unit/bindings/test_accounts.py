"""What is written down of a call: who, what about and what came of it, once its answer has left."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.bindings import gateway, http_json
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.http import HttpRequest, HttpResponse, StreamedResponse
from a2a_serverless.ports import owner_of
from a2a_serverless.ports.audit import Call
from a2a_serverless.ports.limits import OperationClass, RateLimit
from tests.fakes.event_source import events_of
from tests.fakes.ports import FakeAudit
from tests.unit.bindings.asking import parsed, request, rest
from tests.unit.bindings.wires import STREAMING, Connect, Wire, message

ALICE = Admittance([Token("alice", hashlib.sha256(b"alice-secret").digest())])
AS_ALICE = {"Authorization": "Bearer alice-secret"}


@pytest.fixture
def audit() -> FakeAudit:
    return FakeAudit()


@pytest.fixture
def wire(connect: Connect, audit: FakeAudit) -> Wire:
    return connect(audit=audit)


def leave(response: HttpResponse | StreamedResponse) -> None:
    """Let an answer leave as whoever sends it does."""
    if isinstance(response, StreamedResponse):
        list(response.chunks)
    response.afterwards()


def the_only(audit: FakeAudit) -> Call:
    [call] = audit.calls
    return call


def test_a_call_that_succeeds_is_written_down_with_whom_and_what_it_was_about(
    wire: Wire, audit: FakeAudit
) -> None:
    began = wire.world.clock.now()
    response = wire.ask("SendMessage", message("m-1", contextId="c-1"))

    leave(response)

    task = wire.task_of(parsed(response))
    assert the_only(audit) == Call(
        binding=wire.binding,
        request_id="request-1",
        outcome="OK",
        http_status=200,
        duration=wire.world.clock.now() - began,
        operation="SendMessage",
        principal="tester",
        owner=owner_of("local", "tester"),
        task=task["id"],
        context="c-1",
        message_id="m-1",
    )


def test_nothing_is_written_down_before_the_answer_has_left(wire: Wire, audit: FakeAudit) -> None:
    response = wire.ask("ListTasks", {})
    assert audit.calls == []

    response.afterwards()

    assert the_only(audit).operation == "ListTasks"


def test_the_task_that_is_asked_for_is_written_down_also_when_it_is_not_there(
    wire: Wire, audit: FakeAudit
) -> None:
    leave(wire.ask("GetTask", {"id": "t-1"}))

    call = the_only(audit)
    assert (call.operation, call.task, call.outcome) == ("GetTask", "t-1", "TASK_NOT_FOUND")
    assert call.http_status == (200 if wire.binding == "JSONRPC" else 404)
    assert (call.error_id, call.frames, call.message_id) == (None, None, None)


def test_what_was_not_understood_is_not_written_down(wire: Wire, audit: FakeAudit) -> None:
    leave(wire.ask("GetTask", {"id": "no id at all"}))

    call = the_only(audit)
    assert (call.operation, call.task, call.outcome) == ("GetTask", None, "INVALID_PARAMS")


def test_a_fault_is_written_down_under_the_id_that_its_caller_got(wire: Wire, audit: FakeAudit) -> None:
    wire.tasks.fault = RuntimeError("the table is gone")

    response = wire.ask("GetTask", {"id": "t-1"})
    leave(response)

    _, reason, facts = wire.error(parsed(response))
    assert (the_only(audit).outcome, the_only(audit).error_id) == (reason, facts["errorId"])
    assert facts["errorId"] == "incident-1"


def test_a_stream_is_written_down_once_at_its_end_with_its_frames(wire: Wire, audit: FakeAudit) -> None:
    response = wire.send("m-1")
    events = events_of(response.chunks)
    assert audit.calls == []

    response.afterwards()

    call = the_only(audit)
    assert (call.operation, call.outcome, call.http_status) == ("SendStreamingMessage", "OK", 200)
    assert (call.task, call.message_id) == (wire.world.executions.started[0].task.task_id, "m-1")
    assert call.frames == len(events) > 2
    assert call.duration >= timedelta(seconds=0.1)


def test_a_stream_that_breaks_is_written_down_with_its_fault(connect: Connect, audit: FakeAudit) -> None:
    idle = connect(turns=False, audit=audit)
    response = idle.send()
    idle.breaks_after(1, RuntimeError("the table is gone"))

    with pytest.raises(RuntimeError):
        list(response.chunks)
    response.afterwards()

    call = the_only(audit)
    assert (call.outcome, call.error_id, call.frames) == ("INTERNAL_ERROR", "incident-1", 1)


def test_somebody_who_leaves_a_stream_is_written_down_as_having_left(wire: Wire, audit: FakeAudit) -> None:
    response = wire.send()
    next(iter(response.chunks))
    response.chunks.close()  # type: ignore[attr-defined]

    response.afterwards()

    assert (the_only(audit).outcome, the_only(audit).frames) == ("CLIENT_LEFT", 1)
    assert wire.places() == 0


def test_a_blocking_call_that_takes_long_is_written_down_when_it_has_its_answer(
    connect: Connect, audit: FakeAudit
) -> None:
    slow = connect(audit=audit, turns=False)
    slow.turns_take(20)
    response = slow.ask("SendMessage", message())
    assert isinstance(response, StreamedResponse)

    leave(response)

    call = the_only(audit)
    assert (call.outcome, call.http_status, call.frames) == ("OK", 200, None)
    assert call.task == slow.world.executions.started[0].task.task_id
    assert call.duration >= timedelta(seconds=20)


@pytest.mark.parametrize(
    ("headers", "credentials"),
    [({}, ()), ({"Authorization": "Bearer wrong"}, ("authorization",)), ({"X-API-Key": "wrong"}, ())],
)
def test_a_stranger_is_written_down_without_what_they_showed(
    connect: Connect, audit: FakeAudit, headers: dict[str, str], credentials: tuple[str, ...]
) -> None:
    wire = connect(admittance=ALICE, audit=audit)

    leave(wire.ask("GetTask", {"id": "t-1"}, headers=headers))

    assert the_only(audit) == Call(
        binding=wire.binding,
        request_id="request-1",
        outcome="UNAUTHENTICATED",
        http_status=401,
        duration=timedelta(0),
        credentials=credentials,
    )
    assert "wrong" not in repr(audit.calls)


def test_whoever_was_let_in_is_written_down_whatever_is_wrong_with_what_they_sent(
    connect: Connect, audit: FakeAudit
) -> None:
    wire = connect(admittance=ALICE, audit=audit)
    asked = wire.request("SendMessage", message(), headers=AS_ALICE)

    leave(wire.answer(replace(asked, body=b"{")))

    call = the_only(audit)
    assert (call.principal, call.outcome) == ("alice", "JSON_PARSE_ERROR")
    assert call.operation == (None if wire.binding == "JSONRPC" else "SendMessage")


def test_a_tenant_is_written_down(wire: Wire, audit: FakeAudit) -> None:
    fields = {"tenant": "acme", "id": "t-1"} if wire.binding == "JSONRPC" else {"id": "t-1"}
    asked = wire.request("GetTask", fields)
    if wire.binding == "HTTP+JSON":
        asked = replace(asked, path=f"/acme{asked.path}")

    leave(wire.answer(asked))

    assert the_only(audit).tenant == "acme"


def test_a_call_at_the_address_of_a_tenant_is_written_down_once_as_what_it_is(
    wire: Wire, audit: FakeAudit
) -> None:
    called = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}

    leave(http_json.answer(wire.endpoint, request("POST", "/acme", called)))

    written = the_only(audit)
    assert (written.binding, written.operation, written.tenant) == ("JSONRPC", "ListTasks", "acme")


def test_a_call_too_many_is_written_down(connect: Connect, audit: FakeAudit) -> None:
    limits = {OperationClass.READ: RateLimit(1, timedelta(seconds=60), 1)}
    wire = connect(replace(STREAMING, rate_limits=limits), audit=audit)

    for _ in range(2):
        leave(wire.ask("ListTasks", {}))

    assert [(call.outcome, call.http_status) for call in audit.calls] == [("OK", 200), ("RATE_LIMITED", 429)]


def test_content_is_written_down_as_what_it_is_and_whose(connect: Connect, audit: FakeAudit) -> None:
    wire = connect(audit=audit)
    task_id = wire.task_of(parsed(wire.ask("SendMessage", message())))["id"]

    for address in (f"/artifacts/{task_id}/history/0/0", f"/artifacts/{task_id}/none/0"):
        leave(rest("GET", address, at=wire.endpoint))

    here, missing = audit.calls
    assert (here.operation, here.task, here.outcome, here.http_status) == ("GetContent", task_id, "OK", 200)
    assert (missing.task, missing.outcome, missing.principal) == (task_id, "TASK_NOT_FOUND", "tester")


def test_an_address_where_nothing_is_is_written_down_as_no_operation(
    connect: Connect, audit: FakeAudit
) -> None:
    wire = connect(audit=audit)

    leave(rest("GET", "/secret/path", at=wire.endpoint))

    call = the_only(audit)
    assert (call.operation, call.outcome, call.http_status) == (None, "METHOD_NOT_FOUND", 404)


def test_a_question_before_a_page_asks_is_not_written_down(wire: Wire, audit: FakeAudit) -> None:
    leave(wire.answer(HttpRequest("OPTIONS", "/")))

    assert audit.calls == []


def test_no_account_is_kept_where_nobody_reads_any(connect: Connect) -> None:
    wire = connect()

    for response in (wire.ask("ListTasks", {}), wire.send()):
        leave(response)
        assert response.afterwards.__name__ == "nothing"


SECRETS = {
    "text": "what was said",
    "token": "webhook-token",
    "url": "https://hooks.example/secret-path",
    "credentials": "webhook-credentials",
}


def test_nothing_that_was_said_and_no_secret_is_written_down(connect: Connect, audit: FakeAudit) -> None:
    policy = replace(STREAMING, capabilities=STREAMING.capabilities | {"push_notifications"})
    wire = connect(policy, admittance=ALICE, audit=audit)
    sent = message(text=SECRETS["text"])
    sent["configuration"] = {
        "taskPushNotificationConfig": {
            "url": SECRETS["url"],
            "token": SECRETS["token"],
            "authentication": {"scheme": "Bearer", "credentials": SECRETS["credentials"]},
        }
    }

    response = wire.ask("SendMessage", sent, headers=AS_ALICE)
    leave(response)

    assert the_only(audit).outcome == "OK"
    for secret in (*SECRETS.values(), "alice-secret", "hooks.example"):
        assert secret not in repr(audit.calls)


def sent_whole(event: dict[str, Any], wire: Wire) -> dict[str, Any]:
    return gateway.answer(event, wire.answer)


def event(wire: Wire) -> dict[str, Any]:
    asked = wire.request("ListTasks", {})
    return {
        "resource": asked.path if wire.binding == "HTTP+JSON" else "/",
        "path": asked.path,
        "httpMethod": asked.method,
        "multiValueHeaders": {name: list(values) for name, values in asked.headers.items()},
        "requestContext": {"requestId": "gateways-id", "domainName": "agent.example"},
        "body": asked.body.decode(),
    }


def test_an_answer_in_one_piece_is_written_down_before_the_function_returns(
    wire: Wire, audit: FakeAudit
) -> None:
    assert sent_whole(event(wire), wire)["statusCode"] == 200

    assert (the_only(audit).request_id, the_only(audit).outcome) == ("gateways-id", "OK")


def test_an_answer_in_pieces_is_written_down_once_when_they_are_closed(wire: Wire, audit: FakeAudit) -> None:
    pieces: Any = gateway.stream(event(wire), wire.answer).chunks
    assert b"".join(pieces)
    assert audit.calls == []

    pieces.close()
    pieces.close()

    assert the_only(audit).outcome == "OK"
