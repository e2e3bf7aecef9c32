"""Eight threads at once on one item: the store decides, once, and nothing is lost."""

import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from a2a_serverless.ports import ContextKey, ContextRow, PositionTakenError, TaskQuery
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import LoggedEvent
from tests.integration.ports.samples import (
    THREADS,
    admission,
    admission_key,
    all_at_once,
    chunk,
    expires,
    head,
    holder,
    received,
    write,
)
from tests.integration.ports.world import TENANT, World

EACH = 2
"""Events that each thread appends."""


@pytest.fixture(autouse=True)
def _eager_threads() -> Iterator[None]:
    """Threads that interrupt each other as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def test_one_position_has_one_winner(world: World) -> None:
    def append(number: int) -> str:
        event = LoggedEvent(1, f"w-{number}", expires(world), received(world, f"m-{number}"))
        try:
            world.tasks.append(world.task(), event)
        except PositionTakenError as taken:
            return taken.standing.writer
        return event.writer

    winners = set(all_at_once(append))

    (standing,) = world.tasks.events_after(world.task(), 0, 10)
    assert winners == {standing.writer}


def test_no_event_is_lost_and_none_is_written_twice(world: World) -> None:
    write(world, world.task(), received(world))
    begun = world.tasks.load(world.task())

    def append(number: int) -> int:
        task, lost = begun, 0
        for which in range(EACH):
            while True:
                event = LoggedEvent(
                    task.position + 1, f"w-{number}", expires(world), chunk(f"<{number}.{which}>")
                )
                try:
                    world.tasks.append(world.task(), event)
                    break
                except PositionTakenError:
                    lost += 1
                    task = world.tasks.load(world.task(), about=task.position + 1)
            task = world.tasks.load(world.task(), about=task.position + 1)
        return lost

    conflicts = sum(all_at_once(append))

    events = world.tasks.events_after(world.task(), 1, 100)
    written = sorted(event.entry.artifact.parts[0].text or "" for event in events)  # type: ignore[attr-defined]
    assert written == sorted(f"<{number}.{which}>" for number in range(THREADS) for which in range(EACH))
    assert conflicts >= THREADS - 1  # all of them wanted position 2


def test_a_message_is_admitted_to_one_task(world: World) -> None:
    standing = all_at_once(lambda number: world.admissions.open(admission(world, task_id=f"t-{number}")))

    assert {record.task_id for record in standing} == {standing[0].task_id}
    assert world.admissions.read(admission_key(world)) == standing[0]


def test_a_context_is_taken_by_one(world: World) -> None:
    key = ContextKey(TENANT, world.owner, "c-1")

    def take(number: int) -> ContextRow:
        mine = ContextRow(holder(world, f"t-{number}"))
        return world.contexts.take(key, seen=ContextRow(), taken=mine, expires=expires(world))

    rows = all_at_once(take)

    assert {row.holder for row in rows} == {world.contexts.read(key).holder}


def test_the_latest_head_stands(world: World) -> None:
    states = [TaskState.WORKING] * (THREADS - 1) + [TaskState.COMPLETED]

    all_at_once(
        lambda number: world.tasks.write_head(
            world.task(), head(world, number + 1, states[number], snapshot=number % 3)
        )
    )

    for state in TaskState:
        page = world.tasks.find(TaskQuery(TENANT, world.owner, frozenset({state})))
        assert page.total == (state is TaskState.COMPLETED)


def test_no_caller_has_more_streams_open_than_allowed_however_many_ask_at_once(world: World) -> None:
    """All of them until the same moment: that alone must not make two streams one."""
    until = world.clock.now() + timedelta(minutes=5)

    opened = all_at_once(lambda _: world.streams.open(TENANT, world.owner, most=3, until=until))

    taken = [stream for stream in opened if stream is not None]
    assert sorted(stream.place for stream in taken) == [0, 1, 2]


def test_places_that_come_and_go_are_never_given_to_two(world: World) -> None:
    until = world.clock.now() + timedelta(minutes=5)
    holders: dict[int, set[int]] = {0: set(), 1: set()}
    together: list[int] = []

    def come_and_go(number: int) -> int:
        got = 0
        for _ in range(4):
            stream = world.streams.open(TENANT, world.owner, most=2, until=until)
            if stream is None:
                continue
            got += 1
            holders[stream.place].add(number)
            together.append(len(holders[stream.place]))
            holders[stream.place].discard(number)
            world.streams.close(stream)
        return got

    assert sum(all_at_once(come_and_go)) >= 2
    assert set(together) == {1}
