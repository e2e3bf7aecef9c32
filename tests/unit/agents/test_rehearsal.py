"""The rehearsal of agents keeps the rules of a deployment, and says which one an agent breaks."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import a2a_serverless.agent
from a2a_agents import fulfilment
from a2a_serverless.agent import (
    ArtifactChunk,
    ArtifactFile,
    Completed,
    Failed,
    InputRequired,
    Message,
    Part,
    Permission,
    Turn,
    Update,
    Working,
)
from a2a_serverless.agent.rehearsal import RehearsalError, TaskState, rehearse
from a2a_serverless.protocol.objects import Role

DELETE = Permission("stack.delete", "Delete the stack shop?", target="shop")


async def silent(turn: Turn) -> AsyncIterator[Update]:
    return
    yield


def test_a_conversation_is_told_turn_by_turn() -> None:
    happened = rehearse(fulfilment.agent, "Order ORD-1042 is damaged", "See damage.jpg")

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert happened.turns[0].text == "Please provide a photo showing the damaged item."
    assert happened.texts == {
        "replacement-decision-1042": "Approved. Reserve SKU-RED-42 and dispatch with priority shipping."
    }
    assert (happened.state, happened.text, happened.saved) == (TaskState.COMPLETED, "", {})
    assert happened.updates[0] == Working("Looking up order ORD-1042")


def test_falling_off_the_end_completes_the_task() -> None:
    assert rehearse(silent, "Hello").state is TaskState.COMPLETED


def test_nothing_is_asked_of_an_agent_after_an_outcome() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Failed("It cannot be done.")
        raise AssertionError

    happened = rehearse(agent, "Do it")

    assert (happened.state, happened.text) == (TaskState.FAILED, "It cannot be done.")


def test_a_message_continues_a_task_that_waits_and_opens_another_otherwise() -> None:
    seen: list[tuple[str, int, dict[str, Any]]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        seen.append((turn.task_id, len(turn.history), dict(turn.state)))
        turn.state["turns"] = len(seen)
        yield ArtifactChunk(f"answer-{len(seen)}", "Yes.")
        if len(seen) == 1:
            yield InputRequired("Sure?")

    happened = rehearse(agent, "One", "Two", "Three", state={"known": True})

    assert seen == [
        ("task-1", 0, {"known": True}),
        ("task-1", 2, {"known": True, "turns": 1}),
        ("task-2", 0, {"known": True, "turns": 2}),
    ]
    assert happened.saved == {"known": True, "turns": 3}
    assert list(happened.artifacts) == ["answer-3"]


def test_whatever_a_caller_says_becomes_a_message() -> None:
    heard: list[Message] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        heard.append(turn.message)
        yield Completed(f"{turn.caller['sub']} wants {turn.accepted_output_modes[0]}")

    own = Message(message_id="mine", role=Role.USER, parts=(Part(text="d"),))
    happened = rehearse(
        agent,
        "a",
        Part(data={"b": 1}),
        [Part(text="c"), Part(raw=b"c")],
        own,
        caller={"sub": "alice"},
        accepted_output_modes=["text/plain"],
    )

    assert [message.parts for message in heard] == [
        (Part(text="a"),),
        (Part(data={"b": 1}),),
        (Part(text="c"), Part(raw=b"c")),
        own.parts,
    ]
    assert heard[-1].message_id == "mine"
    assert happened.text == "alice wants text/plain"


def test_pieces_of_an_artifact_are_put_together_as_a_deployment_does() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield ArtifactChunk("report", "Every", name="Report")
        yield ArtifactChunk("report", "thing")
        yield ArtifactChunk("report", parts=[Part(data={"fine": True}), Part(text="Yes")])
        yield ArtifactChunk("report", ".", last_chunk=True)
        if not turn.history:
            yield ArtifactChunk("list", "1")
            yield InputRequired("And?")
        yield ArtifactChunk("list", "2", append=True)

    happened = rehearse(agent, "Report", "Go on")

    report = happened.artifacts["report"]
    assert report.name == "Report"
    assert report.parts == (Part(text="Everything"), Part(data={"fine": True}), Part(text="Yes."))
    assert happened.texts == {"report": "EverythingYes.", "list": "12"}


def test_files_become_artifacts_whatever_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "plan.txt"
    file.write_bytes(b"plan")

    async def pieces() -> AsyncIterator[bytes]:
        yield b"pi"
        yield b"eces"

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield ArtifactFile("a", file, "text/plain", filename="plan.txt", description="The plan")
        yield ArtifactFile("b", pieces())
        yield ArtifactFile("c", [b"x", b"y"])

    made = rehearse(agent, "Make files").artifacts

    assert [made[name].parts[0].raw for name in "abc"] == [b"plan", b"pieces", b"xy"]
    assert (made["a"].parts[0].filename, made["a"].description) == ("plan.txt", "The plan")


async def deleting(turn: Turn) -> AsyncIterator[Update]:
    turn.state["calls"] = turn.state.get("calls", 0) + 1
    if await turn.ask_permission(DELETE):
        yield Completed("Deleted.")
    else:
        yield Completed("Kept.")


def test_a_turn_ends_with_the_question_where_nobody_decides() -> None:
    happened = rehearse(deleting, "Delete it")

    assert (happened.state, happened.text) == (TaskState.INPUT_REQUIRED, "Delete the stack shop?")
    assert (happened.asked, happened.saved) == ((DELETE,), {"calls": 1})


@pytest.mark.parametrize("decisions", [{"stack.delete": False}, [False], lambda permission: False])
def test_a_decision_starts_the_next_turn_from_the_beginning(decisions: Any) -> None:
    happened = rehearse(deleting, "Delete it", decisions=decisions)

    assert [turn.state for turn in happened.turns] == [TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert (happened.text, happened.saved) == ("Kept.", {"calls": 2})
    assert happened.turns[1].message.parts[0].data == {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": "task-1",
        "inputId": "stack.delete",
        "decision": "deny",
    }


def test_a_decision_nobody_prepared_is_said_to_be_missing() -> None:
    for decisions in ({"other": True}, []):
        with pytest.raises(RehearsalError, match=r"stack\.delete"):
            rehearse(deleting, "Delete it", decisions=decisions)


def test_an_agent_that_forgets_what_was_allowed_is_told_so() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        await turn.ask_permission(Permission("a", "A?"))
        await turn.ask_permission(Permission("b", "B?"))
        yield Completed()

    with pytest.raises(RehearsalError, match=r"keep in turn\.state what was done"):
        rehearse(agent, "Do both", decisions=lambda _: True)


async def counting(turn: Turn) -> AsyncIterator[Update]:
    for number in range(turn.state.get("done", 0), 3):
        yield ArtifactChunk("numbers", str(number))
        turn.state["done"] = number + 1
        await turn.checkpoint()
    yield Completed(f"{turn.segment} invocations")


def test_an_agent_goes_on_from_its_checkpoints() -> None:
    assert rehearse(counting, "Count").text == "1 invocations"

    happened = rehearse(counting, "Count", resume=True)

    assert (happened.text, happened.texts) == ("3 invocations", {"numbers": "012"})
    assert (len(happened.turns), happened.turns[0].segments) == (1, 3)


def test_an_agent_that_waits_is_called_again() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.segment < 3:
            await turn.checkpoint(resume_after=300)
        yield Completed()

    assert rehearse(agent, "Wait").turns[0].segments == 3


def test_an_agent_that_never_comes_further_is_told_so() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        await turn.checkpoint(resume_after=1)
        yield Completed()

    with pytest.raises(RehearsalError, match=r"keep in turn\.state how far"):
        rehearse(agent, "Wait")


def test_files_are_kept_from_turn_to_turn_and_those_of_a_crash_are_not() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        before = await turn.workspace.read("notes.txt")
        await turn.workspace.write("notes.txt", before + turn.message.message_id[-1:].encode())
        yield Working(f"{turn.remaining_seconds():.0f}")

    happened = rehearse(agent, "a", "b", files={"notes.txt": b"notes"})

    assert happened.files == {"notes.txt": b"notes12"}


@pytest.mark.parametrize(
    ("yielded", "words"),
    [
        (None, "yields updates, not NoneType"),
        ("Done", "yields updates, not str"),
        (ArtifactChunk("a/b", "text"), "'a/b' is no id of an artifact"),
        (ArtifactChunk("empty"), "has neither text nor parts"),
    ],
)
def test_what_a_deployment_would_not_take_is_refused(yielded: Any, words: str) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield yielded

    with pytest.raises(RehearsalError, match=words):
        rehearse(agent, "Do it")


def test_an_agent_that_is_no_generator_is_refused() -> None:
    def agent(turn: Turn) -> Any:
        return [Completed()]

    with pytest.raises(RehearsalError, match="async generator"):
        rehearse(agent, "Do it")


def test_state_that_json_cannot_hold_is_refused() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["when"] = object()
        yield Completed()

    with pytest.raises(RehearsalError, match=r"turn\.state holds what JSON cannot hold"):
        rehearse(agent, "Do it")


def test_what_an_agent_raises_rises() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rehearse(agent, "Do it")


def test_an_agent_that_takes_too_long_is_stopped() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        await asyncio.Event().wait()
        yield Completed()

    with pytest.raises(TimeoutError):
        rehearse(agent, "Do it", timeout=0.01)


def test_it_may_be_called_where_a_loop_runs() -> None:
    async def inside() -> TaskState:
        return rehearse(silent, "Hello").state

    assert asyncio.run(inside()) is TaskState.COMPLETED


def test_nothing_said_is_no_rehearsal() -> None:
    with pytest.raises(ValueError, match="at least one message"):
        rehearse(silent)


def test_files_that_a_message_names_come_along_with_it() -> None:
    heard: list[tuple[bytes | None, str, bytes]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for part, attachment in zip(turn.message.parts, turn.attachments, strict=True):
            heard.append((part.raw, attachment.source, await attachment.read()))
        yield Completed()

    rehearse(agent, [Part(raw=b"a"), Part(url="file:///notes.txt")], files={"notes.txt": b"notes"})

    assert heard == [(b"a", "raw", b"a"), (b"notes", "file:///notes.txt", b"notes")]


def test_an_agent_sees_the_tasks_before_its_own() -> None:
    seen: list[list[str]] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        seen.append([task.artifacts[0].artifact_id for task in turn.earlier_tasks])
        yield ArtifactChunk(f"made-{len(seen)}", "x")

    rehearse(agent, *("again",) * 12)

    assert (seen[0], seen[1]) == ([], ["made-1"])
    assert seen[11] == [f"made-{number}" for number in range(2, 12)]


def test_what_the_documentation_rehearses_happens() -> None:
    text = (Path(a2a_serverless.agent.__file__).parent / "README.md").read_text(encoding="utf-8")
    agent, rehearsed = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}

    exec(agent + rehearsed, names)  # noqa: S102  our own examples

    assert names["happened"].saved == {"pictures": 1}
