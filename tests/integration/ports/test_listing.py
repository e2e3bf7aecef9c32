"""Listing an owner's tasks: order, ties, cursors, filters, totals."""

from datetime import UTC, datetime, timedelta

from a2a_serverless.ports import TaskPage, TaskQuery
from a2a_serverless.protocol.objects import TaskState
from tests.integration.ports.samples import LIFETIME, head
from tests.integration.ports.world import TENANT, StoredWorld, World

STATES = (TaskState.WORKING, TaskState.COMPLETED, TaskState.INPUT_REQUIRED)
ALL = frozenset(TaskState)


def listed(world: World, count: int, *, ties: int = 1, context_id: str = "c-1") -> list[tuple[datetime, str]]:
    """Write heads of different states, `ties` of them at each millisecond; returns them newest first."""
    written = []
    for number in range(count):
        at = world.clock.now() + timedelta(milliseconds=number // ties)
        name = f"t-{number:03d}"
        task = head(world, state=STATES[number % len(STATES)], at=at, context_id=context_id)
        world.tasks.write_head(world.task(name), task)
        written.append((at, name))
    return written[::-1]


def query(world: World, states: frozenset[TaskState] = ALL, **wanted: object) -> TaskPage:
    """What the owner's query finds."""
    return world.tasks.find(TaskQuery(TENANT, world.owner, states, **wanted))  # type: ignore[arg-type]


def page(*found: tuple[datetime, str], total: int | None = None) -> TaskPage:
    """A page of a listing that has no other, unless a total says so."""
    return TaskPage(found, len(found) if total is None else total)


def test_tasks_are_listed_newest_status_first_with_ties_by_descending_id(world: World) -> None:
    newest_first = listed(world, 9, ties=3)

    assert list(query(world).found) == newest_first
    assert query(world).total == 9


def test_pages_neither_skip_nor_repeat_a_tie(world: World) -> None:
    newest_first = listed(world, 9, ties=9)

    found: list[tuple[datetime, str]] = []
    while some := query(world, after=found[-1] if found else None, limit=2).found:
        assert len(some) <= 2
        found += some

    assert found == newest_first


def test_a_cursor_holds_when_its_task_has_moved(world: World) -> None:
    newest_first = listed(world, 6)
    cursor = newest_first[2]
    moved = head(world, 2, TaskState.CANCELED, at=world.clock.now() + timedelta(seconds=1))
    world.tasks.write_head(world.task(cursor[1]), moved)

    assert list(query(world, after=cursor).found) == newest_first[3:]


def test_a_total_counts_all_pages(world: World) -> None:
    newest_first = listed(world, 7)

    assert query(world, limit=2).total == 7
    assert query(world, after=newest_first[4], limit=2).total == 7
    assert query(world, frozenset({TaskState.WORKING}), limit=1).total == 3


def test_states_are_filtered(world: World) -> None:
    newest_first = listed(world, 9)
    wanted = frozenset({TaskState.WORKING, TaskState.INPUT_REQUIRED})

    found = query(world, wanted)

    assert list(found.found) == [each for each in newest_first if int(each[1][2:]) % 3 != 1]
    assert found.total == 6


def test_contexts_are_filtered_alone_and_by_state(world: World) -> None:
    listed(world, 3, context_id="other")
    at = world.clock.now()
    world.tasks.write_head(world.task("w"), head(world, state=TaskState.WORKING, at=at, context_id="mine"))
    world.tasks.write_head(world.task("c"), head(world, state=TaskState.COMPLETED, at=at, context_id="mine"))

    assert query(world, context_id="mine") == page((at, "w"), (at, "c"))
    assert query(world, frozenset({TaskState.COMPLETED}), context_id="mine") == page((at, "c"))
    assert query(world, frozenset({TaskState.COMPLETED}), context_id="mine", limit=1).total == 1
    assert query(world, context_id="none") == page()


def test_a_filtered_context_is_read_on_until_the_page_is_full(world: World) -> None:
    newest_first = listed(world, 12)

    found = query(world, frozenset({TaskState.WORKING}), context_id="c-1", limit=3)

    assert list(found.found) == [each for each in newest_first if int(each[1][2:]) % 3 == 0][:3]
    assert found.total == 4


def test_nothing_is_later_than_the_last_moment_there_is(world: World) -> None:
    last = datetime.max.replace(microsecond=999_000, tzinfo=UTC)

    assert query(world, not_before=last) == page()


def test_times_not_before_a_moment_include_that_moment(world: World) -> None:
    newest_first = listed(world, 6)
    moment = newest_first[3][0]

    assert query(world, not_before=moment) == page(*newest_first[:4])
    assert query(world, not_before=moment + timedelta(microseconds=1)) == page(*newest_first[:3])
    assert query(world, not_before=moment, after=newest_first[1]) == page(*newest_first[2:4], total=4)
    assert query(world, not_before=moment, after=newest_first[5]) == page(total=4)


def test_a_task_is_listed_under_its_present_state_only(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, 1, TaskState.SUBMITTED))
    world.tasks.write_head(world.task(), head(world, 2, TaskState.WORKING))

    assert query(world, frozenset({TaskState.SUBMITTED})).total == 0
    assert query(world).total == 1


def test_expired_tasks_are_not_listed_and_not_counted(world: World) -> None:
    listed(world, 3)
    world.clock.sleep(LIFETIME)
    world.tasks.write_head(world.task("alive"), head(world))

    assert [task_id for _, task_id in query(world).found] == ["alive"]
    assert query(world, limit=1).total == 1
    assert query(world, context_id="c-1").total == 1


def test_tasks_of_others_are_not_listed(world: World) -> None:
    listed(world, 2)

    assert world.tasks.find(TaskQuery("other", world.owner, ALL)) == page()
    assert world.tasks.find(TaskQuery(TENANT, "other", ALL)) == page()
    assert world.tasks.find(TaskQuery("", TENANT, ALL, context_id=f"{world.owner}#c-1")) == page()


def test_totals_stop_at_a_thousand(world: World) -> None:
    at = world.clock.now()
    world.tasks.write_head(world.task("t-0000"), head(world, at=at))
    copy_head(world, 1_001)

    assert query(world, limit=2) == page((at, "t-1001"), (at, "t-1000"), total=1_000)
    assert query(world, context_id="c-1", limit=1).total == 1_000


def copy_head(world: World, copies: int) -> None:
    """More heads like that of task `t-0000`, in few requests where requests cost time."""
    names = [f"t-{number:04d}" for number in range(1, copies + 1)]
    if not isinstance(world, StoredWorld):
        for name in names:
            world.tasks.write_head(world.task(name), head(world))
        return
    name = world.backend.table
    key = {"pk": {"S": f"TASK#{TENANT}#{world.owner}#t-0000"}, "sk": {"S": "HEAD"}}
    (standing,) = world.backend.dynamodb.batch_get_item(RequestItems={name: {"Keys": [key]}})["Responses"][
        name
    ]
    copied = [
        {
            **standing,
            "pk": {"S": standing["pk"]["S"].replace("t-0000", each)},
            "list_order": {"S": standing["list_order"]["S"].replace("t-0000", each)},
        }
        for each in names
    ]
    for first in range(0, copies, 25):
        puts = [{"PutRequest": {"Item": item}} for item in copied[first : first + 25]]
        world.backend.dynamodb.batch_write_item(RequestItems={name: puts})  # type: ignore[dict-item]
