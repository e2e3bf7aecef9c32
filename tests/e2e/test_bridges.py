"""Agents of frameworks over the whole deployment: what they ask and remember outlives every process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from a2a.types import Part
from google.protobuf.json_format import MessageToDict

from tests.e2e.callers import Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, Call
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, LocalStack, running
from tests.e2e.test_permissions import answer, question


@pytest.fixture(scope="module")
def bridged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Agents of Strands and LangGraph."""
    with running(tmp_path_factory.mktemp("bridged"), "--agent", "tests.e2e.bridged:agent") as stack:
        yield stack


def response(task: Task) -> str:
    """What the agent has answered."""
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    (artifact,) = task.artifacts
    assert artifact.artifact_id == "response"
    return "".join(part.text for part in artifact.parts)


@pytest.mark.parametrize("binding", BINDINGS)
def test_what_strands_asks_is_answered_in_another_process(
    bridged: LocalStack, call: Call, binding: str
) -> None:
    caller = call(bridged, binding)
    asked = caller.send("strands delete cup")
    assert question(asked)["tool"] == "delete"
    assert question(asked)["arguments"] == {"name": "cup"}
    bridged.replace_functions()

    done = caller.send(answer(question(asked)), task_id=asked.id)
    assert response(done).startswith("I delete it.\n\nDone: cup deleted by ")

    refused = caller.send("strands delete plate", context_id=done.context_id)
    denied = caller.send(answer(question(refused), "deny"), task_id=refused.id)
    assert "Done: CONFIRMATION_FAILED" in response(denied)


def test_an_image_is_seen_again_in_the_next_task_of_the_conversation(bridged: LocalStack, call: Call) -> None:
    caller = call(bridged)
    photo = Part(raw=bytes(range(256)) * 1_000, media_type="image/png", filename="cup.png")

    first = caller.send("strands look", photo)
    bridged.replace_functions()
    second = caller.send("and now?", context_id=first.context_id)

    assert response(first) == "I heard 1 texts and saw 256000 bytes of images."
    assert response(second) == "I heard 2 texts and saw 256000 bytes of images."


def test_what_a_graph_asks_is_answered_in_another_process(bridged: LocalStack, call: Call) -> None:
    caller = call(bridged)
    asked = caller.send("langgraph ask")
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    text, choices = asked.status.message.parts
    assert text.text == "Where to?"
    assert MessageToDict(choices)["data"]["choices"] == ["Rome", "Oslo"]
    bridged.replace_functions()

    done = caller.send("Rome", task_id=asked.id)
    assert response(done).startswith("Rome, said ")

    later = caller.send("one more", context_id=done.context_id)
    assert response(later) == "Heard: langgraph ask | one more"


def test_callers_hear_nothing_of_each_other_and_text_streams(bridged: LocalStack, call: Call) -> None:
    caller = call(bridged)
    said = caller.stream("langgraph one")
    other = caller.send("langgraph two")

    pieces = [each.artifact_update.artifact for each in said if each.HasField("artifact_update")]
    assert "".join(part.text for piece in pieces for part in piece.parts) == "Heard: langgraph one"
    assert response(other) == "Heard: langgraph two"


def test_canceling_a_task_stops_the_run_of_its_framework(
    bridged: LocalStack, call: Call, desk: Desk, background: ThreadPoolExecutor
) -> None:
    caller, waiter = call(bridged), call(bridged)
    waiting = background.submit(waiter.send, f"strands {desk.order}")
    desk.wait_until_working()
    (running_task,) = caller.list(status=TaskState.TASK_STATE_WORKING).tasks

    canceled = caller.cancel(running_task.id)
    desk.wait_until_stopped()

    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert waiting.result(PATIENCE).id == canceled.id
    assert texts(caller.get(canceled.id).history[0]) == [f"strands {desk.order}"]
