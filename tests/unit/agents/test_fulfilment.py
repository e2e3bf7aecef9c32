"""The fulfilment agent as its callers meet it: through turns, without any storage."""

from typing import Any

import pytest

from a2a_agents import echo, fulfilment
from a2a_agents.fulfilment import policy
from a2a_serverless.agent import Message, Part
from a2a_serverless.operations.read import get_task
from a2a_serverless.protocol.objects import Artifact, Role, Task, TaskState
from a2a_serverless.protocol.requests import GetTaskRequest
from tests.unit.operations.world import CALLER, World


def message(*parts: Part) -> Message:
    return Message(message_id="m", role=Role.USER, parts=parts)


@pytest.fixture
def world() -> World:
    return World(agent=fulfilment.agent)


def said(world: World, message_id: str, text: str, **ids: str) -> Task:
    """The task after the turn that this text starts."""
    sent = world.send(message_id, text, **ids)
    world.run_turns()
    return get_task(world.ports, CALLER, GetTaskRequest(id=sent.id))


def question(task: Task) -> str | None:
    assert task.status.message is not None
    return task.status.message.parts[0].text


def test_a_damaged_order_is_replaced_once_its_photo_arrives(world: World) -> None:
    asked = said(
        world, "msg-order-1042", "Investigate damaged order ORD-1042 and prepare a replacement decision."
    )
    assert asked.status.state is TaskState.INPUT_REQUIRED
    assert question(asked) == "Please provide a photo showing the damaged item."

    decided = said(
        world,
        "msg-order-1042-photo",
        "Evidence received and approved: damage-photo-8841.jpg",
        context_id=asked.context_id or "",
    )

    assert decided.id == asked.id
    assert decided.status.state is TaskState.COMPLETED
    assert decided.artifacts == (
        Artifact(
            artifact_id="replacement-decision-1042",
            name="Replacement decision",
            parts=(Part(text="Approved. Reserve SKU-RED-42 and dispatch with priority shipping."),),
        ),
    )
    assert [entry.role for entry in decided.history] == [Role.USER, Role.AGENT, Role.USER]


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("My order is broken", TaskState.INPUT_REQUIRED, "Which order is it about?"),
        ("ORD-9999 is broken", TaskState.REJECTED, "There is no order ORD-9999."),
        ("ORD-1042 is broken", TaskState.INPUT_REQUIRED, "a photo"),
    ],
)
def test_what_cannot_be_decided_is_asked_or_rejected(
    world: World, text: str, state: TaskState, words: str
) -> None:
    task = said(world, "m1", text)

    assert task.status.state is state
    assert words in (question(task) or "")


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("ORD-1043 is broken", "Approved. Reserve SKU-MUG-07 and dispatch with standard shipping."),
        ("ORD-1044 is broken, see lamp.png", "Declined. Order ORD-1044 was delivered more than 30 days ago."),
        ("ORD-1045 is broken, see blue.jpeg", "Approved. SKU-BLUE-9 is out of stock; refund 240 EUR."),
    ],
)
def test_the_policy_and_the_stock_decide(world: World, text: str, decision: str) -> None:
    task = said(world, "m1", text)

    assert task.status.state is TaskState.COMPLETED
    assert [artifact.parts[0].text for artifact in task.artifacts] == [decision]


def test_an_answer_without_a_photo_is_asked_again(world: World) -> None:
    asked = said(world, "m1", "ORD-1042 is broken")

    again = said(world, "m2", "It really is", task_id=asked.id)

    assert (again.id, again.status.state) == (asked.id, TaskState.INPUT_REQUIRED)


@pytest.mark.parametrize(
    ("part", "evidence"),
    [
        (Part(raw=b"jpeg", media_type="image/jpeg", filename="door.jpg"), "door.jpg"),
        (Part(raw=b"png", media_type="image/png"), "photo"),
        (Part(text="see IMG_01.JPG"), "IMG_01.JPG"),
        (Part(text="no picture"), None),
    ],
)
def test_a_photo_counts_as_evidence_however_it_comes(part: Part, evidence: str | None) -> None:
    assert fulfilment.evidence_in(message(part)) == evidence


def test_echo_gives_back_every_part(world: World) -> None:
    world.agent = echo.agent

    task = said(world, "m1", "hello")

    assert [artifact.parts for artifact in task.artifacts] == [(Part(text="hello"),)]


def test_profiles_say_what_the_card_needs() -> None:
    profiles: list[Any] = [echo.profile, fulfilment.profile]

    assert all(profile.name and profile.description and profile.skills for profile in profiles)


def test_what_callers_are_told_of_the_policy_is_what_decides() -> None:
    additions = fulfilment.extended_card({"iss": "principals", "sub": "alice"})

    (skill,) = additions.skills
    assert skill.id not in {public.id for public in fulfilment.profile.skills}
    assert f"{policy.WINDOW_DAYS} days" in skill.description
    assert f"price of {policy.PHOTO_FROM}" in skill.description


def test_the_example_of_the_policy_needs_no_further_question(world: World) -> None:
    (skill,) = fulfilment.extended_card({}).skills

    assert said(world, "at-once", skill.examples[0]).status.state is TaskState.COMPLETED
