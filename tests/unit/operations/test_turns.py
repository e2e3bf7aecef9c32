"""A turn from its start to its settlement, and what the agent is given on the way."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Rejected,
    Turn,
    Update,
    Working,
)
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.memory import MOST_STATE
from a2a_serverless.operations.recorder import Recorder
from a2a_serverless.operations.turns import AgentStillRunningError, TurnDiedError, fail_turn, run_turn
from a2a_serverless.operations.waiting import TurnContinues, TurnWaits, TurnWaitsLong
from a2a_serverless.ports import ContextRow, Policy, TurnKey
from a2a_serverless.protocol.objects import Part, Task, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    LoggedEvent,
    TaskKey,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
)
from a2a_serverless.tasks.view import visible
from tests.fakes.ports import FakeMetrics, FakeTasks
from tests.unit.operations.world import CALLER, Fate, Fault, World, asking, at_once, message, plays

Agent = Callable[[Turn], AsyncIterator[Update]]
QUICK = Policy(cancel_check=0.005)
KB = 1024


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets go of whatever blocks, at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


def ran(agent: Agent, policy: Policy = QUICK) -> tuple[World, Task]:
    """The world and the task after one turn of this agent."""
    world = World(agent=agent, policy=policy)
    return world, world.said("m", context_id="c")


def text_of(task: Task) -> str | None:
    return task.status.message.parts[0].text if task.status.message else None


def row(world: World) -> ContextRow:
    return world.ports.contexts.read(CALLER.context("c"))


def saved(world: World) -> Any:
    key = row(world).state
    return None if key is None else json.loads(world.ports.contents.get(key))


def outcomes(world: World) -> dict[str, int]:
    assert isinstance(world.ports.metrics, FakeMetrics)
    counted = world.ports.metrics.detailed.items()
    return {dict(about)["outcome"]: count for (name, about), count in counted if name == "TurnSettled"}


def fenced(world: World) -> int:
    assert isinstance(world.ports.metrics, FakeMetrics)
    return world.ports.metrics.counts["TurnFenced"]


# --- how it ends -------------------------------------------------


class Finished(Completed):
    """A deployer's own name for an outcome."""


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Completed("done"), TaskState.COMPLETED),
        (Finished("done"), TaskState.COMPLETED),
        (Failed("cannot"), TaskState.FAILED),
        (Rejected("will not"), TaskState.REJECTED),
        (InputRequired("which?"), TaskState.INPUT_REQUIRED),
        (AuthRequired("sign in"), TaskState.AUTH_REQUIRED),
    ],
)
def test_every_outcome_is_a_state_with_what_the_agent_says(outcome: Any, state: TaskState) -> None:
    world, task = ran(plays(replace(outcome, parts=[Part(data={"k": 1})])))

    assert task.status.state is state
    assert task.status.message is not None
    assert task.status.message.parts == (Part(text=outcome.text), Part(data={"k": 1}))
    assert outcomes(world) == {state.name.lower(): 1}


def test_an_agent_that_falls_off_its_end_has_completed_without_a_word() -> None:
    _, task = ran(plays(ArtifactChunk("a", "x")))

    assert (task.status.state, task.status.message) == (TaskState.COMPLETED, None)


def test_text_that_still_waits_goes_out_before_the_turn_settles_and_is_the_last_of_its_artifact() -> None:
    said = plays(ArtifactChunk("a", "x"), ArtifactChunk("a", "y"), Completed())
    world, task = ran(said, replace(QUICK, chunk_delay=60.0))

    assert task.artifacts[0].parts == (Part(text="xy"),)
    *_, chunk, settled = world.entries(task.id)
    assert getattr(chunk, "last_chunk", None) is True
    assert isinstance(settled, TurnSettled)


def test_a_turn_starts_by_working_and_its_head_says_so_at_once() -> None:
    heads: list[Any] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        heads.append(world.tasks.head(CALLER.task(turn.task_id)))
        yield Completed()

    world = World(agent=agent)
    task = world.said("m")

    assert [(head.state, head.position) for head in heads] == [(TaskState.WORKING, 2)]
    (started,) = [entry for entry in world.entries(task.id) if isinstance(entry, TurnStarted)]
    assert (started.turn, started.segment, started.status.state) == (1, 1, TaskState.WORKING)


def test_text_that_waits_goes_out_while_the_agent_is_silent() -> None:
    out = threading.Event()

    @dataclass(frozen=True)
    class Watched(FakeTasks):
        def append(self, key: TaskKey, event: LoggedEvent) -> None:
            super().append(key, event)
            if isinstance(event.entry, ArtifactUpdated) and event.entry.append:
                out.set()

    async def agent(_: Turn) -> AsyncIterator[Update]:
        yield ArtifactChunk("a", "x")
        yield ArtifactChunk("a", "y")
        assert await asyncio.to_thread(out.wait, 30), "it never went out"

    world = World(agent=agent, policy=Policy(chunk_delay=0.01))
    world.ports = replace(world.ports, tasks=Watched(world.table))

    task = world.said("m")

    assert (task.status.state, task.artifacts[0].parts) == (TaskState.COMPLETED, (Part(text="xy"),))


# --- at most once -------------------------------------------------


def test_a_turn_that_has_settled_is_not_run_again() -> None:
    world, task = ran(plays(Completed()))
    key = world.turn(task.id)
    before = world.entries(task.id)

    world.invoke(key)

    assert world.runs == [("m", 1)]
    assert world.entries(task.id) == before


def test_a_turn_whose_message_never_arrived_is_not_run() -> None:
    world = World()
    asked = world.said("m", "ask")
    world.runs.clear()

    for key in (TurnKey(CALLER.task("never-was"), 1), TurnKey(CALLER.task(asked.id), 9)):
        run_turn(world.ports, world.watched, key, lambda: 60.0)

    assert world.runs == []
    assert world.get(asked.id) == asked


def test_a_task_canceled_before_its_turn_began_never_reaches_the_agent() -> None:
    world = World()
    task = world.send("m")
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=task.id))

    world.invoke(world.turn(task.id))

    assert world.runs == []
    assert world.get(task.id).status.state is TaskState.CANCELED


def test_a_second_invocation_fails_a_turn_that_was_begun_and_the_first_is_fenced_off() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield ArtifactChunk("a", "delivered before")
        if len(world.runs) == 1:
            world.invoke(world.turn(turn.task_id))
        yield ArtifactChunk("b", "never delivered")
        turn.state["k"] = "never saved"

    world, task = World(agent=agent), None
    task = world.said("m", context_id="c")

    assert world.runs == [("m", 1)]
    assert task.status.state is TaskState.FAILED
    assert text_of(task) == "The turn ended unexpectedly. Reference: incident-1"
    assert {artifact.artifact_id for artifact in task.artifacts} <= {"a"}
    assert isinstance(world.entries(task.id)[-1], TurnSettled)
    assert (saved(world), fenced(world)) == (None, 1)


# --- when the agent breaks -------------------------------------------------

SECRET = "swordfish"


async def raises(_: Turn) -> AsyncIterator[Update]:
    yield ArtifactChunk("a", "delivered before")
    raise RuntimeError(SECRET)


async def exits(_: Turn) -> AsyncIterator[Update]:
    yield ArtifactChunk("a", "delivered before")
    raise SystemExit(SECRET)


async def cancels_itself(_: Turn) -> AsyncIterator[Update]:
    yield ArtifactChunk("a", "delivered before")
    raise asyncio.CancelledError(SECRET)


@pytest.mark.parametrize("agent", [raises, exits, cancels_itself])
def test_a_crash_fails_the_task_and_its_text_is_nowhere_to_be_seen(agent: Agent) -> None:
    world, task = ran(agent)

    assert task.status.state is TaskState.FAILED
    assert text_of(task) == "The agent failed. Reference: incident-1"
    assert task.artifacts[0].parts == (Part(text="delivered before"),)
    for seen in (task, *world.entries(task.id)):
        assert SECRET not in seen.to_json()
    ((error, facts),) = world.incidents.reported
    assert str(error) == SECRET
    assert facts == {"task": task.id, "turn": "1"}
    assert outcomes(world) == {"failed": 1}


class Lost(Mapping[str, Any], Sequence[Any]):
    """Metadata or parts that were there when the agent gave them."""

    def __getitem__(self, name: object) -> Any:
        raise LookupError(SECRET)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[0]])

    def __len__(self) -> int:
        return 1


GARBAGE = [
    None,
    "just text",
    {"text": SECRET},
    Working(parts=[SECRET]),  # type: ignore[list-item]
    Working("\ud800"),
    Working("x" * (256 * KB + 1)),
    ArtifactChunk("not a name", SECRET),
    ArtifactChunk("a", 5),  # type: ignore[arg-type]
    ArtifactChunk("a", metadata={"k": object()}, text="x"),
    ArtifactChunk("a", metadata=Lost(), text="x"),
    Completed(parts=Lost()),
    Completed(5),  # type: ignore[arg-type]
    Completed(parts=[None]),  # type: ignore[list-item]
    Completed("x" * (256 * KB + 1)),
    InputRequired(object()),  # type: ignore[arg-type]
    InputRequired("x" * (256 * KB + 1)),
    AuthRequired(parts=None, text="x"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage)[:40])
@pytest.mark.parametrize("streams", [False, True])
def test_what_no_task_can_hold_fails_the_task_with_an_incident(garbage: Any, *, streams: bool) -> None:
    before = [ArtifactChunk("good", "x"), ArtifactChunk("good", "y")] if streams else []

    world, task = ran(plays(*before, garbage, Working("never reached")))

    assert task.status.state is TaskState.FAILED
    assert text_of(task) == "The agent failed. Reference: incident-1"
    assert [artifact.parts for artifact in task.artifacts] == [(Part(text="xy"),)] * streams
    assert SECRET not in task.to_json()
    assert len(world.incidents.reported) == 1


UNSAVABLE: Sequence[Callable[[Turn], object]] = [
    lambda turn: turn.state.update(k=object()),
    lambda turn: turn.state.update(k={1, 2}),
    lambda turn: turn.state.update(k=float("nan")),
    lambda turn: turn.state.update(k=turn.state),
    lambda turn: turn.state.update({("a", "b"): 1}),
    lambda turn: turn.state.update(k="x" * MOST_STATE),
    lambda turn: setattr(turn, "state", ["not", "a", "mapping"]),
    lambda turn: setattr(turn, "state", None),
]


@pytest.mark.parametrize("spoil", UNSAVABLE)
@pytest.mark.parametrize("outcome", [Completed("done"), InputRequired("?")])
def test_state_that_cannot_be_kept_fails_the_task_and_leaves_the_state_as_it_was(
    spoil: Callable[[Turn], object], outcome: Any
) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.message.message_id == "m0":
            turn.state["k"] = "before"
            return
        spoil(turn)
        yield outcome

    world = World(agent=agent)
    world.said("m0", context_id="c")

    task = world.said("m", context_id="c")

    assert task.status.state is TaskState.FAILED
    assert text_of(task) == "The agent failed. Reference: incident-1"
    assert saved(world) == {"k": "before"}


def test_state_up_to_a_megabyte_is_kept() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["k"] = "x" * (MOST_STATE - len('{"k": ""}'))
        yield Completed()

    world, task = ran(agent)

    assert task.status.state is TaskState.COMPLETED
    assert len(json.dumps(saved(world))) == MOST_STATE


# --- when it is to end before it does -------------------------------------------------


def cancels(world: World, turn: Turn) -> None:
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=turn.task_id))


def test_a_cancel_reaches_an_agent_that_is_silent() -> None:
    told: list[str] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        turn.state["k"] = "never saved"
        cancels(world, turn)
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cancelled")

    world = World(agent=agent, policy=QUICK)
    task = world.said("m", context_id="c")

    assert task.status.state is TaskState.CANCELED
    assert told == ["cancelled"]
    assert (saved(world), fenced(world)) == (None, 1)


@pytest.mark.parametrize("yields", [Working("x"), ArtifactChunk("a", "x"), ArtifactChunk("a", "")])
def test_a_cancel_from_elsewhere_ends_an_agent_that_floods(yields: Update) -> None:
    flooding, canceled = threading.Event(), threading.Event()

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        while True:
            flooding.set()
            yield yields
            if canceled.is_set():
                await asyncio.sleep(0.001)

    world = World(agent=agent, policy=QUICK)
    task = world.send("m")

    def cancel() -> None:
        flooding.wait()
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=task.id))
        canceled.set()

    at_once(lambda: world.invoke(world.turn(task.id)), cancel)

    assert world.get(task.id).status.state is TaskState.CANCELED
    ends = [entry for entry in world.entries(task.id) if isinstance(entry, TurnSettled)]
    assert ends == world.entries(task.id)[-1:]


def test_a_cancel_ends_the_turn_of_an_agent_that_blocks_but_not_the_agent(release: threading.Event) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        cancels(world, turn)
        release.wait()
        yield ArtifactChunk("a", "never delivered")

    world = World(agent=agent, policy=QUICK)
    task = world.send("m")

    with pytest.raises(AgentStillRunningError):
        run_turn(world.ports, world.watched, world.turn(task.id), lambda: 60.0, grace=0.01)

    release.set()
    assert world.get(task.id).status.state is TaskState.CANCELED
    assert world.get(task.id).artifacts == ()


def test_an_agent_that_ignores_its_cancellation_costs_its_process(release: threading.Event) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        cancels(world, turn)
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)

    world = World(agent=agent, policy=QUICK)
    task = world.send("m")

    with pytest.raises(AgentStillRunningError):
        run_turn(world.ports, world.watched, world.turn(task.id), lambda: 60.0, grace=0.01)

    assert world.get(task.id).status.state is TaskState.CANCELED


def running_out(calls: int) -> Callable[[], float]:
    """So many looks at the time, a second each, before there is just enough left to settle."""
    left = [calls + 3.0]

    def remaining() -> float:
        left[0] -= 1.0
        return left[0]

    return remaining


def test_a_turn_that_runs_out_of_time_fails_with_what_it_delivered_and_without_its_state() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["k"] = "half done"
        yield ArtifactChunk("a", "x")
        yield ArtifactChunk("a", "y")
        await asyncio.Event().wait()

    world = World(agent=agent, policy=replace(QUICK, chunk_delay=60.0))
    task = world.send("m", context_id="c")

    run_turn(world.ports, world.watched, world.turn(task.id), running_out(10))

    task = world.get(task.id)
    assert task.status.state is TaskState.FAILED
    assert text_of(task) == "The agent ran out of time. Reference: incident-1"
    assert task.artifacts[0].parts == (Part(text="xy"),)
    assert not any(getattr(entry, "last_chunk", False) for entry in world.entries(task.id))
    assert [type(error) for error, _ in world.incidents.reported] == [TurnDiedError]
    assert saved(world) is None


def test_an_agent_that_changes_its_state_until_its_time_is_up_fails_like_any_other() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        while True:
            for number in range(1000):
                turn.state[f"k{number}"] = number
            turn.state.clear()
            await asyncio.sleep(0)

    world = World(agent=agent, policy=QUICK)
    for number in range(5):
        task = world.send(f"m{number}")
        run_turn(world.ports, world.watched, world.turn(task.id), running_out(4))
        assert (text_of(world.get(task.id)) or "").startswith("The agent ran out of time.")


def test_what_an_agent_said_in_time_counts_though_its_host_was_behind() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for number in range(5):
            yield Working(str(number))
        await turn.checkpoint(1)

    world = World(agent=agent)
    task = world.send("m")

    def remaining() -> float:
        if world.load(task.id).position < 4:
            return 60.0
        for thread in threading.enumerate():
            if thread.name == "agent":
                thread.join(30)
        return 1.0

    with pytest.raises(TurnContinues):
        run_turn(world.ports, world.watched, world.turn(task.id), remaining)

    assert text_of(world.get(task.id)) == "4"
    assert world.load(task.id).checkpoints == 1


def test_an_agent_is_told_how_much_time_it_has_after_what_settling_takes() -> None:
    told: list[float] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        told.append(turn.remaining_seconds())
        yield Completed()

    ran(agent)

    assert told == [57.0]


# --- segments -------------------------------------------------


WAITS = {"TurnContinues": 1, "TurnWaits": 30, "TurnWaitsLong": 300}
"""Seconds after which the state machine comes back."""


def segments(world: World, task_id: str, remaining: Callable[[], float] = lambda: 60.0) -> list[str]:
    """Run every segment of the open turn; the names under which the state machine sees each go on."""
    names: list[str] = []
    while world.load(task_id).open_turn is not None:
        try:
            run_turn(world.ports, world.watched, world.turn(task_id), remaining)
        except (TurnContinues, TurnWaits, TurnWaitsLong) as goes_on:
            names.append(type(goes_on).__name__)
            world.clock.sleep(WAITS[names[-1]])
    return names


@pytest.mark.parametrize(
    ("seconds", "names", "late"),
    [
        (0.5, ["TurnContinues"], 0.5),
        (10, ["TurnContinues"], 0),
        (11, ["TurnWaits"], 19),
        (32, ["TurnWaits"], 0),
        (100, ["TurnWaits"] * 3, 0),
        (121, ["TurnWaitsLong"], 179),
        (86_400, ["TurnWaitsLong"] * 288, 0),
    ],
)
def test_a_checkpoint_ends_the_invocation_until_the_time_that_it_asked_for(
    seconds: float, names: list[str], late: float
) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        if "asked" not in turn.state:
            turn.state["asked"] = True
            await turn.checkpoint(seconds)

    world = World(agent=agent)
    task = world.send("m")
    began = world.clock.now()

    assert segments(world, task.id) == names
    assert world.get(task.id).status.state is TaskState.COMPLETED
    assert (world.clock.now() - began).total_seconds() == seconds + late
    assert world.runs == [("m", 1), ("m", 2)]


def test_a_turn_that_asks_to_be_woken_never_ends_with_its_task() -> None:
    world = World(agent=waiting(float("inf")))
    task = world.send("m")

    with pytest.raises(TurnWaitsLong):
        run_turn(world.ports, world.watched, world.turn(task.id), lambda: 60.0)

    assert world.load(task.id).wakes_at == world.clock.now() + world.policy.retention


def test_an_invocation_with_little_time_does_not_wait_in_it() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m")

    assert set(segments(world, task.id, lambda: 3.0)) == {"TurnContinues"}

    asks_for_more = World(agent=waiting(5))
    names = segments(asks_for_more, asks_for_more.send("m").id, lambda: 3.0)
    assert names == ["TurnContinues"] * 5


def waiting(seconds: float) -> Callable[[Turn], AsyncIterator[Update]]:
    """An agent that asks to be woken once."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.segment == 1:
            await turn.checkpoint(seconds)
        yield Completed()

    return agent


@pytest.mark.parametrize(
    ("age", "name"),
    [(0, "TurnContinues"), (3599, "TurnContinues"), (3600, "TurnWaits"), (86_400, "TurnWaitsLong")],
)
def test_the_older_a_turn_the_less_often_it_is_woken(age: float, name: str) -> None:
    world = World(agent=waiting(5))
    task = world.send("m")
    world.clock.sleep(age)

    assert segments(world, task.id) == [name]


def test_a_turn_without_time_is_gone_on_with_at_once_however_old_it_is() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m")
    world.clock.sleep(3 * 86_400)

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        await turn.checkpoint()

    world.agent = agent
    assert segments_once(world, task.id) == ["TurnContinues"]


def test_where_a_turn_goes_on_nothing_is_said_and_its_status_stays() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.segment == 1:
            yield Working("On it")
            await turn.checkpoint(1)
        yield Completed()

    world = World(agent=agent)
    task = world.send("m")
    segments(world, task.id)

    before, after = (world.tasks.load_up_to(CALLER.task(task.id), position) for position in (3, 5))
    assert (after.segments, after.status) == (2, before.status)
    assert [visible(entry) for entry in world.entries(task.id)] == [False, True, True, False, False, True]


async def counts_to_three(turn: Turn) -> AsyncIterator[Update]:
    """Says one number in each segment."""
    number = turn.state.setdefault("number", 0) + 1
    turn.state["number"] = number
    yield ArtifactChunk("a", f"{number} ")
    if number < 3:
        await turn.checkpoint(1)
    yield Completed(f"segment {turn.segment}")


def test_a_turn_goes_on_from_its_checkpoint_with_its_state_and_its_artifacts() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m", context_id="c")

    assert segments(world, task.id) == ["TurnContinues"] * 2

    assert world.runs == [("m", 1), ("m", 2), ("m", 3)]
    task = world.get(task.id)
    assert "".join(part.text or "" for part in task.artifacts[0].parts) == "1 2 3 "
    assert text_of(task) == "segment 3"
    assert saved(world) == {"number": 3}
    kinds = [type(entry) for entry in world.entries(task.id)]
    assert kinds.count(TurnStarted) == 3
    assert kinds.count(TurnCheckpointed) == 2
    assert kinds.count(TurnSettled) == 1


def test_what_a_checkpoint_kept_is_the_contexts_state_even_if_the_last_segment_does_not_change_it() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working()
        if "before" not in turn.state:
            turn.state["before"] = "the checkpoint"
            await turn.checkpoint(1)

    world = World(agent=agent)
    task = world.send("m", context_id="c")

    segments(world, task.id)

    assert saved(world) == {"before": "the checkpoint"}
    assert len(world.contents.stored) == 1


def test_between_two_segments_the_task_works_and_somebody_will_look_at_it() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m")

    with pytest.raises(TurnContinues):
        run_turn(world.ports, world.watched, world.turn(task.id), lambda: 60.0)

    head = world.tasks.head(CALLER.task(task.id))
    assert head is not None
    assert (head.position, head.state) == (world.load(task.id).position, TaskState.WORKING)
    assert head.due_at is not None


def test_a_turn_without_time_goes_on_in_another_invocation() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        for number in range(turn.state.get("next", 0), 6):
            turn.state["next"] = number + 1
            yield ArtifactChunk("a", str(number))
            await turn.checkpoint()

    world = World(agent=agent)
    task = world.send("m")

    names = segments(world, task.id, running_out(70))
    again = World(agent=agent)
    short = again.send("m")
    names_when_short: list[str] = []
    while again.load(short.id).open_turn is not None:
        names_when_short += segments_once(again, short.id)

    assert names == []
    assert names_when_short
    assert set(names_when_short) == {"TurnContinues"}
    for each, made in ((world, task), (again, short)):
        parts = each.get(made.id).artifacts[0].parts
        assert "".join(part.text or "" for part in parts) == "012345"


def segments_once(world: World, task_id: str) -> list[str]:
    """One invocation whose time is nearly up once the agent has begun."""
    left = iter([33.0] * 2)
    try:
        run_turn(world.ports, world.watched, world.turn(task_id), lambda: next(left, 5.0))
    except TurnContinues:
        return ["TurnContinues"]
    return []


def test_a_segment_that_died_fails_the_turn_and_the_state_of_its_checkpoint_is_not_the_contexts() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m", context_id="c")
    key = world.turn(task.id)
    with pytest.raises(TurnContinues):
        run_turn(world.ports, world.watched, key, lambda: 60.0)

    assert fail_turn(world.ports, key)
    run_turn(world.ports, world.watched, key, lambda: 60.0)

    assert world.runs == [("m", 1)]
    assert world.get(task.id).status.state is TaskState.FAILED
    assert saved(world) is None


def test_a_canceled_turn_is_not_gone_on_with() -> None:
    world = World(agent=counts_to_three)
    task = world.send("m")
    key = world.turn(task.id)
    with pytest.raises(TurnContinues):
        run_turn(world.ports, world.watched, key, lambda: 60.0)
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=task.id))

    run_turn(world.ports, world.watched, key, lambda: 60.0)

    assert world.runs == [("m", 1)]


# --- what the agent is given -------------------------------------------------


def test_the_agent_is_given_the_message_its_history_its_artifacts_and_its_caller() -> None:
    given: list[Turn] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        given.append(turn)
        yield ArtifactChunk("a", "made")
        yield InputRequired("which?")

    world = World(agent=agent)
    alice = replace(CALLER, claims={"name": "alice"})
    world.answer(asking(message("m0", Part(text="first"))), alice)
    world.run_turns()
    said = message("m1", Part(text="second"), task_id=given[0].task_id)
    world.answer(asking(said, accepted_output_modes=("text/html",)), alice)
    world.run_turns()

    first, second = given
    assert (first.history[:], first.artifacts[:], first.segment) == ([], [], 1)
    assert (first.caller, first.accepted_output_modes) == ({"name": "alice"}, ())
    assert second.message.parts == (Part(text="second"),)
    assert [said.parts[0].text for said in second.history] == ["first", "which?"]
    assert len(second.history) == 2
    assert second.history[-1].parts == (Part(text="which?"),)
    assert [artifact.artifact_id for artifact in second.artifacts] == ["a"]
    assert (second.task_id, second.context_id) == (first.task_id, first.context_id)
    assert second.accepted_output_modes == ("text/html",)


def test_raw_content_reaches_the_agent_as_bytes_decoded_once() -> None:
    given: list[Any] = []

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        given.append(turn.message.parts[0].raw)
        yield Completed()

    world = World(agent=agent)
    world.answer(asking(message("m", Part.from_dict({"raw": "AP8=", "mediaType": "image/png"}))))
    world.run_turns()

    assert given == [b"\x00\xff"]


# --- state -------------------------------------------------


async def remembers(turn: Turn) -> AsyncIterator[Update]:
    """Notes every text of the conversation; asks until told to stop."""
    turn.state["texts"] = [*turn.state.get("texts", []), turn.message.parts[0].text]
    yield ArtifactChunk("seen", json.dumps(turn.state["texts"]))
    yield Completed() if turn.message.parts[0].text == "stop" else InputRequired("more?")


def seen(task: Task) -> Any:
    return json.loads(task.artifacts[0].parts[0].text or "")


def test_state_is_kept_from_turn_to_turn_and_from_task_to_task_of_a_context() -> None:
    world = World(agent=remembers)

    world.said("m0", "one", context_id="c")
    world.said("m1", "stop", context_id="c")
    later = world.said("m2", "three", context_id="c")

    assert seen(later) == ["one", "stop", "three"]


def test_two_contexts_at_work_at_the_same_time_never_see_each_other() -> None:
    both = threading.Barrier(2)

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["texts"] = [*turn.state.get("texts", []), turn.message.parts[0].text]
        yield ArtifactChunk("seen", json.dumps(turn.state["texts"]), append=False)
        both.wait()
        yield InputRequired(f"{turn.context_id}: more?")

    world = World(agent=agent, policy=QUICK)
    for number in range(5):
        tasks = {name: world.send(f"{name}{number}", f"{name}{number}", context_id=name) for name in "cd"}
        at_once(*(partial(world.invoke, world.turn(task.id)) for task in tasks.values()))

    for name, task in tasks.items():
        assert seen(world.get(task.id)) == [f"{name}{number}" for number in range(5)]
        assert text_of(world.get(task.id)) == f"{name}: more?"
        texts = [said.parts[0].text or "" for said in world.get(task.id).history]
        assert {text[0] for text in texts} == {name}


def test_other_callers_of_the_same_context_id_have_a_state_of_their_own() -> None:
    world = World(agent=remembers)
    world.said("m0", "mine", context_id="c")

    bob = replace(CALLER, owner="bob")
    answered = world.answer(asking(message("m0", Part(text="yours"), context_id="c")), bob)
    world.run_turns()

    assert answered.task is not None
    assert seen(world.get(answered.task.id, caller=bob)) == ["yours"]


def test_a_context_knows_of_a_task_that_waits_in_it_even_when_the_agent_remembers_nothing() -> None:
    world, task = ran(plays(InputRequired("?")))

    assert row(world).waiting == {task.id}
    assert row(world).state is None


def test_state_that_did_not_change_is_not_written_again_within_its_task() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state.setdefault("k", 1)
        yield InputRequired("?")

    world = World(agent=agent)
    task = world.said("m0", context_id="c")
    world.said("m1", task_id=task.id)

    assert len(world.contents.stored) == 1


def test_no_state_is_written_for_an_agent_that_keeps_none() -> None:
    world, _ = ran(plays(Completed()))

    assert world.contents.stored == {}
    assert row(world).state is None


def test_state_lives_as_long_as_the_conversation_goes_on() -> None:
    """Stored content is deleted when the task that wrote it has expired; the conversation may be younger."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state.setdefault("k", turn.message.message_id)
        yield Completed(turn.state["k"])

    world = World(agent=agent)
    first = world.said("m0", context_id="c")
    world.clock.sleep(world.policy.retention.total_seconds() / 2)
    world.said("m1", context_id="c")
    for key in [key for key in world.contents.stored if first.id in key]:
        del world.contents.stored[key]
    world.clock.sleep(world.policy.retention.total_seconds() / 2)

    assert text_of(world.said("m2", context_id="c")) == "m0"


def test_a_conversation_whose_state_is_gone_begins_anew_and_somebody_hears_of_it() -> None:
    world = World(agent=remembers)
    world.said("m0", "stop", context_id="c")
    world.contents.stored.clear()

    task = world.said("m1", "again", context_id="c")

    assert seen(task) == ["again"]
    assert [type(error) for error, _ in world.incidents.reported] == [KeyError]


def test_a_turn_that_lost_its_context_does_not_write_its_state() -> None:
    """A zombie: its task was failed, and another turn holds the context by now."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        turn.state["by"] = turn.message.message_id
        yield Working()
        if turn.message.message_id == "m0":
            fail_turn(world.ports, world.turn(turn.task_id))
            world.said("m1", context_id="c")
        yield Completed()

    world = World(agent=agent, policy=QUICK)
    task = world.send("m0", context_id="c")
    world.executions.status[world.turn(task.id)] = "ended"

    world.invoke(world.turn(task.id))

    assert saved(world) == {"by": "m1"}
    assert world.get(task.id).status.state is TaskState.FAILED


# --- snapshots -------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 5, 6, 50, 199, 450])
def test_a_settled_task_reads_the_same_with_and_without_its_snapshots(pieces: int) -> None:
    chunks = [ArtifactChunk("a", str(number), parts=[Part(data=number)]) for number in range(pieces)]
    world, task = ran(plays(*chunks, Completed("done")))
    head = world.tasks.head(CALLER.task(task.id))
    assert head is not None
    assert (head.snapshot > 0) is (pieces >= 6)
    assert head.position - head.snapshot <= 8 or head.snapshot == 0

    for place in [place for place in world.table.items if place[0] is LoggedTask]:  # type: ignore[index]
        del world.table.items[place]

    assert world.get(task.id) == task


def test_the_snapshot_at_the_end_does_not_say_how_the_turn_ended() -> None:
    world, task = ran(plays(*(Working(str(number)) for number in range(20))))

    kept = [snapshot for _, snapshot in world.table.all(LoggedTask)]

    assert [snapshot.current.state for snapshot in kept] == [TaskState.WORKING]
    assert world.load(task.id).snapshot == kept[0].position


# --- failing it from outside -------------------------------------------------


def test_a_turn_that_died_is_failed_once_with_a_reference() -> None:
    world = World()
    task = world.send("m")
    key = world.turn(task.id)

    assert fail_turn(world.ports, key)
    assert fail_turn(world.ports, key)

    assert text_of(world.get(task.id)) == "The turn ended unexpectedly. Reference: incident-1"
    assert [type(error) for error, _ in world.incidents.reported] == [TurnDiedError]
    head = world.tasks.head(key.task)
    assert head is not None
    assert (head.state, head.due_at) == (TaskState.FAILED, None)
    assert outcomes(world) == {"failed": 1}


def test_a_turn_is_not_failed_when_its_log_has_grown_since_it_was_looked_at() -> None:
    world = World()
    task = world.send("m")
    key = world.turn(task.id)

    assert not fail_turn(world.ports, key, at=1)

    assert world.get(task.id).status.state is TaskState.SUBMITTED
    assert world.incidents.reported == []
    assert fail_turn(world.ports, key, at=2)


def test_a_turn_that_goes_on_writing_is_failed_nevertheless() -> None:
    world = World()
    task = world.send("m")
    key = world.turn(task.id)

    def still_alive() -> None:
        Recorder(world.ports, key, world.load(task.id), "alive").record(Working())

    assert fail_turn(world.doomed(Fate(1, Fault.MEDDLED, still_alive)), key)

    assert world.load(task.id).position == 3
    assert world.get(task.id).status.state is TaskState.FAILED


def test_there_is_nothing_to_fail_about_a_task_that_never_was_or_a_turn_that_is_over() -> None:
    world, task = ran(plays(Completed()))

    assert fail_turn(world.ports, TurnKey(CALLER.task("never-was"), 1))
    assert fail_turn(world.ports, world.turn(task.id))

    assert world.get(task.id) == task
    assert world.incidents.reported == []
