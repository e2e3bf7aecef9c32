"""The log of a task: what was appended is read back, densely, once, and only while the task lives."""

import pytest

from a2a_serverless.ports import PositionTakenError
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, Voided
from tests.integration.ports.samples import (
    LIFETIME,
    chunk,
    expires,
    head,
    received,
    settled,
    started,
    write,
)
from tests.integration.ports.world import World


def test_a_task_without_a_log_has_position_zero(world: World) -> None:
    assert world.tasks.load(world.task()) == LoggedTask(task_id="t-1")


def test_a_task_is_what_its_events_fold_to(world: World) -> None:
    events = write(
        world, world.task(), received(world), started(world), chunk("a"), chunk("b"), settled(world)
    )

    assert world.tasks.load(world.task()) == fold(LoggedTask(task_id="t-1"), events)


@pytest.mark.parametrize("about", [0, 1, 2, 3, 4, 9, 24, 25, 1000])
def test_a_task_is_the_same_however_long_its_log_was_thought_to_be(world: World, about: int) -> None:
    events = write(world, world.task(), received(world), started(world), chunk("a"))

    assert world.tasks.load(world.task(), about=about) == fold(LoggedTask(task_id="t-1"), events)


def test_an_event_is_read_back_as_it_was_written(world: World) -> None:
    written = write(
        world, world.task(), received(world), started(world), chunk("é\N{SNOWMAN}\0"), settled(world)
    )

    assert list(world.tasks.events_after(world.task(), 0, 10)) == written


def test_a_taken_position_is_refused_with_the_event_that_stands_there(world: World) -> None:
    (standing,) = write(world, world.task(), received(world), writer="first")

    with pytest.raises(PositionTakenError) as refused:
        world.tasks.append(world.task(), LoggedEvent(1, "second", expires(world), Voided()))

    assert refused.value.standing == standing
    assert world.tasks.load(world.task()).has("m-1", 1)


def test_a_writer_finding_its_own_event_has_succeeded(world: World) -> None:
    (event,) = write(world, world.task(), received(world))

    world.tasks.append(world.task(), event)

    assert world.tasks.load(world.task()).position == 1


def test_events_after_a_position_are_those_right_after_it(world: World) -> None:
    written = write(world, world.task(), received(world), started(world), *(chunk(str(n)) for n in range(12)))

    assert list(world.tasks.events_after(world.task(), 2, 25)) == written[2:]
    assert list(world.tasks.events_after(world.task(), 2, 7)) == written[2:9]
    assert list(world.tasks.events_after(world.task(), len(written), 25)) == []


def test_events_read_as_they_stand_now_go_on_beyond_the_end_of_a_turn(world: World) -> None:
    written = write(
        world, world.task(), received(world), settled(world), received(world, "m-2"), started(world, 3)
    )

    assert list(world.tasks.events_after(world.task(), 0, 25, current=True)) == written
    assert list(world.tasks.events_after(world.task(), 1, 2, current=True)) == written[1:3]
    assert list(world.tasks.events_after(world.task(), 4, 25, current=True)) == []


def test_what_lies_beyond_a_hole_is_not_read(world: World) -> None:
    written = write(world, world.task(), received(world), started(world))
    write(world, world.task(), chunk("lost"), first=4)

    assert world.tasks.load(world.task()).position == 2
    assert world.tasks.load(world.task(), about=5).position == 2
    assert list(world.tasks.events_after(world.task(), 0, 10)) == written


def test_events_that_the_head_does_not_know_of_belong_to_the_task(world: World) -> None:
    write(world, world.task(), received(world), started(world), *(chunk(str(n)) for n in range(40)))
    world.tasks.write_head(world.task(), head(world, position=2))

    assert world.tasks.load(world.task()).position == 42


def test_a_log_is_nobody_elses(world: World) -> None:
    write(world, world.task(), received(world))
    key = world.task()

    for other in (
        TaskKey("other", key.owner, key.task_id),
        TaskKey(key.tenant, "other", key.task_id),
        TaskKey(key.tenant + "#" + key.owner, "", key.task_id),
        TaskKey("", key.tenant, f"{key.owner}#{key.task_id}"),
        TaskKey(key.tenant, "", f"{key.owner}#{key.task_id}"),
    ):
        assert world.tasks.load(other).position == 0


def test_an_expired_log_is_absent(world: World) -> None:
    write(world, world.task(), received(world), started(world))
    world.tasks.write_head(world.task(), head(world, position=2))

    world.clock.sleep(LIFETIME)

    assert world.tasks.load(world.task()) == LoggedTask(task_id="t-1")
    assert world.tasks.load(world.task(), about=2).position == 0
    assert list(world.tasks.events_after(world.task(), 0, 10)) == []


def test_an_expired_event_makes_room_for_another(world: World) -> None:
    write(world, world.task(), received(world, "m-1"), writer="first")
    world.clock.sleep(LIFETIME)

    write(world, world.task(), received(world, "m-2"), writer="second")

    assert world.tasks.load(world.task()).has("m-2", 1)


def test_many_tasks_are_read_in_the_order_asked_for(world: World) -> None:
    lengths = {"t-3": 3, "t-1": 1, "t-40": 40}
    for name, length in lengths.items():
        write(world, world.task(name), received(world), *(chunk(str(n)) for n in range(length - 1)))
        world.tasks.write_head(world.task(name), head(world, position=length))
    keys = [world.task(name) for name in ("t-3", "missing", "t-1", "t-40", "t-3")]

    assert world.tasks.load_many(keys) == [world.tasks.load(key) for key in keys]
    assert [task.position for task in world.tasks.load_many(keys)] == [3, 0, 1, 40, 3]
    assert list(world.tasks.load_many([])) == []


def test_an_event_too_big_for_one_item_is_read_back(world: World) -> None:
    text = "é" * 250_000
    (event,) = write(world, world.task(), received(world, text=text))

    assert list(world.tasks.events_after(world.task(), 0, 1)) == [event]
    with pytest.raises(PositionTakenError) as refused:
        world.tasks.append(world.task(), LoggedEvent(1, "other", expires(world), Voided()))
    assert refused.value.standing == event
