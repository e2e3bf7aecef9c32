"""A task as it stood at a position of its log, which is what a stream that goes on from there begins with."""

import pytest

from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent, TaskKey
from tests.integration.ports.samples import (
    LIFETIME,
    chunk,
    head,
    received,
    settled,
    started,
    write,
)
from tests.integration.ports.world import World

LENGTH = 12


def folded(events: list[LoggedEvent], position: int) -> LoggedTask:
    return fold(LoggedTask(task_id="t-1"), events[:position])


def logged(world: World, *, snapshot: int | None) -> list[LoggedEvent]:
    """A settled log of twelve events, with a snapshot that its head names."""
    chunks = [chunk(str(number)) for number in range(LENGTH - 3)]
    events = write(world, world.task(), received(world), started(world), *chunks, settled(world))
    if snapshot is not None:
        world.tasks.write_snapshot(world.task(), folded(events, snapshot))
        world.tasks.write_head(world.task(), head(world, LENGTH, snapshot=snapshot))
    return events


@pytest.mark.parametrize("snapshot", [None, 1, 2, 7, LENGTH - 1])
def test_at_every_position_a_task_is_what_its_events_until_there_fold_to(
    world: World, snapshot: int | None
) -> None:
    events = logged(world, snapshot=snapshot)

    for position in range(LENGTH + 1):
        assert world.tasks.load_up_to(world.task(), position) == folded(events, position), position


def test_an_older_snapshot_that_the_head_no_longer_names_changes_nothing(world: World) -> None:
    events = logged(world, snapshot=4)
    world.tasks.write_snapshot(world.task(), folded(events, 9))
    world.tasks.write_head(world.task(), head(world, LENGTH + 1, snapshot=9))

    for position in (3, 4, 5, 8, 9, 10):
        assert world.tasks.load_up_to(world.task(), position) == folded(events, position), position


def test_a_snapshot_that_is_not_there_is_done_without(world: World) -> None:
    """Its own write comes before the head's, but expiry may take it first."""
    events = logged(world, snapshot=None)
    world.tasks.write_head(world.task(), head(world, LENGTH, snapshot=6))

    assert world.tasks.load_up_to(world.task(), 8) == folded(events, 8)


def test_a_long_log_is_the_same_from_its_beginning_as_from_its_snapshot(world: World) -> None:
    events = write(world, world.task(), received(world), *(chunk(str(n)) for n in range(129)))
    world.tasks.write_snapshot(world.task(), folded(events, 120))
    world.tasks.write_head(world.task(), head(world, 130, snapshot=120))

    for position in (100, 101, 119, 120, 121, 130):
        assert world.tasks.load_up_to(world.task(), position) == folded(events, position), position


@pytest.mark.parametrize("snapshot", [None, 5])
@pytest.mark.parametrize("position", [LENGTH + 1, LENGTH + 250])
def test_beyond_its_end_a_log_never_stood(world: World, snapshot: int | None, position: int) -> None:
    logged(world, snapshot=snapshot)

    with pytest.raises(KeyError):
        world.tasks.load_up_to(world.task(), position)


def test_of_an_unknown_or_expired_log_nothing_ever_stood(world: World) -> None:
    logged(world, snapshot=5)
    for other in (world.task("other"), TaskKey("other", world.owner, "t-1")):
        with pytest.raises(KeyError):
            world.tasks.load_up_to(other, 1)

    world.clock.sleep(LIFETIME)

    with pytest.raises(KeyError):
        world.tasks.load_up_to(world.task(), 5)
