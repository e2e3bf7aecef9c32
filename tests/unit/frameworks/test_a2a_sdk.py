"""Executors of the official SDK behind the bridge."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from a2a.helpers.proto_helpers import get_message_text, new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import a2a_pb2 as pb

from a2a_serverless.agent import ArtifactChunk, Completed, Part, Rejected, Turn, Update, Working
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks import a2a_sdk
from tests.unit.frameworks.callers import (
    PNG,
    Endless,
    cancelled_once,
    chunks_of,
    heard_from,
    turn,
    updates_of,
)

Execute = Callable[[RequestContext, EventQueue, TaskUpdater], Awaitable[None]]


class Scripted(AgentExecutor):
    """An executor of one function."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self.cancelled: list[str | None] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await self._execute(
            context, event_queue, TaskUpdater(event_queue, context.task_id, context.context_id)
        )

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.cancelled.append(context.task_id)
        raise NotImplementedError("cancel not supported")


def said(updater: TaskUpdater, text: str) -> pb.Message:
    return updater.new_agent_message([pb.Part(text=text)])


async def conversing(context: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
    """The executor that the SDK's documentation shows: a task, work, a question, an artifact in pieces."""
    task = context.current_task
    if task is None:
        assert context.message is not None
        await queue.enqueue_event(new_task_from_user_message(context.message))
        await updater.start_work(said(updater, "Looking up"))
        await updater.requires_input(said(updater, "Where to?"))
        return
    asked = get_message_text(task.status.message)
    first = get_message_text(task.history[0])
    name = "where"
    await updater.add_artifact([pb.Part(text=f"{first} ")], artifact_id=name, name="Where", append=False)
    await updater.add_artifact([pb.Part(text=f"{asked} ")], artifact_id=name, name="Where", append=True)
    text = context.get_user_input()
    await updater.add_artifact([pb.Part(text=text)], artifact_id=name, append=True, last_chunk=True)
    await updater.complete(said(updater, "Sent."))


def test_an_executor_works_asks_and_goes_on_with_the_task_as_it_was() -> None:
    happened = rehearse(a2a_sdk.agent(Scripted(conversing)), "Send it", "Rome")

    assert happened.turns[0].updates[0] == Working(parts=[Part(text="Looking up")])
    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.INPUT_REQUIRED, "Where to?"),
        (TaskState.COMPLETED, "Sent."),
    ]
    assert happened.texts == {"where": "Send it Where to? Rome"}
    assert happened.artifacts["where"].name == "Where"
    chunks = [update for update in happened.updates if isinstance(update, ArtifactChunk)]
    assert [(chunk.append, chunk.last_chunk) for chunk in chunks] == [
        (False, False),
        (True, False),
        (True, True),
    ]


def test_an_executor_may_answer_with_a_message() -> None:
    async def answer(context: RequestContext, queue: EventQueue, _: TaskUpdater) -> None:
        await queue.enqueue_event(new_text_message(f"You said {context.get_user_input()}."))

    updates = updates_of(a2a_sdk.agent(Scripted(answer)), turn("Hi"))

    assert updates == [Completed(parts=[Part(text="You said Hi.")])]


def test_an_executor_finds_the_caller_the_turn_and_what_was_asked_for() -> None:
    async def look(context: RequestContext, _: EventQueue, updater: TaskUpdater) -> None:
        given: Turn = context.call_context.state["turn"]
        given.state["seen"] = given.state.get("seen", 0) + 1
        user = context.call_context.user
        assert context.configuration is not None
        found = [user.user_name, user.is_authenticated, list(context.configuration.accepted_output_modes)]
        await updater.complete(said(updater, str([*found, given.state["seen"]])))

    happened = rehearse(
        a2a_sdk.agent(lambda _: Scripted(look)),
        "One",
        "Two",
        caller={"sub": "alice"},
        accepted_output_modes=["text/plain"],
    )

    assert happened.text == "['alice', True, ['text/plain'], 2]"


def test_content_of_every_kind_goes_in_and_out() -> None:
    async def copy(context: RequestContext, _: EventQueue, updater: TaskUpdater) -> None:
        assert context.message is not None
        await updater.add_artifact(list(context.message.parts), artifact_id="copy", metadata={"of": "all"})

    sent = (
        Part(text="a", metadata={"b": 1}),
        Part(data={"order": [1042]}),
        Part(raw=PNG, media_type="image/png", filename="cup.png"),
    )
    happened = rehearse(a2a_sdk.agent(Scripted(copy)), sent)

    assert happened.state is TaskState.COMPLETED
    assert happened.artifacts["copy"].parts == sent
    assert happened.artifacts["copy"].metadata == {"of": "all"}


def test_files_of_the_conversation_are_read() -> None:
    async def read(context: RequestContext, _: EventQueue, updater: TaskUpdater) -> None:
        assert context.message is not None
        await updater.complete(said(updater, context.message.parts[0].raw.decode()))

    served = a2a_sdk.agent(Scripted(read))
    happened = rehearse(served, Part(url="file:///a/list.txt"), files={"a/list.txt": b"one"})
    assert happened.text == "one"

    assert rehearse(served, Part(url="file:///gone.txt")).state is TaskState.REJECTED


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("failed", TaskState.FAILED),
        ("reject", TaskState.REJECTED),
        ("requires_auth", TaskState.AUTH_REQUIRED),
        ("cancel", TaskState.REJECTED),
    ],
)
def test_how_an_executor_ends_its_task_is_how_it_ends(state: str, ended: TaskState) -> None:
    async def end(_: RequestContext, __: EventQueue, updater: TaskUpdater) -> None:
        await getattr(updater, state)(updater.new_agent_message([pb.Part(text="Because.")]))

    happened = rehearse(a2a_sdk.agent(Scripted(end)), "Go")

    assert (happened.state, happened.text) == (ended, "Because.")


def test_an_executor_that_gives_up_without_a_word_is_said_to() -> None:
    async def end(_: RequestContext, __: EventQueue, updater: TaskUpdater) -> None:
        await updater.cancel()

    updates = updates_of(a2a_sdk.agent(Scripted(end)), turn("Go"))

    assert updates == [Rejected("The agent gave the task up.", [])]


def test_a_whole_task_may_be_published() -> None:
    async def publish(context: RequestContext, queue: EventQueue, _: TaskUpdater) -> None:
        status = pb.TaskStatus(state=pb.TaskState.TASK_STATE_COMPLETED)
        artifact = pb.Artifact(artifact_id="whole", parts=[pb.Part(text="all of it")])
        await queue.enqueue_event(
            pb.Task(id=context.task_id, context_id=context.context_id, status=status, artifacts=[artifact])
        )

    assert rehearse(a2a_sdk.agent(Scripted(publish)), "Go").texts == {"whole": "all of it"}


def test_an_empty_last_piece_ends_an_artifact_and_another_is_nothing() -> None:
    async def publish(_: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        await updater.add_artifact([pb.Part(text="all")], artifact_id="a")
        await updater.add_artifact([], artifact_id="a", append=True)
        await updater.add_artifact([], artifact_id="a", append=True, last_chunk=True)

    updates = updates_of(a2a_sdk.agent(Scripted(publish)), turn("Go"))

    assert [update.last_chunk for update in updates if isinstance(update, ArtifactChunk)] == [False, True]


def test_what_an_executor_publishes_is_as_it_was_then() -> None:
    async def reuse(_: RequestContext, queue: EventQueue, updater: TaskUpdater) -> None:
        event = pb.TaskArtifactUpdateEvent(artifact=pb.Artifact(artifact_id="a", parts=[pb.Part(text="one")]))
        await queue.enqueue_event(event)
        event.artifact.parts[0].text = "two"
        event.append = True
        await queue.enqueue_event(event)

    assert chunks_of(updates_of(a2a_sdk.agent(Scripted(reuse)), turn("Go"))) == ["one", "two"]


def test_an_executor_may_tidy_up_after_its_task_has_ended() -> None:
    tidied: list[bool] = []

    async def end(_: RequestContext, __: EventQueue, updater: TaskUpdater) -> None:
        await updater.complete()
        await asyncio.sleep(0)
        tidied.append(True)

    rehearse(a2a_sdk.agent(Scripted(end)), "Go")

    assert tidied == [True]


def test_what_an_executor_raises_rises() -> None:
    async def fail(_: RequestContext, __: EventQueue, updater: TaskUpdater) -> None:
        await updater.start_work()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        updates_of(a2a_sdk.agent(Scripted(fail)), turn("Go"))


def test_a_cancelled_turn_cancels_the_executor_and_tells_it() -> None:
    work = Endless()

    async def labour(_: RequestContext, __: EventQueue, ___: TaskUpdater) -> None:
        await work.work()

    executor = Scripted(labour)
    asyncio.run(cancelled_once(work, a2a_sdk.agent(executor)))

    assert work.cleaned
    assert executor.cancelled == ["t"]


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    both = asyncio.Event()
    waiting: list[str] = []

    async def wait(context: RequestContext, _: EventQueue, updater: TaskUpdater) -> None:
        waiting.append(context.get_user_input())
        if len(waiting) == 2:
            both.set()
        await both.wait()
        await updater.complete(said(updater, context.get_user_input()))

    async def talk() -> list[list[Update]]:
        served = a2a_sdk.agent(Scripted(wait))
        return await asyncio.gather(*(heard_from(served, turn(name, task_id=name)) for name in ("a", "b")))

    told: list[Any] = asyncio.run(talk())
    assert [updates[-1].parts[0].text for updates in told] == ["a", "b"]
