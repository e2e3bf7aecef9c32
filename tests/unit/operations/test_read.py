"""GetTask and ListTasks: what a caller may see of its own tasks (specification 3.1.3 and 3.1.4)."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from a2a_serverless.agent import ArtifactChunk, InputRequired
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.read import list_tasks, page_token, read_page_token
from a2a_serverless.ports import Head
from a2a_serverless.protocol.errors import InvalidParamsError, TaskNotFoundError
from a2a_serverless.protocol.objects import Part, Role, Task, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest, ListTasksRequest, ListTasksResponse
from tests.unit.operations.world import ANONYMOUS, BOB, CALLER, ELSEWHERE, World, asking, message, plays


def listing(world: World, **wanted: Any) -> ListTasksResponse:
    return list_tasks(world.ports, CALLER, ListTasksRequest(**wanted))


def ids(response: ListTasksResponse) -> list[str]:
    return [task.id for task in response.tasks]


def several(world: World, count: int, *, seconds_apart: float = 1) -> list[str]:
    """So many finished tasks; their ids, the newest first."""
    made = []
    for number in range(count):
        world.clock.sleep(seconds_apart)
        made.append(world.said(f"m{number}").id)
    return made[::-1]


def pages(world: World, **wanted: Any) -> Iterator[ListTasksResponse]:
    token = ""
    while True:
        page = listing(world, page_token=token, **wanted)
        yield page
        token = page.next_page_token
        if not token:
            return


# --- GetTask -------------------------------------------------


def test_a_task_is_read_as_its_log_tells_it() -> None:
    world = World()
    asked = world.said("m0", "ask", context_id="c")
    world.said("m1", "the red one", task_id=asked.id)

    task = world.get(asked.id)

    assert (task.id, task.context_id, task.status.state) == (asked.id, "c", TaskState.COMPLETED)
    assert task.status.message is not None
    assert task.status.message.parts == (Part(text="done"),)
    assert [(said.role, said.parts[0].text) for said in task.history] == [
        (Role.USER, "ask"),
        (Role.AGENT, "Which one?"),
        (Role.USER, "the red one"),
    ]
    assert {(said.task_id, said.context_id) for said in task.history} == {(asked.id, "c")}
    assert [(made.artifact_id, made.parts) for made in task.artifacts] == [
        ("result", (Part(text="about the red one"),))
    ]


@pytest.mark.parametrize(("length", "shown"), [(None, 3), (0, 0), (1, 1), (2, 2), (3, 3), (100, 3)])
def test_history_is_cut_to_its_most_recent_messages(length: int | None, shown: int) -> None:
    world = World()
    asked = world.said("m0", "ask")
    whole = world.said("m1", task_id=asked.id).history

    task = world.get(asked.id, history_length=length)

    assert task.history == whole[len(whole) - shown :]
    assert ("history" in task.to_dict()) is (shown > 0)


@pytest.mark.parametrize("caller", [BOB, ELSEWHERE, ANONYMOUS])
def test_a_foreign_task_is_answered_like_one_that_never_was(caller: Any) -> None:
    world = World()
    task = world.send("m")

    with pytest.raises(TaskNotFoundError) as foreign:
        world.get(task.id, caller=caller)
    with pytest.raises(TaskNotFoundError) as missing:
        world.get("never-was")

    assert (foreign.value.message, foreign.value.details()) == (
        missing.value.message,
        missing.value.details(),
    )


def test_a_task_is_read_from_its_events_when_its_head_was_never_written() -> None:
    world = World()
    task = world.said("m")
    del world.table.items[Head, CALLER.task(task.id)]

    assert world.get(task.id) == task


# --- which tasks are listed, in which order -------------------------------------------------


def test_the_most_recent_status_comes_first() -> None:
    world = World()
    asked = world.said("m", "ask").id
    newest_first = several(world, 3)
    assert ids(listing(world)) == [*newest_first, asked]

    world.clock.sleep(1)
    world.said("answer", task_id=asked)

    assert ids(listing(world)) == [asked, *newest_first]


def test_tasks_of_one_moment_are_listed_by_descending_id() -> None:
    world = World()

    made = several(world, 5, seconds_apart=0)

    assert ids(listing(world)) == sorted(made, reverse=True)


def test_nobody_elses_tasks_are_listed_or_counted() -> None:
    world = World()
    for number, caller in enumerate((BOB, ELSEWHERE, ANONYMOUS)):
        world.answer(asking(message(f"m{number}", context_id="c")), caller)

    response = listing(world)

    assert (response.tasks, response.total_size, response.next_page_token) == ((), 0, "")
    assert listing(world, context_id="c").total_size == 0


def test_an_empty_listing_still_has_all_its_members() -> None:
    assert listing(World()).to_dict() == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def in_every_state(world: World) -> dict[TaskState, str]:
    """One task in each of four states, a minute apart, the first two in context c."""
    made = {TaskState.COMPLETED: world.said("m1", context_id="c").id}
    world.clock.sleep(60)
    made[TaskState.INPUT_REQUIRED] = world.said("m2", "ask", context_id="c").id
    world.clock.sleep(60)
    made[TaskState.SUBMITTED] = world.send("m3").id
    world.clock.sleep(60)
    made[TaskState.CANCELED] = world.send("m4", context_id="d").id
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=made[TaskState.CANCELED]))
    return made


@pytest.mark.parametrize("state", list(TaskState))
def test_a_state_finds_the_tasks_that_are_in_it(state: TaskState) -> None:
    world = World()
    made = in_every_state(world)

    response = listing(world, status=state)

    assert ids(response) == ([made[state]] if state in made else [])
    assert response.total_size == len(response.tasks)


def test_a_context_finds_its_tasks() -> None:
    world = World()
    made = in_every_state(world)

    assert ids(listing(world, context_id="c")) == [made[TaskState.INPUT_REQUIRED], made[TaskState.COMPLETED]]
    assert ids(listing(world, context_id="unheard-of")) == []


def test_a_moment_finds_the_tasks_whose_status_is_as_late_or_later() -> None:
    world = World()
    made = in_every_state(world)
    at = world.get(made[TaskState.SUBMITTED]).status.timestamp
    assert at is not None

    assert ids(listing(world, status_timestamp_after=at)) == [
        made[TaskState.CANCELED],
        made[TaskState.SUBMITTED],
    ]
    assert ids(listing(world, status_timestamp_after=at + timedelta(milliseconds=1))) == [
        made[TaskState.CANCELED]
    ]


def test_filters_are_joined_by_and() -> None:
    world = World()
    made = in_every_state(world)

    assert ids(listing(world, context_id="c", status=TaskState.COMPLETED)) == [made[TaskState.COMPLETED]]
    assert ids(listing(world, context_id="d", status=TaskState.COMPLETED)) == []
    late = world.clock.now() - timedelta(seconds=100)
    assert ids(listing(world, context_id="c", status_timestamp_after=late)) == []


def test_a_task_that_moved_on_before_the_index_knew_is_not_shown_under_the_state_it_left() -> None:
    world = World()
    asked = world.said("m", "ask").id
    stale = world.tasks.head(CALLER.task(asked))
    world.said("answer", task_id=asked)
    world.table.items[Head, CALLER.task(asked)] = (2**40, stale)

    assert ids(listing(world, status=TaskState.INPUT_REQUIRED)) == []
    assert ids(listing(world)) == [asked]
    assert listing(world).tasks[0].status.state is TaskState.COMPLETED


def test_an_index_entry_that_outlived_its_task_is_left_out() -> None:
    world = World()
    (task,) = several(world, 1)
    expires, head = world.table.items[Head, CALLER.task(task)]
    world.clock.sleep(world.policy.retention.total_seconds())
    world.table.items[Head, CALLER.task(task)] = (expires * 2, head)

    assert ids(listing(world)) == []


# --- pages -------------------------------------------------


def test_a_page_has_fifty_tasks_unless_told_otherwise() -> None:
    world = World()
    newest_first = several(world, 51)

    first, second = pages(world)

    assert (ids(first), first.page_size, first.total_size) == (newest_first[:50], 50, 51)
    assert (ids(second), second.page_size, second.total_size) == (newest_first[50:], 50, 51)
    assert first.next_page_token
    assert second.next_page_token == ""


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 100])
@pytest.mark.parametrize("seconds_apart", [0, 1])
def test_pages_hold_every_task_once_and_in_order(size: int, seconds_apart: int) -> None:
    world = World()
    several(world, 6, seconds_apart=seconds_apart)
    in_order = ids(listing(world))

    found = list(pages(world, page_size=size))

    assert [task for page in found for task in ids(page)] == in_order
    assert [len(page.tasks) for page in found[:-1]] == [size] * (len(found) - 1)
    assert 1 <= len(found[-1].tasks) <= size
    assert {(page.page_size, page.total_size) for page in found} == {(size, 6)}


def test_a_cursor_holds_while_tasks_come_move_and_end() -> None:
    world = World()
    asked = world.said("asks", "ask").id
    newest_first = [*several(world, 4), asked]
    first = listing(world, page_size=2)
    assert ids(first) == newest_first[:2]

    world.clock.sleep(1)
    world.said("comes")
    world.said("moves", task_id=asked)
    rest = listing(world, page_size=9, page_token=first.next_page_token)

    assert ids(rest) == newest_first[2:4], "the one that moved is on an earlier page now"
    assert rest.total_size == 6


def test_a_cursor_may_be_used_twice_and_with_other_filters() -> None:
    world = World()
    newest_first = several(world, 3)
    token = listing(world, page_size=1).next_page_token

    for _ in range(2):
        assert ids(listing(world, page_size=1, page_token=token)) == newest_first[1:2]
    assert ids(listing(world, page_token=token, status=TaskState.FAILED)) == []


MOMENT = datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC)


@pytest.mark.parametrize("milliseconds", [0, 1, 123, 499, 500, 999])
def test_a_token_is_read_back_to_the_millisecond(milliseconds: int) -> None:
    moment = MOMENT.replace(microsecond=1000 * milliseconds)

    assert read_page_token(page_token(moment, "t-1")) == (moment, "t-1")


def plain(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "!!!!",
        "é",
        "\ud7ff",
        " ",
        "====",
        plain("#"),
        plain("#task"),
        plain("1764504000123"),
        plain("1764504000123#"),
        plain("1764504000123.5#task"),
        plain("01764504000123#task"),
        plain("+1764504000123#task"),
        plain(" 1764504000123#task"),
        plain("1_764_504_000_123#task"),
        plain("1e12#task"),
        plain("nan#task"),
        plain("9" * 20 + "#task"),
        plain("9" * 5000 + "#task"),
        plain("١٢٣#task"),
        plain("1764504000123#tåsk"),
        page_token(MOMENT, "task") + "=",
        page_token(MOMENT, "task") + "\n",
        page_token(MOMENT, "task")[:-1],
        " " + page_token(MOMENT, "task"),
        base64.b64encode(b"1764504000123#?>?>?>").decode(),
        page_token(MOMENT, "task") * 2,
    ],
)
def test_a_token_that_no_page_gave_is_blamed_by_name(token: str) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        listing(World(), page_token=token)

    assert [violation.field for violation in refused.value.violations] == ["pageToken"]


# --- how much of each -------------------------------------------------


def one_with_everything(world: World) -> Task:
    asked = world.said("m0")
    world.run_turns()
    return world.said("m1", task_id=asked.id)


@pytest.fixture
def world() -> World:
    return World(agent=plays(ArtifactChunk("a", "x"), InputRequired("?")))


def test_artifacts_are_shown_only_when_asked_for(world: World) -> None:
    task = one_with_everything(world)

    (without,) = listing(world).tasks
    (refused,) = listing(world, include_artifacts=False).tasks
    (asked,) = listing(world, include_artifacts=True).tasks

    assert "artifacts" not in without.to_dict()
    assert "artifacts" not in refused.to_dict()
    assert asked.artifacts == task.artifacts


@pytest.mark.parametrize(("length", "shown"), [(None, 0), (0, 0), (1, 1), (2, 2), (9, 3)])
def test_a_listing_shows_history_only_when_asked_for(world: World, length: int | None, shown: int) -> None:
    task = one_with_everything(world)

    (listed,) = listing(world, history_length=length).tasks

    assert listed.history == task.history[len(task.history) - shown :]
    assert ("history" in listed.to_dict()) is (shown > 0)


def test_a_listed_task_is_the_task_that_is_read(world: World) -> None:
    task = one_with_everything(world)

    assert listing(world, history_length=99, include_artifacts=True).tasks == (task,)
