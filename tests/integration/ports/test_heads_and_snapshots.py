"""The caches of a log: they move forwards only, and reading gives the same task with and without them."""

from datetime import timedelta

import pytest

from a2a_serverless.ports import Due, TaskQuery
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask, fold
from tests.integration.ports.samples import LIFETIME, chunk, head, received, settled, started, write
from tests.integration.ports.world import TENANT, World


def states(world: World) -> list[tuple[str, TaskState]]:
    """The owner's tasks with the state that their heads tell of."""
    found = []
    for state in TaskState:
        query = TaskQuery(TENANT, world.owner, frozenset({state}))
        found += [(task_id, state) for _, task_id in world.tasks.find(query).found]
    return found


def test_a_head_never_goes_back(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, 5, TaskState.COMPLETED))

    world.tasks.write_head(world.task(), head(world, 4, TaskState.WORKING))
    world.tasks.write_head(world.task(), head(world, 5, TaskState.WORKING))
    world.tasks.write_head(world.task(), head(world, 4, TaskState.WORKING), repair=True)

    assert states(world) == [("t-1", TaskState.COMPLETED)]


def test_a_later_head_replaces_an_earlier_one(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, 1, TaskState.SUBMITTED))
    world.tasks.write_head(world.task(), head(world, 2, TaskState.WORKING))

    assert states(world) == [("t-1", TaskState.WORKING)]


def test_a_repair_rewrites_the_head_of_the_same_position(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, 5, TaskState.WORKING))

    world.tasks.write_head(world.task(), head(world, 5, TaskState.CANCELED), repair=True)

    assert states(world) == [("t-1", TaskState.CANCELED)]


def test_a_repair_leaves_a_head_alone_that_is_marked_for_later(world: World) -> None:
    """A canceller announces itself there before it appends; a sweeper passing by must not forget it."""
    later = world.clock.now() + timedelta(minutes=16)
    world.tasks.write_head(world.task(), head(world, 5, TaskState.INPUT_REQUIRED))
    world.tasks.mark_due(world.task(), later)

    world.tasks.write_head(world.task(), head(world, 5, TaskState.INPUT_REQUIRED), repair=True)

    assert Due(world.task(), later) in world.due.due(later, 1000)
    world.tasks.write_head(world.task(), head(world, 6, TaskState.CANCELED))
    assert Due(world.task(), later) not in world.due.due(later, 1000)


def test_an_expired_head_is_replaced_by_an_earlier_one(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, 5, TaskState.COMPLETED))
    world.clock.sleep(LIFETIME)
    assert states(world) == []

    world.tasks.write_head(world.task(), head(world, 1, TaskState.SUBMITTED))

    assert states(world) == [("t-1", TaskState.SUBMITTED)]


def test_a_head_without_outstanding_work_is_not_due(world: World) -> None:
    moment = world.clock.now() + timedelta(seconds=60)
    world.tasks.write_head(world.task(), head(world, 1, due_at=moment))
    assert Due(world.task(), moment) in world.due.due(moment, 1000)

    world.tasks.write_head(world.task(), head(world, 2, TaskState.COMPLETED))

    assert Due(world.task(), moment) not in world.due.due(moment, 1000)


def test_a_head_that_keeps_the_due_moment_moves_none_and_sets_one_where_there_is_none(world: World) -> None:
    first, later, last = (world.clock.now() + timedelta(seconds=each) for each in (60, 120, 180))
    world.tasks.write_head(world.task(), head(world, 1, due_at=first, keeps_due=True))
    assert Due(world.task(), first) in world.due.due(first, 1000)
    world.tasks.mark_due(world.task(), later)

    world.tasks.write_head(world.task(), head(world, 2, due_at=first, keeps_due=True))
    assert Due(world.task(), later) in world.due.due(last, 1000)

    world.tasks.write_head(world.task(), head(world, 3, due_at=last))
    assert Due(world.task(), last) in world.due.due(last, 1000)
    world.tasks.write_head(world.task(), head(world, 4, TaskState.COMPLETED, keeps_due=True))
    assert world.task() not in [entry.what for entry in world.due.due(last, 1000)]


def test_a_task_without_a_head_is_not_marked_due(world: World) -> None:
    moment = world.clock.now()
    world.tasks.mark_due(world.task(), moment)

    assert world.task() not in [entry.what for entry in world.due.due(moment, 1000)]


def test_a_mark_makes_a_head_due_until_the_next_head(world: World) -> None:
    moment = world.clock.now()
    world.tasks.write_head(world.task(), head(world, 3, TaskState.INPUT_REQUIRED))

    world.tasks.mark_due(world.task(), moment)
    assert Due(world.task(), moment) in world.due.due(moment, 1000)

    world.tasks.write_head(world.task(), head(world, 4, TaskState.CANCELED))
    assert world.task() not in [entry.what for entry in world.due.due(moment, 1000)]


def snapshot_of(world: World, upto: int) -> LoggedTask:
    """Write a log of that length, its snapshot and its head; returns the fold."""
    entries = [received(world), started(world), *(chunk(f"{n} ") for n in range(upto - 2))]
    task = fold(LoggedTask(task_id="t-1", snapshot=upto), write(world, world.task(), *entries))
    world.tasks.write_snapshot(world.task(), task)
    world.tasks.write_head(world.task(), head(world, upto, snapshot=upto))
    return task


def test_a_task_is_the_same_with_and_without_its_snapshot(world: World) -> None:
    task = snapshot_of(world, 30)
    last = write(world, world.task(), settled(world), first=31)

    assert world.tasks.load(world.task()) == fold(task, last)
    world.tasks.write_head(world.task(), head(world, 31, TaskState.COMPLETED))
    assert world.tasks.load(world.task()) == fold(task, last)
    assert world.tasks.load_many([world.task()]) == [fold(task, last)]


@pytest.mark.parametrize("older", [0, 10])
def test_a_head_that_knows_of_no_newer_snapshot_keeps_the_one_known(world: World, older: int) -> None:
    tasks = {upto: snapshot_of(world, upto) for upto in (10, 20)}
    longer = fold(tasks[20], write(world, world.task(), chunk("more"), first=21))

    world.tasks.write_head(world.task(), head(world, 21, TaskState.CANCELED, snapshot=older))

    assert states(world) == [("t-1", TaskState.CANCELED)]
    assert world.tasks.load(world.task()) == longer
    assert world.tasks.load(world.task()).snapshot == 20


def test_a_head_of_an_earlier_position_names_no_snapshot(world: World) -> None:
    task = snapshot_of(world, 20)
    world.tasks.write_snapshot(world.task(), task.model_copy(update={"position": 30, "snapshot": 30}))

    world.tasks.write_head(world.task(), head(world, 19, snapshot=30))

    assert world.tasks.load(world.task()) == task


def test_a_snapshot_that_is_not_there_is_done_without(world: World) -> None:
    events = write(world, world.task(), received(world), started(world), *(chunk(str(n)) for n in range(30)))
    world.tasks.write_head(world.task(), head(world, 32, snapshot=20))

    assert world.tasks.load(world.task()) == fold(LoggedTask(task_id="t-1"), events)


def test_a_big_snapshot_is_read_back(world: World) -> None:
    text = "0123456789abcdef" * 3_000
    events = write(world, world.task(), received(world), started(world), *(chunk(text) for _ in range(3)))
    task = fold(LoggedTask(task_id="t-1"), events)
    world.tasks.write_snapshot(world.task(), task)
    world.tasks.write_head(world.task(), head(world, 5, TaskState.COMPLETED, snapshot=5))

    assert world.tasks.load(world.task()) == task
