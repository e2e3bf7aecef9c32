"""Conversations as people have them: the walk-through of order ORD-1042, answers, parallel talks, retries."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from a2a.types import Role
from google.protobuf.json_format import MessageToDict

from tests.e2e.callers import Caller, Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, Call
from tests.e2e.stack import LocalStack

QUESTION = "Please provide a photo showing the damaged item."
ORDER = "Investigate damaged order ORD-1042 and prepare a replacement decision."
PHOTO = "Evidence received and approved: damage-photo-8841.jpg"
DECISION = "Approved. Reserve SKU-RED-42 and dispatch with priority shipping."


def answer_by(way: str, asked: Task) -> Mapping[str, Any]:
    """How an answer says what it is an answer to."""
    ids = {"context_id": asked.context_id, "task_id": asked.id}
    return {name: value for name, value in ids.items() if way in (name, "both")}


@pytest.mark.parametrize("way", ["context_id", "task_id", "both"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_damaged_order_is_asked_about_and_decided_on(
    fulfilment: LocalStack, call: Call, binding: str, way: str
) -> None:
    caller = call(fulfilment, binding)
    name = f"{binding}-{way}"

    asked = caller.send(ORDER, message_id=f"order-{name}")

    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert texts(asked.status.message) == [QUESTION]
    assert not asked.artifacts

    decided = caller.send(PHOTO, message_id=f"photo-{name}", **answer_by(way, asked))

    assert (decided.id, decided.context_id) == (asked.id, asked.context_id)
    assert decided.status.state == TaskState.TASK_STATE_COMPLETED
    (artifact,) = decided.artifacts
    assert (artifact.artifact_id, artifact.name) == ("replacement-decision-1042", "Replacement decision")
    assert [part.text for part in artifact.parts] == [DECISION]
    assert said_in(decided) == [
        (Role.ROLE_USER, ORDER),
        (Role.ROLE_AGENT, QUESTION),
        (Role.ROLE_USER, PHOTO),
    ]
    assert caller.get(asked.id) == decided


def said_in(task: Task) -> Sequence[tuple[Role, str]]:
    """Who said what."""
    return [(message.role, text) for message in task.history for text in texts(message)]


def test_the_agent_is_discovered_with_both_bindings(fulfilment: LocalStack, call: Call) -> None:
    card = call(fulfilment).card

    assert [(each.protocol_binding, each.url) for each in card.supported_interfaces] == [
        (binding, fulfilment.url) for binding in BINDINGS
    ]
    assert [skill.id for skill in card.skills] == ["order_investigation"]


def test_what_is_begun_over_one_binding_goes_on_over_the_other(fulfilment: LocalStack, call: Call) -> None:
    rpc, rest = (call(fulfilment, binding) for binding in BINDINGS)

    asked = rpc.send(ORDER)
    decided = rest.send(PHOTO, task_id=asked.id)

    assert rpc.get(asked.id) == decided == rest.get(asked.id)
    assert decided.status.state == TaskState.TASK_STATE_COMPLETED


def test_a_task_waits_through_a_replacement_of_every_function(workshop: LocalStack, call: Call) -> None:
    caller = call(workshop, name="alice")
    asked = caller.send("remember this")

    workshop.replace_functions()
    told = caller.send("done", context_id=asked.context_id)

    assert told.id == asked.id
    assert told.status.state == TaskState.TASK_STATE_COMPLETED
    memory = memory_in(told)
    assert memory["heard"] == ["remember this", "done"]
    assert len(set(memory["pids"])) == 2


def test_contexts_in_parallel_do_not_mix(workshop: LocalStack, background: ThreadPoolExecutor) -> None:
    subjects = ["apples", "pears", "plums", "figs"]

    talks = list(background.map(lambda subject: talk(workshop, subject), subjects))

    assert [memory_in(told)["heard"] for told in talks] == [
        [f"remember {subject}", f"more {subject}", f"{subject} done"] for subject in subjects
    ]
    assert len({told.context_id for told in talks}) == len(subjects)


def talk(stack: LocalStack, subject: str) -> Task:
    """Three messages about one subject, each an answer by the context alone."""
    with Caller(stack, token="alice-opens-this") as caller:
        begun = caller.send(f"remember {subject}")
        caller.send(f"more {subject}", context_id=begun.context_id)
        return caller.send(f"{subject} done", context_id=begun.context_id)


def memory_in(task: Task) -> Mapping[str, Any]:
    """The data of the one artifact."""
    (artifact,) = task.artifacts
    (part,) = artifact.parts
    memory: dict[str, Any] = json.loads(json.dumps(MessageToDict(part.data)))
    return memory


def test_a_message_sent_twenty_times_at_once_is_one_task_and_one_run(
    workshop: LocalStack, call: Call, tmp_path: Path
) -> None:
    caller = call(workshop, name="alice")

    answers = caller.send_at_once(20, f"mark {tmp_path}")
    again = caller.send(f"mark {tmp_path}", message_id=answers[0].history[0].message_id)

    assert {answer.id for answer in answers} == {again.id}
    assert {answer.status.state for answer in [*answers, again]} == {TaskState.TASK_STATE_COMPLETED}
    assert len(list(tmp_path.iterdir())) == 1
