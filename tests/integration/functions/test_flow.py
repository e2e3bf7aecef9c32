"""A task's way through the functions: the API starts it, the turn's function ends it, both show it."""

import base64
import threading
import time
from typing import Any

import pytest

from a2a_serverless.operations.turns import AgentStillRunningError
from tests.integration.functions.deployment import Deployed, message

IMMEDIATELY = {"configuration": {"returnImmediately": True}}


def test_what_one_binding_began_a_turn_finishes_and_the_other_shows(deployed: Deployed) -> None:
    reply = deployed.call("SendMessage", {"message": message("hello", "flow-1"), **IMMEDIATELY})
    task = reply["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"

    assert deployed.invoke("turn", deployed.started(task["id"])) is None

    status, finished = deployed.http("GET", f"/tasks/{task['id']}")
    assert (status, finished["status"]["state"]) == (200, "TASK_STATE_COMPLETED")
    assert finished["artifacts"] == [{"artifactId": "echo", "name": "Echo", "parts": [{"text": "hello"}]}]
    listed = deployed.http("GET", "/tasks")[1]["tasks"]
    assert task["id"] in [each["id"] for each in listed]
    status, refused = deployed.http("POST", f"/tasks/{task['id']}:cancel")
    assert (status, refused["error"]["status"]) == (400, "FAILED_PRECONDITION")


def test_a_turn_that_is_run_again_does_not_run_its_agent_again(deployed: Deployed) -> None:
    reply = deployed.call("SendMessage", {"message": message("once", "flow-2"), **IMMEDIATELY})
    task_id = reply["result"]["task"]["id"]
    turn = deployed.started(task_id)
    deployed.invoke("turn", turn)
    finished = deployed.http("GET", f"/tasks/{task_id}")[1]

    deployed.invoke("turn", turn)
    deployed.invoke("sweep", {"fail": turn})

    assert deployed.http("GET", f"/tasks/{task_id}")[1] == finished


def test_a_blocking_call_returns_when_the_turn_has_settled(deployed: Deployed) -> None:
    answers: list[Any] = []
    params = {"message": message("wait for me", "flow-3")}
    caller = threading.Thread(target=lambda: answers.append(deployed.call("SendMessage", params)))
    caller.start()
    task_id = began(deployed, "wait for me")

    deployed.invoke("turn", deployed.started(task_id))
    caller.join(10)

    assert answers[0]["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def began(deployed: Deployed, text: str) -> str:
    """The id of the task that a text began, once its execution was started."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for task in deployed.http("GET", "/tasks", None)[1]["tasks"]:
            shown = deployed.http("GET", f"/tasks/{task['id']}")[1]
            if shown["history"][0]["parts"] == [{"text": text}] and started(deployed, task["id"]):
                return str(task["id"])
    raise AssertionError(text)


def started(deployed: Deployed, task_id: str) -> bool:
    client = deployed.backend.stepfunctions
    listed = client.list_executions(stateMachineArn=deployed.backend.state_machine_arn)["executions"]
    return any(task_id in each["name"] for each in listed)


def test_the_state_machines_last_resort_fails_a_turn_that_never_settled(deployed: Deployed) -> None:
    reply = deployed.call("SendMessage", {"message": message("lost", "flow-4"), **IMMEDIATELY})
    task_id = reply["result"]["task"]["id"]

    deployed.invoke("sweep", {"fail": deployed.started(task_id)})

    failed = deployed.http("GET", f"/tasks/{task_id}")[1]
    assert failed["status"]["state"] == "TASK_STATE_FAILED"
    assert "Reference: " in failed["status"]["message"]["parts"][0]["text"]


def test_large_content_is_shown_as_an_address_that_serves_it(deployed: Deployed) -> None:
    content = bytes(range(256)) * 2048
    parts = [{"raw": base64.b64encode(content).decode(), "mediaType": "image/png", "filename": "a.png"}]
    reply = deployed.call(
        "SendMessage", {"message": {**message("", "flow-5"), "parts": parts}, **IMMEDIATELY}
    )
    task_id = reply["result"]["task"]["id"]
    deployed.invoke("turn", deployed.started(task_id))

    [part] = deployed.http("GET", f"/tasks/{task_id}")[1]["artifacts"][0]["parts"]
    status, served = deployed.http("GET", part["url"].partition("/prod")[2])

    assert part["metadata"]["byteSize"] == len(content)
    assert (status, base64.b64decode(served)) == (200, content)


def test_a_message_sent_twice_through_different_bindings_is_one_task(deployed: Deployed) -> None:
    body = {"message": message("twice", "flow-6"), **IMMEDIATELY}

    first = deployed.call("SendMessage", body)["result"]["task"]
    second = deployed.http("POST", "/message:send", body)[1]["task"]

    assert second["id"] == first["id"]


def test_an_agent_that_does_not_stop_takes_its_process_with_it(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []

    def never_stops(*_: object) -> None:
        raise AgentStillRunningError

    monkeypatch.setattr(deployed.modules["turn"], "run_turn", never_stops)
    monkeypatch.setattr(deployed.modules["turn"].os, "_exit", ended.append)

    deployed.invoke("turn", {"tenant": "", "owner": "o", "task": "t", "turn": 1})

    assert ended == [1]
