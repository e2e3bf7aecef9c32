"""Permission over the whole deployment: asked, answered by the official client, whatever dies in between."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from a2a.types import Part
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.e2e.callers import Caller, Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.stack import LocalStack, running
from tests.e2e.test_webhooks import processes

URI = "urn:a2a-serverless:permissions:v1"


@pytest.fixture(scope="module")
def careful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """An agent that asks before it acts, and two principals."""
    tokens = (argument for name, token in TOKENS.items() for argument in ("--token", f"{name}={token}"))
    with running(tmp_path_factory.mktemp("careful"), "--agent", "tests.e2e.patient:agent", *tokens) as stack:
        yield stack


def question(task: Task) -> Mapping[str, Any]:
    """What a program reads of the question."""
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    _, part = task.status.message.parts
    asked: dict[str, Any] = MessageToDict(part)["data"]
    return asked


def answer(asked: Mapping[str, Any], decision: str = "allow_once", **changed: Any) -> Part:
    """What a program answers."""
    data = {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": asked["taskId"],
        "inputId": asked["inputId"],
        "decision": decision,
        **changed,
    }
    return ParseDict({"data": data, "mediaType": "application/json"}, Part())


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_official_client_is_asked_and_allows(
    careful: LocalStack, call: Call, binding: str, tmp_path: Path
) -> None:
    caller = call(careful, binding, "alice")

    assert announced(caller)[URI]["mode"] == "ask"
    asked = caller.send(f"act {tmp_path}")
    assert texts(asked.status.message)[0].startswith("Permission needed: Leave a file\n")
    assert list(asked.status.message.extensions) == [URI]
    assert question(asked)["arguments"] == {"folder": tmp_path.name}
    assert list(tmp_path.iterdir()) == []

    done = caller.send(answer(question(asked)), task_id=asked.id)

    assert (done.id, done.status.state) == (asked.id, TaskState.TASK_STATE_COMPLETED)
    # Allowed once, in both segments of the turn that the answer started.
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == ["1", "2"]


def announced(caller: Caller) -> Mapping[str, Any]:
    """The parameters of the extensions on the card that a caller has found."""
    return {each.uri: MessageToDict(each.params) for each in caller.card.capabilities.extensions}


def test_what_is_denied_is_not_done(careful: LocalStack, call: Call, tmp_path: Path) -> None:
    caller = call(careful, name="alice")
    asked = caller.send(f"act {tmp_path}")

    denied = caller.send(answer(question(asked), "deny"), task_id=asked.id)

    assert denied.status.state == TaskState.TASK_STATE_REJECTED
    assert list(tmp_path.iterdir()) == []


def test_a_question_outlives_every_process(careful: LocalStack, call: Call, tmp_path: Path) -> None:
    caller = call(careful, name="alice")
    asked = caller.send(f"act {tmp_path}")

    for function in ("jsonrpc", "http_json", "turn", "card", "sweep"):
        for process in processes(careful, function):
            os.kill(process, signal.SIGKILL)
    done = patiently(caller, answer(question(asked)), asked.id)

    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    assert len(list(tmp_path.iterdir())) == 2


def patiently(caller: Caller, part: Part, task_id: str) -> Task:
    """Send the same message until a function lives to take it."""
    for _ in range(20):
        try:
            return caller.send(part, task_id=task_id, message_id=f"answer-{task_id}")
        except (A2AError, OSError):
            continue
    raise TimeoutError(task_id)


def test_bad_strange_and_second_answers_are_refused_and_the_task_waits(
    careful: LocalStack, call: Call, tmp_path: Path
) -> None:
    alice, bob = call(careful, name="alice"), call(careful, "HTTP+JSON", "bob")
    asked = alice.send(f"act {tmp_path}")
    data = question(asked)

    for wrong in (answer(data, "always"), answer(data, inputId="x"), answer(data, taskId="y")):
        with pytest.raises(InvalidParamsError):
            alice.send(wrong, task_id=asked.id)
    with pytest.raises(TaskNotFoundError):
        bob.send(answer(data), task_id=asked.id)
    assert alice.get(asked.id) == asked

    alice.send(answer(data), task_id=asked.id)
    with pytest.raises(UnsupportedOperationError):
        alice.send(answer(data), task_id=asked.id)


def test_words_do_not_allow_and_the_agent_asks_again(careful: LocalStack, call: Call, tmp_path: Path) -> None:
    caller = call(careful, name="alice")
    asked = caller.send(f"act {tmp_path}")

    again = caller.send("allow_once", task_id=asked.id)

    assert question(again)["inputId"] != question(asked)["inputId"]
    assert list(tmp_path.iterdir()) == []
    assert caller.cancel(asked.id).status.state == TaskState.TASK_STATE_CANCELED


@pytest.mark.parametrize(
    ("mode", "state", "files"),
    [("allow", TaskState.TASK_STATE_COMPLETED, 2), ("deny", TaskState.TASK_STATE_REJECTED, 0)],
)
def test_a_deployment_that_decides_asks_nobody(
    tmp_path: Path, call: Call, mode: str, state: Any, files: int
) -> None:
    logs, folder = tmp_path / "logs", tmp_path / "folder"
    logs.mkdir()
    folder.mkdir()
    decided = ("--agent", "tests.e2e.patient:agent", "--parameter", f"Permissions={mode}")
    with running(logs, *decided) as stack:
        caller = call(stack)
        assert announced(caller)[URI]["mode"] == mode

        task = caller.send(f"act {folder}")

        assert task.status.state == state
        assert len(list(folder.iterdir())) == files
