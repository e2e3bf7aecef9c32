"""Reading a log by key: the same task whatever caches it has, in as few rounds as it can be."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_serverless.adapters.dynamodb_keys import task_event, task_head, task_snapshot
from a2a_serverless.adapters.dynamodb_reading import Reading, read_all
from a2a_serverless.adapters.dynamodb_table import BATCH, Item, ItemKey
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, Voided

KEY = TaskKey("acme", "owner", "t-1")
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@dataclass
class Stored:
    """Items by key, and what was asked for in each round."""

    items: dict[ItemKey, Item] = field(default_factory=dict)
    rounds: list[list[ItemKey]] = field(default_factory=list)

    def fetch(self, keys: Collection[ItemKey]) -> Mapping[ItemKey, Item]:
        self.rounds.append(list(keys))
        return {key: self.items[key] for key in keys if key in self.items}

    def read(self, *keys: TaskKey, about: int = 0) -> list[int]:
        """The positions that readings of these keys arrive at."""
        readings = [Reading(key, about) for key in keys]
        read_all(readings, self.fetch)
        return [reading.task(snapshot, event).position for reading in readings]


def snapshot(item: Item) -> LoggedTask:
    return LoggedTask(task_id="t-1", position=item["position"])


def event(item: Item) -> LoggedEvent:
    return LoggedEvent(item["position"], "w", 0, Voided())


def stored(
    length: int, *, key: TaskKey = KEY, head: int = 0, state: TaskState = TaskState.WORKING, kept: int = 0
) -> Stored:
    """A log of that length, with a head and a snapshot that know it so far, 0 for none."""
    items: dict[ItemKey, Item] = {task_event(key, at): {"position": at} for at in range(1, length + 1)}
    if head:
        items[task_head(key)] = {"position": head, "state": state.value, "snapshot": kept}
    if kept:
        items[task_snapshot(key, kept)] = {"position": kept}
    return Stored(items)


in_its_own_time = settings(deadline=None)
lengths = st.integers(0, 450)


@in_its_own_time
@given(lengths, st.integers(0, 450), st.integers(0, 450), st.integers(0, 450))
def test_a_log_is_read_to_its_end_whatever_its_caches_say(
    length: int, head: int, kept: int, about: int
) -> None:
    log = stored(length, head=min(head, length), kept=min(kept, head, length))

    assert log.read(KEY, about=about) == [length]
    assert all(len(keys) <= BATCH for keys in log.rounds)
    assert len(log.rounds) <= 4 + length // BATCH + 8  # doubling steps where no cache tells the length


@in_its_own_time
@given(lengths.filter(bool), st.integers(0, 450), st.integers(0, 450))
def test_what_a_terminal_head_tells_of_is_read_and_no_more(length: int, kept: int, about: int) -> None:
    log = stored(length, head=length, state=TaskState.COMPLETED, kept=min(kept, length))

    assert log.read(KEY, about=about) == [length]
    if about == 0:
        assert task_event(KEY, length + 1) not in {key for keys in log.rounds for key in keys}


@in_its_own_time
@given(st.integers(2, 60), st.integers(1, 58), st.integers(0, 60))
def test_nothing_beyond_a_hole_is_read(length: int, hole: int, about: int) -> None:
    log = stored(length, head=length)
    missing = min(hole, length - 1)
    del log.items[task_event(KEY, missing)]

    assert log.read(KEY, about=about) == [missing - 1]


@pytest.mark.parametrize("length", [1, 5, 24])
def test_a_good_guess_takes_one_round(length: int) -> None:
    log = stored(length, head=length)

    assert log.read(KEY, about=length) == [length]
    assert len(log.rounds) == 1


@pytest.mark.parametrize("length", [3, 250, 5_000])
def test_a_settled_task_takes_its_head_and_its_snapshot(length: int) -> None:
    log = stored(length, head=length, state=TaskState.COMPLETED, kept=length - 1)

    assert log.read(KEY) == [length]
    assert log.rounds == [[task_head(KEY)], [task_snapshot(KEY, length - 1), task_event(KEY, length)]]


def test_a_running_task_is_looked_at_one_position_beyond_its_head() -> None:
    log = stored(3, head=3)

    assert log.read(KEY) == [3]
    assert log.rounds == [[task_head(KEY)], [task_event(KEY, at) for at in (1, 2, 3, 4)]]


def test_a_task_that_is_not_there_takes_its_head_and_its_first_event() -> None:
    log = Stored()

    assert log.read(KEY) == [0]
    assert log.rounds == [[task_head(KEY)], [task_event(KEY, 1)]]


def test_many_readings_share_their_rounds() -> None:
    keys = [TaskKey("acme", "owner", f"t-{number}") for number in range(10)]
    logs = [
        stored(number + 2, key=key, head=number + 2, state=TaskState.COMPLETED, kept=number + 1)
        for number, key in enumerate(keys)
    ]
    log = Stored({key: item for each in logs for key, item in each.items.items()})

    assert log.read(*keys) == [number + 2 for number in range(10)]
    assert [len(keys) for keys in log.rounds] == [10, 20]
