"""What no stream is opened for: refused as a plain answer, before the first byte (specification 3.3, 5.4)."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.card import AgentExtension
from tests.fakes.event_source import EventSource, events_of
from tests.unit.bindings.asking import parsed, plain, streamed
from tests.unit.bindings.wires import EXTENSION, STREAMING, Connect, Wire, message


def refused(wire: Wire, method: str, fields: Mapping[str, Any], **asked: Any) -> tuple[int, int, str]:
    """HTTP status, code and reason of a refusal, which must be a plain answer that opened nothing."""
    before = wire.places()
    response = plain(wire.ask(method, fields, **asked))
    assert response.headers["Content-Type"] == "application/json"
    assert wire.places() == before
    code, reason, _ = wire.error(parsed(response))
    return response.status, code, reason


def row(wire: Wire, code: int, status: int, reason: str) -> tuple[int, int, str]:
    """The same as the specification's table has it."""
    return (200, code, reason) if wire.binding == "JSONRPC" else (status, status, reason)


def test_a_stream_of_an_unknown_task_is_refused(wire: Wire) -> None:
    not_found = row(wire, -32001, 404, "TASK_NOT_FOUND")

    assert refused(wire, "SubscribeToTask", {"id": "nobody"}) == not_found
    assert refused(wire, "SubscribeToTask", {"id": "nobody"}, headers={"Last-Event-ID": "1"}) == not_found
    assert refused(wire, "SendStreamingMessage", message(taskId="nobody")) == not_found
    assert wire.world.executions.started == []


def test_a_subscription_to_a_task_that_has_ended_is_refused(wire: Wire) -> None:
    task = wire.frame(events_of(wire.send().chunks)[0])["task"]

    answer = refused(wire, "SubscribeToTask", {"id": task["id"]})

    assert answer == row(wire, -32004, 400, "UNSUPPORTED_OPERATION")


def test_a_further_message_to_a_task_that_has_ended_is_refused(wire: Wire) -> None:
    task = wire.frame(events_of(wire.send().chunks)[0])["task"]

    answer = refused(wire, "SendStreamingMessage", message("m-2", taskId=task["id"]))

    assert answer == row(wire, -32004, 400, "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_streaming_that_is_not_declared_is_refused_whatever_is_asked(connect: Connect, method: str) -> None:
    wire = connect(Policy(), streaming=False)

    answer = refused(wire, method, {"id": "t"})

    assert answer == row(wire, -32004, 400, "UNSUPPORTED_OPERATION")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}},
        {**message(), "configuration": {"historyLength": -1}},
        message(contextId="a/b"),
    ],
)
def test_a_message_that_cannot_be_one_is_refused(wire: Wire, fields: Mapping[str, Any]) -> None:
    answer = refused(wire, "SendStreamingMessage", fields)

    assert answer == row(wire, -32602, 400, "INVALID_PARAMS")


def test_what_the_agent_does_not_take_is_refused(connect: Connect) -> None:
    wire = connect(replace(STREAMING, input_modes=("image/png",)))

    answer = refused(wire, "SendStreamingMessage", message())

    assert answer == row(wire, -32005, 400, "CONTENT_TYPE_NOT_SUPPORTED")


def test_a_version_that_is_not_served_is_refused(wire: Wire) -> None:
    answer = refused(wire, "SendStreamingMessage", message(), headers={"A2A-Version": "0.3"})

    assert answer == row(wire, -32009, 400, "VERSION_NOT_SUPPORTED")


def test_a_required_extension_that_is_not_named_is_refused(connect: Connect) -> None:
    wire = connect(extensions=(AgentExtension(uri=EXTENSION, required=True),))

    answer = refused(wire, "SendStreamingMessage", message())

    assert answer == row(wire, -32008, 400, "EXTENSION_SUPPORT_REQUIRED")


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_without_credentials_nothing_is_streamed(connect: Connect, method: str) -> None:
    wire = connect(admittance=Admittance((Token("a", hashlib.sha256(b"secret").digest()),)))

    response = plain(wire.ask(method, {"id": "t", **message()}))

    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="a2a"'


@pytest.mark.parametrize("last", ["0", "7", "x", "1, 2", "-1"])
@pytest.mark.parametrize("where", ["headers", "query"])
def test_a_last_event_id_that_no_stream_gave_is_refused(wire: Wire, where: str, last: str) -> None:
    task = wire.frame(events_of(wire.send().chunks)[0])["task"]
    asked: dict[str, Any] = (
        {"headers": {"Last-Event-ID": last}} if where == "headers" else {"query": {"lastEventId": [last]}}
    )

    answer = refused(wire, "SubscribeToTask", {"id": task["id"]}, **asked)

    assert answer == row(wire, -32602, 400, "INVALID_PARAMS")


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_one_stream_too_many_is_refused_and_told_when_to_ask_again(connect: Connect, method: str) -> None:
    wire = connect(replace(STREAMING, streams_per_caller=2), turns=False)
    bodies = [iter(EventSource(wire.send(f"m-{number}").chunks)) for number in range(2)]
    task, _ = (wire.frame(next(body))["task"] for body in bodies)
    started = len(wire.world.executions.started)

    response = plain(wire.ask(method, {"id": task["id"], **message("m-9")}))

    assert response.status == 429
    assert response.headers["Retry-After"] == "5"
    assert response.headers["Content-Type"] == "application/json"
    code, reason, _ = wire.error(parsed(response))
    assert (code, reason) == (-31429 if wire.binding == "JSONRPC" else 429, "RATE_LIMITED")
    assert (len(wire.world.executions.started), wire.places()) == (started, 2)


def test_another_tenant_brings_a_caller_no_further_streams(connect: Connect) -> None:
    wire = connect(replace(STREAMING, streams_per_caller=1), turns=False)
    opened = streamed(wire.ask("SendStreamingMessage", {"tenant": "one", **message("m-1")}))
    assert next(iter(EventSource(opened.chunks)))

    response = plain(wire.ask("SendStreamingMessage", {"tenant": "two", **message("m-2")}))

    assert (response.status, wire.places()) == (429, 1)
