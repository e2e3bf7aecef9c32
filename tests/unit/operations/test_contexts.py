"""A conversation from task to task: its workspace, its earlier tasks, a memory that no latecomer writes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from a2a_serverless.agent import ArtifactChunk, Completed, InputRequired, Turn, Update
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.contexts import ANOTHER_WORKSPACE, FIELD, MOST_EARLIER
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import ContextKey, ContextRow
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.objects import Message, Part, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from tests.fakes.ports import FakeContexts
from tests.unit.operations.world import CALLER, ELSEWHERE, Fate, Fault, World, asking, message

URN = "urn:a2a-serverless:files:v1"


def about(number: str, workspace: object = None, **ids: str) -> Message:
    """A message that says which workspace it is about, in the context "c"."""
    said = {} if workspace is None else {"metadata": {URN: {"workspace": workspace}}}
    return message(number, **said, **{"context_id": "c", **ids})


def sent(world: World, said: Message) -> str:
    task = world.answer(asking(said)).task
    assert task is not None
    world.run_turns()
    return task.id


def row(world: World) -> ContextRow:
    return world.ports.contexts.read(CALLER.context("c"))


# --- the workspace -------------------------------------------------


def test_the_first_workspace_that_is_said_binds_the_context() -> None:
    world = World()

    sent(world, about("m0"))
    assert row(world).workspace is None
    sent(world, about("m1", "shop"))
    sent(world, about("m2"))
    sent(world, about("m3", "shop"))

    assert row(world).workspace == "shop"


@pytest.mark.parametrize("by_task", [False, True])
def test_a_message_about_another_workspace_is_refused_and_leaves_nothing_behind(*, by_task: bool) -> None:
    world = World()
    task_id = sent(world, about("ask", "shop"))
    waiting = sent(world, message("m1", Part(text="ask"), context_id="c"))
    before = dict(world.table.items), dict(world.contents.stored)
    ids = {"task_id": waiting} if by_task else {}

    with pytest.raises(InvalidParamsError) as error:
        world.answer(asking(about("m2", "garden", **ids)))

    assert task_id != waiting
    assert error.value.message == ANOTHER_WORKSPACE == "A2A context belongs to a different workspace."
    assert [each.field for each in error.value.violations] == [FIELD]
    assert (world.table.items, world.contents.stored) == before


def test_contexts_of_other_tenants_are_bound_apart() -> None:
    world = World()
    sent(world, about("m0", "shop"))

    assert world.answer(asking(about("m1", "garden")), ELSEWHERE).task is not None


def test_a_message_that_was_admitted_is_admitted_again_whatever_became_of_its_context() -> None:
    world = World()
    first = sent(world, about("m0", "shop"))
    sent(world, about("m1", "shop"))

    assert sent(world, about("m0", "shop")) == first


@pytest.mark.parametrize("workspace", ["", "a b", "../x", 7, ["shop"], "x" * 129])
def test_a_workspace_is_an_id(workspace: object) -> None:
    world = World()

    with pytest.raises(InvalidParamsError) as error:
        world.answer(asking(about("m", workspace)))

    assert [each.field for each in error.value.violations] == [FIELD]
    assert world.table.items == {}


@pytest.mark.parametrize("said", [{}, {"workspace": None}, "shop", None])
def test_metadata_that_says_no_workspace_binds_nothing(said: object) -> None:
    world = World()

    sent(world, message("m", context_id="c", metadata={URN: said}))

    assert row(world).workspace is None


def test_of_two_messages_about_two_workspaces_the_one_that_takes_the_context_binds_it() -> None:
    """Both were checked while the context was unbound; the slower one finds it taken."""
    world = World()
    quick: list[str] = []
    fate = Fate(at=2, fault=Fault.MEDDLED, meddler=lambda: quick.append(sent(world, about("quick", "shop"))))

    with pytest.raises(InvalidParamsError) as error:
        world.answer(asking(about("slow", "garden")), ports=world.doomed(fate))

    assert error.value.message == ANOTHER_WORKSPACE
    assert row(world).workspace == "shop"
    assert world.get(quick[0]).status.state is TaskState.COMPLETED
    world.recover()
    assert world.pending() == []
    assert [task for task in world.logs() if world.load(task.task_id).exists] == [CALLER.task(quick[0])]


# --- earlier tasks -------------------------------------------------


class Looking:
    """An agent that notes the tasks before its own."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[str, str, str]]] = []
        self.ids: list[list[str]] = []

    async def __call__(self, turn: Turn) -> AsyncIterator[Update]:
        self.ids.append([task.id for task in turn.earlier_tasks])
        self.seen.append(
            [
                (
                    task.history[0].parts[0].text or "",
                    task.artifacts[0].parts[0].text or "" if task.artifacts else "",
                    task.status.message.parts[0].text or "" if task.status.message else "",
                )
                for task in turn.earlier_tasks
            ]
        )
        said = turn.message.parts[0].text or ""
        if said.startswith("ask"):
            yield InputRequired("Which?")
            return
        yield ArtifactChunk("a", f"about {said}")
        yield Completed("done")


def test_an_agent_sees_the_tasks_of_its_conversation_before_its_own() -> None:
    looking = Looking()
    world = World(agent=looking)

    for number, text in enumerate(("first", "second", "third")):
        sent(world, message(f"m{number}", Part(text=text), context_id="c"))
    sent(world, message("other", Part(text="elsewhere"), context_id="d"))

    assert looking.seen == [
        [],
        [("first", "about first", "done")],
        [("first", "about first", "done"), ("second", "about second", "done")],
        [],
    ]


def test_a_task_that_goes_on_is_not_one_before_itself() -> None:
    looking = Looking()
    world = World(agent=looking)
    one = sent(world, message("m0", Part(text="ask"), context_id="c"))
    two = sent(world, message("m1", Part(text="ask"), context_id="c", task_id=one))

    sent(world, message("m2", Part(text="go"), context_id="c", task_id=one))
    sent(world, message("m3", Part(text="go"), context_id="c"))

    assert one == two
    assert looking.ids == [[], [], [], [one]]


def test_so_many_tasks_are_remembered_and_no_more() -> None:
    looking = Looking()
    world = World(agent=looking)

    tasks = [
        sent(world, message(f"m{number}", Part(text="go"), context_id="c"))
        for number in range(MOST_EARLIER + 2)
    ]

    assert looking.ids[-1] == tasks[1:-1]
    assert len(looking.ids[-1]) == MOST_EARLIER


def test_what_has_expired_is_no_earlier_task() -> None:
    looking = Looking()
    world = World(agent=looking)
    sent(world, message("m0", Part(text="go"), context_id="c"))
    world.clock.sleep(world.policy.retention.total_seconds() / 2)
    second = sent(world, message("m1", Part(text="go"), context_id="c"))
    world.clock.sleep(world.policy.retention.total_seconds() / 2 + 1)

    sent(world, message("m2", Part(text="go"), context_id="c"))

    assert looking.ids[-1] == [second]


def test_nothing_is_read_for_an_agent_that_does_not_look() -> None:
    world = World(agent=lambda _: _done())
    sent(world, message("m0", context_id="c"))
    task = world.answer(asking(message("m1", context_id="c"))).task
    assert task is not None
    contexts = ReadContexts(world.table)

    run_turn(replace(world.ports, contexts=contexts), world.agent, world.turn(task.id), lambda: 60.0)

    assert contexts.reads == []


@dataclass(frozen=True)
class ReadContexts(FakeContexts):
    """Contexts that note who reads them."""

    reads: list[ContextKey] = field(default_factory=list)

    def read(self, key: ContextKey) -> ContextRow:
        """The row."""
        self.reads.append(key)
        return super().read(key)


async def _done() -> AsyncIterator[Update]:
    yield Completed()


# --- the saved state -------------------------------------------------


def test_a_turn_whose_context_was_taken_meanwhile_overwrites_nothing() -> None:
    """It was cancelled, another task went on in its context, and only then it comes to save."""
    world = World()
    states: list[Any] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        states.append(dict(turn.state))
        text = turn.message.parts[0].text
        if text == "slow":
            world.ports.executions.stop(world.turn(turn.task_id), "")
            from_elsewhere(turn.task_id)
        turn.state["last"] = text
        await turn.workspace.write("last.txt", (text or "").encode())
        yield Completed()

    def from_elsewhere(task_id: str) -> None:
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=task_id))
        sent(world, message("m2", Part(text="quick"), context_id="c"))

    world.agent = agent
    slow = world.answer(asking(message("m1", Part(text="slow"), context_id="c"))).task
    assert slow is not None

    run_turn(world.ports, agent, world.turn(slow.id), lambda: 60.0)
    sent(world, message("m3", Part(text="after"), context_id="c"))

    assert world.get(slow.id).status.state is TaskState.CANCELED
    assert states == [{}, {}, {"last": "quick"}]
