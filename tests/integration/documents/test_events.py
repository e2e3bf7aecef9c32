"""The events that the documentation shows are those that are sent, and its rule takes them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import pytest
from botocore.session import Session, get_session
from cfnlint import lint
from moto import mock_aws

from a2a_serverless.adapters.eventbridge_events import EventBridgeEvents
from a2a_serverless.ports.webhooks import StateChange
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import TaskKey
from infra.local.intrinsics import read_template
from tests.integration.documents.fenced import example

DOCUMENT = "infra/README.md"
RULE = example(DOCUMENT, "yaml")
SHOWN: Mapping[str, Any] = json.loads(example(DOCUMENT, "json"))
MADE_BY_AWS = {name: SHOWN[name] for name in ("id", "account", "region")}
POLICY = "AWS::SQS::QueuePolicy"
REGION = "eu-west-1"


@pytest.fixture
def session() -> Iterator[Session]:
    with mock_aws():
        made = get_session()
        made.set_credentials("testing", "testing")
        made.set_config_variable("region", REGION)
        yield made


@pytest.fixture
def queue(session: Session) -> str:
    """Where the documented stack puts what its rule takes; moto asks for no queue's policy and knows none."""
    stack = read_template(RULE)
    known = {name: each for name, each in stack["Resources"].items() if each["Type"] != POLICY}
    cloudformation: Any = session.create_client("cloudformation")
    body = json.dumps({**stack, "Resources": known})
    cloudformation.create_stack(StackName="rule", TemplateBody=body)
    (created,) = cloudformation.describe_stacks(StackName="rule")["Stacks"]
    (output,) = created["Outputs"]
    return str(output["OutputValue"])


def change() -> StateChange:
    """The change of which the documented event tells."""
    detail = SHOWN["detail"]
    timestamp = detail["timestamp"].replace("Z", "+00:00")
    return StateChange(
        key=TaskKey(detail["tenant"], detail["owner"], detail["taskId"]),
        context_id=detail["contextId"],
        position=detail["position"],
        state=TaskState(detail["state"]),
        at=datetime.fromisoformat(timestamp),
    )


def received(session: Session, queue: str) -> list[dict[str, Any]]:
    sqs: Any = session.create_client("sqs")
    answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in answer.get("Messages", ())]


def announce(session: Session, *changes: StateChange) -> None:
    EventBridgeEvents(cast("Any", session.create_client("events")), "default").put(changes)


def test_the_documented_rule_is_fit_for_cloudformation() -> None:
    assert lint(RULE, regions=[REGION]) == []


def test_the_documented_rule_takes_the_documented_event(session: Session, queue: str) -> None:
    announce(session, change())

    (event,) = received(session, queue)
    assert {**event, **MADE_BY_AWS} == SHOWN


def test_the_documented_rule_takes_what_somebody_should_look_at_and_nothing_else(
    session: Session, queue: str
) -> None:
    announce(session, *(replace(change(), state=state) for state in TaskState))

    assert {event["detail"]["state"] for event in received(session, queue)} == {
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_AUTH_REQUIRED",
        "TASK_STATE_FAILED",
    }


def test_every_state_of_the_documented_rule_is_one() -> None:
    named = {
        line
        for line in RULE.replace(",", " ").replace("]", " ").replace("[", " ").split()
        if "_STATE_" in line
    }

    assert named <= {state.value for state in TaskState}
