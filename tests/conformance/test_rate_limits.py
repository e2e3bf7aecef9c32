"""How often one caller may call, and what a call too many is answered with (specification 13.4)."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.operations.rates import CLASSES
from a2a_serverless.ports import Policy
from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol.operations import OPERATIONS
from tests.conformance.requirements import requirement
from tests.conformance.test_callers import both, guarded
from tests.conformance.wire import Client, Connect, Deployment, Refused

SEND, READ, WRITE = OperationClass

ASKED: Mapping[str, Mapping[str, Any]] = {
    "SendMessage": {
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "tck-complete-task"}]}
    },
    "SendStreamingMessage": {
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "tck-complete-task"}]}
    },
    "GetTask": {"id": "t"},
    "ListTasks": {},
    "CancelTask": {"id": "t"},
    "SubscribeToTask": {"id": "t"},
    "CreateTaskPushNotificationConfig": {"taskId": "t", "url": "https://hooks.example/"},
    "GetTaskPushNotificationConfig": {"taskId": "t", "id": "w"},
    "ListTaskPushNotificationConfigs": {"taskId": "t"},
    "DeleteTaskPushNotificationConfig": {"taskId": "t", "id": "w"},
    "GetExtendedAgentCard": {},
}

EVERYTHING = frozenset({"streaming", "push_notifications", "extended_agent_card"})


def limited(*classes: OperationClass, seconds: float = 60, burst: int = 1, **more: Any) -> Deployment:
    """A deployment that lets one call of these classes through in so many seconds."""
    limit = RateLimit(1, timedelta(seconds=seconds), burst)
    policy = Policy(rate_limits=dict.fromkeys(classes, limit), capabilities=EVERYTHING)
    return Deployment(policy=policy, **more)


def used_up(client: Client, operations: OperationClass) -> None:
    """Call until that class is used up, whatever comes of the calls."""
    method = {SEND: "SendMessage", READ: "ListTasks", WRITE: "CancelTask"}[operations]
    for _ in range(10):
        if client.answer(method, ASKED[method]).status == 429:
            return
    raise AssertionError(f"{method} is not limited")


@requirement("13.4:rate-limits")
@pytest.mark.parametrize("method", [operation.method for operation in OPERATIONS])
def test_every_operation_is_limited_with_those_of_its_class_and_with_no_others(
    connect: Connect, method: str
) -> None:
    for operations in OperationClass:
        client = connect(limited(operations))
        used_up(client, operations)

        status = client.answer(method, ASKED[method]).status

        assert (status == 429) == (CLASSES[method] is operations), (operations, status)


@requirement("13.4:rate-limits")
@pytest.mark.parametrize("method", [operation.method for operation in OPERATIONS])
def test_a_call_too_many_does_nothing_and_is_told_when_to_come_back(connect: Connect, method: str) -> None:
    client = connect(limited(*OperationClass))
    used_up(client, CLASSES[method])
    before = dict(client.deployment.table.items), list(client.deployment.executions.started)
    client.deployment.let_pass(12.3)

    response = client.answer(method, ASKED[method])

    assert (response.status, response.headers["Retry-After"]) == (429, "48")
    assert response.headers["Content-Type"] == "application/json"
    error = json.loads(response.body)["error"]
    details = error["data" if client.binding == "JSONRPC" else "details"]
    assert error["code"] == (-31429 if client.binding == "JSONRPC" else 429)
    assert [each["@type"].rpartition(".")[2] for each in details] == ["ErrorInfo", "RetryInfo"]
    assert (details[0]["reason"], details[1]["retryDelay"]) == ("RATE_LIMITED", "48s")
    assert (client.deployment.table.items, client.deployment.executions.started) == before


@requirement("13.4:rate-limits")
def test_whoever_comes_back_then_is_served(connect: Connect) -> None:
    client = connect(limited(READ))
    client.list()
    wait = int(client.answer("ListTasks", {}).headers["Retry-After"])

    client.deployment.let_pass(wait - 1)
    with pytest.raises(Refused, match="RATE_LIMITED"):
        client.list()
    client.deployment.let_pass(1)

    assert client.list()["tasks"] == []


@requirement("13.4:rate-limits")
def test_a_refused_stream_is_a_plain_answer_and_takes_no_place(connect: Connect) -> None:
    client = connect(limited(SEND, READ, seconds=3600))
    task = client.task("tck-input-required")
    client.list()

    for method, fields in (("SendStreamingMessage", ASKED["SendMessage"]), ("SubscribeToTask", task)):
        with pytest.raises(Refused, match="RATE_LIMITED"):
            client.open(method, {"id": fields["id"]} if "id" in fields else fields)

    streams: Any = client.deployment.ports.streams
    assert streams.taken == {}


@requirement("13.4:rate-limits")
def test_one_caller_uses_up_nothing_of_anothers(connect: Connect) -> None:
    alice, bob = both(lambda _: connect(limited(SEND, READ, admittance=guarded().admittance)))
    used_up(alice, READ)

    assert bob.list()["tasks"] == []
    with pytest.raises(Refused, match="RATE_LIMITED"):
        alice.list()


@requirement("13.4:rate-limits")
def test_naming_another_tenant_gives_nobody_another_limit(connect: Connect) -> None:
    client = connect(limited(READ))
    client.list()

    for tenant in ("acme", "other"):
        with pytest.raises(Refused, match="RATE_LIMITED"):
            client.list(tenant=tenant)


@requirement("13.4:rate-limits")
def test_a_call_that_is_refused_for_what_it_asks_counts_as_well(connect: Connect) -> None:
    client = connect(limited(READ))
    with pytest.raises(Refused, match="INVALID_PARAMS"):
        client.list(pageSize=-1)

    with pytest.raises(Refused, match="RATE_LIMITED"):
        client.list()


@requirement("13.4:rate-limits")
def test_strangers_use_up_nothing(connect: Connect) -> None:
    deployment = limited(READ, admittance=guarded().admittance)
    stranger = connect(deployment).with_headers(authorization="Bearer wrong")
    for _ in range(5):
        assert stranger.answer("ListTasks", {}).status == 401

    assert connect(deployment).with_headers(authorization="Bearer alice-secret").list()["tasks"] == []


@requirement("13.4:rate-limits")
def test_whoever_is_nobody_shares_a_limit_with_everybody_who_is(connect: Connect) -> None:
    client = connect(limited(READ, admittance=Admittance(anonymous=True)))
    client.list()

    with pytest.raises(Refused, match="RATE_LIMITED"):
        client.with_headers(user_agent="another").list()
