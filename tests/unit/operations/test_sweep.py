"""The sweeper: what a crash left between two steps is finished, and nothing else is touched."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, NoReturn

import pytest

from a2a_serverless.agent import Working
from a2a_serverless.operations.cancel import FUNCTION_LIFETIME, cancel_task
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.recorder import Recorder
from a2a_serverless.operations.sweep import AT_ONCE, sweep
from a2a_serverless.ports import Admission, AdmissionKey, Due, ExecutionStatus, Head, Ports, TurnKey
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey
from tests.fakes.ports import FakeDue, FakeExecutions, FakeMetrics, FakeTasks
from tests.unit.operations.world import CALLER, Died, Fate, Fault, World

MINUTE = 61.0


def head(world: World, task_id: str) -> Head:
    found = world.tasks.head(CALLER.task(task_id))
    assert found is not None
    return found


def swept(world: World, seconds: float = MINUTE) -> int:
    """Sweep that much later."""
    world.clock.sleep(seconds)
    return sweep(world.ports)


def check_at_rest(world: World) -> None:
    """Every head tells what its log tells, nothing is due, and sweeping on changes nothing."""
    for (key,), found in world.table.all(Head):
        told = head_of(world.policy, world.ports.tasks.load(key), snapshot=found.snapshot)
        assert found == replace(told, webhooks_due_at=None)
    before = dict(world.table.items)
    assert swept(world, FUNCTION_LIFETIME.total_seconds()) == 0
    assert sweep(world.ports) == 0
    assert world.table.items == before


# --- turns -------------------------------------------------


def test_a_turn_whose_execution_ended_without_settling_it_has_failed() -> None:
    world = World()
    task = world.send("m", context_id="c")
    world.executions.status[world.turn(task.id)] = "ended"

    assert swept(world) == 1

    failed = world.get(task.id)
    assert failed.status.state is TaskState.FAILED
    assert failed.status.message is not None
    assert failed.status.message.parts[0].text == "The turn ended unexpectedly. Reference: incident-1"
    assert head(world, task.id).due_at is None
    check_at_rest(world)
    assert world.said("m1", context_id="c").status.state is TaskState.COMPLETED


def test_a_turn_that_was_never_started_is_started() -> None:
    world = World()
    task = world.send("m")
    world.executions.status.clear()

    assert swept(world) == 1

    assert world.executions.status == {world.turn(task.id): "running"}
    assert head(world, task.id).due_at == world.clock.now() + timedelta(seconds=60)
    world.run_turns()
    assert world.get(task.id).status.state is TaskState.COMPLETED
    check_at_rest(world)


def test_a_turn_that_runs_is_looked_at_again_later_and_left_alone() -> None:
    world = World()
    task = world.send("m")
    events = world.entries(task.id)

    assert swept(world) == 1

    assert head(world, task.id).due_at == world.clock.now() + timedelta(seconds=60)
    assert world.entries(task.id) == events
    assert sweep(world.ports) == 0, "not before it is due again"
    assert swept(world) == 1


def test_a_turn_that_wrote_while_its_execution_was_looked_up_is_not_failed() -> None:
    """The answer "ended" may be older than the log's last event: another look decides."""
    world = World()
    task = world.send("m")

    @dataclass
    class Ending(FakeExecutions):
        def describe(self, turn: TurnKey) -> ExecutionStatus | None:
            Recorder(world.ports, turn, world.load(task.id), "alive").record(Working())
            return "ended"

    world.ports = replace(world.ports, executions=Ending())

    assert swept(world) == 1

    assert world.get(task.id).status.state is TaskState.WORKING
    assert world.incidents.reported == []
    assert head(world, task.id).due_at == world.clock.now() + timedelta(seconds=60)


# --- admissions -------------------------------------------------


@pytest.mark.parametrize("at", range(1, 6))
def test_an_admission_that_was_begun_is_finished_wherever_it_stopped(at: int) -> None:
    world = World()
    with pytest.raises(Died):
        world.send("m", "go", world.doomed(Fate(at, Fault.DIES_AFTER)), context_id="c")
    assert world.pending() == ["=m"]

    assert swept(world) >= 1

    assert world.pending() == []
    (key,) = world.executions.started
    world.run_turns()
    assert world.get(key.task.task_id).status.state is TaskState.COMPLETED
    assert world.send("m", context_id="c").id == key.task.task_id
    check_at_rest(world)


def test_an_admission_is_left_to_its_own_process_for_a_minute() -> None:
    world = World()
    with pytest.raises(Died):
        world.send("m", "go", world.doomed(Fate(1, Fault.DIES_AFTER)))

    assert swept(world, 59) == 0
    assert swept(world, 1) == 1


def test_an_admission_that_can_only_be_refused_is_refused_without_an_incident() -> None:
    world = World()
    world.send("m0", context_id="c")
    with pytest.raises(Died):
        world.send("m1", "go", world.doomed(Fate(1, Fault.DIES_AFTER)), context_id="c")

    assert swept(world) == 2

    assert [record.record_id for _, record in world.table.all(Admission)] == ["=m0"]
    assert world.incidents.reported == []
    assert len(world.executions.started) == 1
    world.run_turns()
    assert world.said("m1", context_id="c").status.state is TaskState.COMPLETED


# --- heads -------------------------------------------------


def test_the_head_of_a_turn_that_settled_and_died_is_repaired() -> None:
    world = World()
    task = world.send("m")
    key = world.turn(task.id)
    world.invoke(key, world.doomed(Fate(7)))
    assert world.load(task.id).current.state is TaskState.COMPLETED
    assert head(world, task.id).state is TaskState.WORKING

    assert swept(world) == 1

    assert head(world, task.id).state is TaskState.COMPLETED
    check_at_rest(world)


def test_the_head_of_a_task_whose_canceller_died_is_repaired() -> None:
    world = World()
    asked = world.said("m", "ask")
    with pytest.raises(Died):
        cancel_task(world.doomed(Fate(2, Fault.DIES_AFTER)), CALLER, CancelTaskRequest(id=asked.id))
    assert head(world, asked.id).state is TaskState.INPUT_REQUIRED

    assert swept(world) == 0, "a canceller may live that long"
    assert swept(world, FUNCTION_LIFETIME.total_seconds()) == 1

    assert head(world, asked.id).state is TaskState.CANCELED
    check_at_rest(world)


def test_the_mark_of_a_canceller_that_died_before_it_canceled_is_taken_away() -> None:
    world = World()
    asked = world.said("m", "ask")
    with pytest.raises(Died):
        cancel_task(world.doomed(Fate(1, Fault.DIES_AFTER)), CALLER, CancelTaskRequest(id=asked.id))

    assert swept(world, FUNCTION_LIFETIME.total_seconds()) == 1

    assert world.get(asked.id).status.state is TaskState.INPUT_REQUIRED
    check_at_rest(world)


# --- together -------------------------------------------------


class ThrottledError(Exception):
    """What a store raises on a bad day."""


@pytest.mark.parametrize("bad", range(3))
def test_one_entry_that_fails_does_not_keep_the_others_from_being_seen(bad: int) -> None:
    world = World()
    tasks = []
    for number in range(3):
        tasks.append(world.send(f"m{number}").id)
        world.clock.sleep(1)
        world.executions.status[world.turn(tasks[-1])] = "ended"

    @dataclass(frozen=True)
    class Throttled(FakeTasks):
        def load(self, key: TaskKey, *, about: int = 0) -> LoggedTask:
            if key.task_id == tasks[bad]:
                raise ThrottledError
            return super().load(key, about=about)

    healthy = world.ports
    world.ports = replace(healthy, tasks=Throttled(world.table))

    assert swept(world) == 3

    world.ports = healthy
    states = [world.get(task).status.state for task in tasks]
    assert states.count(TaskState.FAILED) == 2
    assert states[bad] is TaskState.SUBMITTED
    ((error, facts),) = [each for each in world.incidents.reported if isinstance(each[0], ThrottledError)]
    assert isinstance(error, ThrottledError)
    assert tasks[bad] in facts["swept"]
    assert isinstance(world.ports.metrics, FakeMetrics)
    assert world.ports.metrics.counts["SweepFailed"] == 1
    assert sweep(world.ports) == 1, "it is still due"
    assert world.get(tasks[bad]).status.state is TaskState.FAILED


def test_what_is_left_of_many_entries_is_swept_next_time() -> None:
    world = World()
    for number in range(AT_ONCE + 1):
        world.executions.status[world.turn(world.send(f"m{number}").id)] = "ended"

    assert swept(world) == AT_ONCE
    assert sweep(world.ports) == 1
    assert sweep(world.ports) == 0


def test_many_entries_are_swept_as_long_as_there_is_time() -> None:
    world = World()
    ends = [world.turn(world.send(f"m{number}").id) for number in range(2 * AT_ONCE + 1)]
    world.executions.status |= dict.fromkeys(ends, "ended")
    world.clock.sleep(MINUTE)
    soon = world.clock.now() + timedelta(seconds=1)

    assert sweep(world.ports, soon) == 2 * AT_ONCE + 1
    assert sweep(world.ports, soon) == 0


def test_a_sweep_whose_time_is_up_leaves_the_rest_for_the_next() -> None:
    world = World()
    ends = [world.turn(world.send(f"m{number}").id) for number in range(3)]

    class Slow(FakeExecutions):
        def describe(self, turn: TurnKey) -> ExecutionStatus | None:
            world.clock.sleep(1)
            return super().describe(turn)

    world.ports = replace(world.ports, executions=Slow(status=dict.fromkeys(ends, "ended")))
    world.clock.sleep(MINUTE)

    assert sweep(world.ports, world.clock.now() + timedelta(seconds=1.5)) == 2
    assert sweep(world.ports, world.clock.now() + timedelta(seconds=10)) == 1


def test_entries_that_stay_due_are_seen_once_and_keep_no_others_waiting() -> None:
    world = World()
    for number in range(AT_ONCE + 1):
        world.executions.status[world.turn(world.send(f"m{number}").id)] = "ended"
    world.ports = replace(world.ports, executions=Forbidden())
    world.clock.sleep(MINUTE)

    assert sweep(world.ports, world.clock.now() + timedelta(seconds=1)) == AT_ONCE + 1


class Forbidden:
    """A port that nobody may touch."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} was asked for")


def test_nothing_but_the_index_is_read_when_nothing_is_due() -> None:
    world = World()
    world.said("m0")
    world.said("m1", "ask")
    allowed = {"due", "metrics", "clock", "policy"}
    untouched: Any = {each.name: Forbidden() for each in fields(Ports) if each.name not in allowed}
    world.ports = replace(world.ports, **untouched)
    world.clock.sleep(86_400)

    assert sweep(world.ports) == 0


def test_an_index_that_lags_names_what_needs_nobody_any_more() -> None:
    world = World()
    task = world.said("m")
    before = dict(world.table.items)
    stale = [
        Due(AdmissionKey(CALLER.tenant, CALLER.owner, "=m"), world.clock.now()),
        Due(AdmissionKey(CALLER.tenant, CALLER.owner, "=withdrawn"), world.clock.now()),
        Due(CALLER.task("never-was"), world.clock.now()),
    ]

    @dataclass(frozen=True)
    class Lagging(FakeDue):
        def due(self, moment: datetime, limit: int) -> Sequence[Due]:
            return stale

    world.ports = replace(world.ports, due=Lagging(world.table))

    assert sweep(world.ports) == 3

    assert world.table.items == before
    assert world.get(task.id) == task
    assert world.incidents.reported == []


def test_a_task_that_expired_at_work_is_nobodys_business() -> None:
    world = World()
    world.send("m")

    assert swept(world, world.policy.retention.total_seconds()) == 0


def test_sweeping_beside_a_turn_at_work_changes_nothing_it_does() -> None:
    """The sweeper comes by before every write of a turn."""
    for at in range(1, 8):
        world = World()
        task = world.send("m")

        def come_by(world: World = world) -> None:
            swept(world)

        world.invoke(world.turn(task.id), world.doomed(Fate(at, Fault.MEDDLED, come_by)))

        assert world.get(task.id).status.state is TaskState.COMPLETED
        world.clock.sleep(MINUTE)
        sweep(world.ports)
        check_at_rest(world)
