"""The extension for permissions: a question for everybody, and an answer held to it (specification 4.6)."""

import hashlib
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.extensions import PermissionMode
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused

TOKENS = [Token(name, hashlib.sha256(name.encode()).digest()) for name in ("alice", "bob")]

URI = "urn:a2a-serverless:permissions:v1"


def data_of(task: Any) -> Any:
    """What a program reads of the question."""
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    (data,) = [part["data"] for part in task["status"]["message"]["parts"] if "data" in part]
    return data


def decide(client: Client, task: Any, decision: Any = "allow_once", **changed: Any) -> Any:
    """Answer the question of a task, or something like it."""
    asked = data_of(task)
    answer = {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": asked["taskId"],
        "inputId": asked["inputId"],
        "decision": decision,
        **changed,
    }
    return client.task("", taskId=task["id"], parts=[{"data": answer}])


@requirement("4.6:permissions")
def test_a_permission_is_asked_for_in_words_and_as_data(client: Client) -> None:
    task = client.task("permission")

    message = task["status"]["message"]
    assert message["extensions"] == [URI]
    words, data = message["parts"]
    assert words["text"].splitlines()[0] == "Permission needed: Delete it"
    assert data["mediaType"] == "application/json"
    assert data["data"] == {
        "schemaVersion": 1,
        "kind": "permission",
        "inputId": data["data"]["inputId"],
        "taskId": task["id"],
        "contextId": task["contextId"],
        "tool": "delete",
        "title": "Delete it",
        "purpose": "",
        "effect": "",
        "target": "it",
        "arguments": {"id": 7},
        "readOnly": False,
        "options": ["allow_once", "deny"],
    }


@requirement("4.6:permissions")
@pytest.mark.parametrize(("decision", "state"), [("allow_once", "COMPLETED"), ("deny", "REJECTED")])
def test_a_decision_goes_on_with_the_task(client: Client, decision: str, state: str) -> None:
    asked = client.task("permission")

    decided = decide(client, asked, decision)

    assert decided["id"] == asked["id"]
    assert decided["status"]["state"] == f"TASK_STATE_{state}"
    assert [message["role"] for message in decided["history"]] == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]


@requirement("4.6:permissions")
def test_an_agent_that_takes_text_only_takes_decisions_too(connect: Connect) -> None:
    client = connect(Deployment(policy=Policy(input_modes=("text/plain",))))

    assert decide(client, client.task("permission"))["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("4.6:permissions-are-bound")
@pytest.mark.parametrize(
    ("changed", "field", "text"),
    [
        ({"decision": "yes"}, "data.decision", "Permission decision must be allow_once or deny."),
        ({"inputId": "other"}, "data.inputId", "permission_resume_invalid: is not the question"),
        ({"taskId": "other"}, "data.taskId", "input_response_mismatch: must be the task"),
        ({"schemaVersion": 2}, "data.schemaVersion", "input_response_mismatch: must be 1"),
        ({"more": True}, "data", "input_response_mismatch: must have exactly schemaVersion"),
    ],
)
def test_what_is_no_decision_about_the_question_is_refused_by_name_and_the_task_waits(
    client: Client, changed: dict[str, Any], field: str, text: str
) -> None:
    asked = client.task("permission")

    with pytest.raises(Refused) as refused:
        decide(client, asked, **changed)

    assert (refused.value.reason, list(refused.value.fields)) == (
        "INVALID_PARAMS",
        [f"message.parts[0].{field}"],
    )
    assert refused.value.message.startswith(text)
    assert client.get(asked["id"]) == asked
    assert decide(client, asked)["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("4.6:permissions-are-bound")
def test_a_decision_is_used_once_and_words_are_none(client: Client) -> None:
    asked = client.task("permission")
    again = client.task("permission, please: allow_once", taskId=asked["id"])
    assert data_of(again)["inputId"] != data_of(asked)["inputId"]

    with pytest.raises(Refused, match="permission_resume_invalid"):
        decide(client, again, inputId=data_of(asked)["inputId"])
    decide(client, again)
    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        decide(client, again)


@requirement("4.6:permissions-are-bound")
def test_a_decision_for_a_task_that_asked_for_none_is_refused(client: Client) -> None:
    asked, waiting = client.task("permission"), client.task("tck-input-required")

    with pytest.raises(Refused, match="permission_resume_invalid"):
        client.task("", taskId=waiting["id"], parts=[{"data": {"kind": "permission", "decision": "deny"}}])
    with pytest.raises(Refused, match="permission_resume_invalid"):
        client.task("", parts=[{"data": {**data_of(asked), "decision": "allow_once"}}])


@requirement("4.6:permissions-are-bound")
def test_nobody_decides_about_somebody_elses_task(connect: Connect) -> None:
    client = connect(Deployment(admittance=Admittance(TOKENS)))
    alice, bob = (client.with_headers(authorization=f"Bearer {name}") for name in ("alice", "bob"))
    asked = alice.task("permission")

    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        decide(bob, asked)
    assert alice.get(asked["id"]) == asked


@requirement("4.6:permissions")
@pytest.mark.parametrize(("mode", "state"), [("allow", "COMPLETED"), ("deny", "REJECTED")])
def test_a_deployment_may_decide_instead_of_its_callers(connect: Connect, mode: str, state: str) -> None:
    client = connect(Deployment(policy=Policy(permissions=PermissionMode(mode))))

    assert client.task("permission")["status"]["state"] == f"TASK_STATE_{state}"
