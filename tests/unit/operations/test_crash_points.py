"""Every crash point of admission, follow-up, settle and cancel, against the real flows.

For each flow, each of its writes and each fault: strike there, then let the client retry and the sweeper
sweep, and compare with what happens when nothing goes wrong. Nothing may be lost, doubled or left undecided.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.ports import ContextRow, Ports
from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.lifecycle import TERMINAL
from a2a_serverless.tasks.log import MessageReceived, TurnSettled, TurnStarted
from tests.unit.operations.world import CALLER, Died, Fate, Fault, World

Step = Callable[[World, Ports], object]


@dataclass(frozen=True)
class Flow:
    """A flow under test: what went before, the step that is struck, and how its client tries again."""

    name: str
    before: Step
    struck: Step
    again: Step


def nothing(world: World, ports: Ports) -> None:
    """No history."""


def ask_first(world: World, ports: Ports) -> None:
    """A task that waits for an answer."""
    world.send("m0", "ask", ports, context_id="c")
    world.run_turns()


def start_first(world: World, ports: Ports) -> None:
    """A task whose turn has been started and not run."""
    world.send("m0", "go", ports, context_id="c")


def the_task(world: World) -> str:
    """The id of the one task that m0 began."""
    (key,) = {key.task for key in world.executions.started}
    return key.task_id


def cancel(world: World, ports: Ports) -> object:
    """Cancel the task; a repeated cancel is told that it has ended, which is an answer too."""
    try:
        return cancel_task(ports, CALLER, CancelTaskRequest(id=the_task(world)))
    except A2AError:
        return None


def run_first(world: World, ports: Ports) -> None:
    """Run the turn that waits to be run."""
    for key in world.running():
        world.invoke(key, ports)


def opens(world: World, ports: Ports) -> object:
    """A message that names nothing."""
    return tried(world, ports)


def joins(world: World, ports: Ports) -> object:
    """A message that names its context."""
    return tried(world, ports, context_id="c")


def answers(world: World, ports: Ports) -> object:
    """A message that names its task."""
    return tried(world, ports, task_id=the_task(world))


def tried(world: World, ports: Ports, **ids: str) -> object:
    """Send m1; being refused is an answer too."""
    with suppress(A2AError):
        return world.send("m1", "go", ports, **ids)
    return None


def will_ask(world: World, ports: Ports) -> None:
    """A task whose turn has been started and will ask."""
    world.send("m0", "ask", ports, context_id="c")


FLOWS = [
    Flow("a message opens a task", nothing, opens, opens),
    Flow("a message opens a task in a known context", nothing, joins, joins),
    Flow("an answer by task id", ask_first, answers, answers),
    Flow("an answer by context id alone", ask_first, joins, joins),
    Flow("a message to a busy context", start_first, joins, joins),
    Flow("a turn that completes", start_first, run_first, nothing),
    Flow("a turn that asks", will_ask, run_first, nothing),
    Flow("cancel of a waiting task", ask_first, cancel, cancel),
    Flow("cancel of a running task", start_first, cancel, cancel),
]
FAULTS = [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST]


def writes_of(flow: Flow) -> int:
    """How many writes the flow makes when nothing goes wrong."""
    world, fate = World(), Fate()
    flow.before(world, world.ports)
    flow.struck(world, world.doomed(fate))
    return fate.writes


def crash_points() -> Iterator[Any]:
    for flow in FLOWS:
        for at in range(1, writes_of(flow) + 1):
            for fault in FAULTS:
                yield pytest.param(flow, at, fault, id=f"{flow.name}, write {at}: {fault.value}")


def outcome(world: World) -> list[tuple[TaskState, list[str], list[str]]]:
    """What callers see in the end: of each task its state, its messages and its artifacts."""
    found = []
    for key in {turn.task for turn in world.executions.started}:
        task = world.ports.tasks.load(key)
        texts = [artifact.parts[0].text or "" for artifact in task.artifacts]
        found.append((task.current.state, [turn.message_id for turn in task.turns], texts))
    return sorted(found)


def check_invariants(world: World) -> None:
    """What must hold whatever happened."""
    assert world.pending() == []
    assert len(set(world.runs)) == len(world.runs), "the agent ran twice for one segment"
    arrived: list[str] = []
    for key in {turn.task for turn in world.executions.started}:
        log = world.tasks.log(key)
        task = world.ports.tasks.load(key)
        arrived += [e.entry.message.message_id for e in log if isinstance(e.entry, MessageReceived)]
        settled = [e for e in log if isinstance(e.entry, TurnSettled)]
        ended = [e for e in settled if e.entry.status.state in TERMINAL]
        assert [event.position for event in log] == list(range(1, len(log) + 1))
        assert len(ended) <= 1
        assert not ended or ended[0].position == len(log)
        assert task.open_turn is None, "a turn never settled"
        starts = [(e.entry.turn, e.entry.segment) for e in log if isinstance(e.entry, TurnStarted)]
        assert len(set(starts)) == len(starts)
        head = world.tasks.head(key)
        assert head is not None
        assert (head.position, head.state, head.due_at) == (task.position, task.current.state, None)
        told = head_of(world.policy, task, snapshot=head.snapshot)
        assert head == replace(told, webhooks_due_at=None)
    assert len(set(arrived)) == len(arrived), "a message is in two places"
    for message_id, told in world.told.items():
        assert message_id not in arrived or set(told) != {"refused"}, "refused, yet it arrived"
        assert message_id in arrived or set(told) <= {"refused", "nothing"}, "admitted, yet it never arrived"


def remembered(world: World) -> list[str]:
    """What the next turn of the conversation finds in its state: every message of the turns before it."""
    world.send("probe", "go", context_id="c")
    world.run_turns()
    (row,) = [row for (key,), row in world.table.all(ContextRow) if key.context_id == "c"]
    seen: list[str] = json.loads(world.ports.contents.get(row.state or ""))["seen"]
    return seen


@pytest.mark.parametrize(("flow", "at", "fault"), list(crash_points()))
def test_a_fault_at_any_write_changes_nothing_in_the_end(flow: Flow, at: int, fault: Fault) -> None:
    undisturbed, struck = World(), World()
    for world, fate in ((undisturbed, Fate()), (struck, Fate(at, fault))):
        flow.before(world, world.ports)
        try:
            flow.struck(world, world.doomed(fate))
        except Died:
            flow.again(world, world.ports)
        world.recover()
        check_invariants(world)

    if (
        fault is not Fault.ANSWER_LOST
        and flow.struck is run_first
        and outcome(struck) != outcome(undisturbed)
    ):
        # A turn that dies before it settles has failed, with what it had delivered by then.
        for (state, messages, artifacts), expected in zip(outcome(struck), outcome(undisturbed), strict=True):
            assert (state, messages) == (TaskState.FAILED, expected[1])
            assert artifacts in ([], expected[2])
    else:
        assert outcome(struck) == outcome(undisturbed)
        assert remembered(struck) == remembered(undisturbed)


@pytest.mark.parametrize(("flow", "at", "fault"), list(crash_points()))
def test_the_sweeper_alone_finishes_what_died_and_the_conversation_goes_on(
    flow: Flow, at: int, fault: Fault
) -> None:
    world = World()
    flow.before(world, world.ports)
    with suppress(Died):
        flow.struck(world, world.doomed(Fate(at, fault)))
    world.recover()
    check_invariants(world)

    task = world.send("probe", "go", context_id="c")
    world.recover()

    key = next(turn.task for turn in world.executions.started if turn.task.task_id == task.id)
    assert world.ports.tasks.load(key).current.state is TaskState.COMPLETED
    check_invariants(world)


def dying_copy(at: int) -> Step:
    """The turn ends, and a second copy of the message dies after one of its writes."""

    def step(world: World, _: Ports) -> None:
        world.run_turns()
        with suppress(Died):
            joins(world, world.doomed(Fate(at, Fault.DIES_AFTER)))

    return step


def interleavings() -> Iterator[Any]:
    others: list[tuple[str, Step]] = [
        ("a second copy of the message", joins),
        ("the sweeper", lambda w, p: (w.clock.sleep(1200), sweep(p))),
        ("a cancel", cancel),
        ("another message to the context", lambda w, p: w.send("m2", "go", p, context_id="c")),
        ("the turn", lambda w, p: w.run_turns()),
        *((f"the turn, and a copy that dies after write {at}", dying_copy(at)) for at in range(1, 6)),
    ]
    for flow in FLOWS:
        for at in range(1, writes_of(flow) + 1):
            for name, other in others:
                yield pytest.param(flow, at, other, id=f"{flow.name}, before write {at}: {name}")


@pytest.mark.parametrize(("flow", "at", "other"), list(interleavings()))
def test_somebody_acting_between_any_two_writes_breaks_nothing(flow: Flow, at: int, other: Step) -> None:
    world = World()
    flow.before(world, world.ports)

    def meddle() -> None:
        with suppress(A2AError, ValueError):  # ValueError: there is not just one task to cancel yet
            other(world, world.ports)

    flow.struck(world, world.doomed(Fate(at, Fault.MEDDLED, meddle)))
    world.recover()
    check_invariants(world)

    if "m1" in world.told:
        again = flow.again if flow.struck in (opens, joins, answers) else joins
        again(world, world.ports)
        world.recover()
        check_invariants(world)


def test_a_task_that_asks_and_dies_is_known_to_wait_after_another_took_the_context() -> None:
    """The context's row says which tasks wait; who takes it writes what the last holder could not."""
    world = World()
    will_ask(world, world.ports)
    settling = writes_of(Flow("", will_ask, run_first, nothing))

    def asks_and_dies() -> None:
        run_first(world, world.doomed(Fate(settling, Fault.DIES_BEFORE)))

    world.send("m1", "go", world.doomed(Fate(1, Fault.MEDDLED, asks_and_dies)), context_id="c")
    world.recover()

    answered = world.send("m2", "go", context_id="c")
    assert answered.id == next(turn.task.task_id for turn in world.executions.started)
