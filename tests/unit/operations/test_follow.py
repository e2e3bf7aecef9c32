"""How often a log is looked at: often while something happens, rarely while nothing does, never too late."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from a2a_serverless.operations.follow import EVERY_EVENT, LONGEST, THE_LAST, Tempo, arrivals
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, Voided
from tests.fakes.ports import FakeClock, FakeTable, FakeTasks, fake_ports

KEY = TaskKey("", "owner", "t")


@dataclass(frozen=True)
class WatchedTasks(FakeTasks):
    """A store that notes when it was looked at."""

    looks: list[datetime] = field(default_factory=list)

    def events_after(self, key: TaskKey, position: int, limit: int) -> Sequence[LoggedEvent]:
        self.looks.append(self.table.clock.now())
        return super().events_after(key, position, limit)


class Log:
    """A log that grows when it is told to, and the moments it was looked at."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.begun = self.clock.now()
        self.tasks = WatchedTasks(FakeTable(self.clock))
        self.ports = fake_ports(clock=self.clock, tasks=self.tasks)
        self.looks = self.tasks.looks
        self.written = 0

    def grows_after(self, *seconds: float) -> None:
        for moment in seconds:
            self.clock.after(moment, self._grow)

    def _grow(self) -> None:
        self.written += 1
        self.ports.tasks.append(KEY, LoggedEvent(self.written, "w", 2**40, Voided()))

    def followed(self, seconds: float, tempo: Tempo = EVERY_EVENT) -> list[tuple[float, int]]:
        """The events seen within so many seconds: when, and which."""
        deadline = self.begun + timedelta(seconds=seconds)
        seen = []
        for events in arrivals(self.ports, KEY, 0, deadline, tempo):
            seen += [(self.age(), event.position) for event in events]
        return seen

    def age(self) -> float:
        return (self.clock.now() - self.begun).total_seconds()

    def looks_between(self, first: float, last: float) -> int:
        ages = [(look - self.begun).total_seconds() for look in self.looks]
        return sum(first <= age < last for age in ages)


def test_every_event_is_seen_once_and_in_order() -> None:
    log = Log()
    log.grows_after(0.1, 0.1, 0.1, 1, 1.01, 30, 45, 45.001)

    assert [position for _, position in log.followed(60)] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_more_events_than_are_asked_for_at_once_all_arrive() -> None:
    log = Log()
    log.grows_after(*[0.01] * 250)

    assert [position for _, position in log.followed(2)] == list(range(1, 251))


def test_while_events_flow_each_is_seen_soon_and_reads_stay_bounded() -> None:
    log = Log()
    moments = [number * 0.04 for number in range(1, 251)]
    log.grows_after(*moments)

    seen = log.followed(11)

    assert max(age - moments[position - 1] for age, position in seen) <= 0.05
    assert log.looks_between(0, 10) <= 25 * 10


def test_while_nothing_happens_reads_become_rare() -> None:
    log = Log()

    assert log.followed(300) == []
    assert log.looks_between(0, 10) <= 75
    assert log.looks_between(60, 120) <= 60
    gaps = [(after - before).total_seconds() for before, after in pairwise(log.looks)]
    assert max(gaps) <= LONGEST


def test_an_event_after_a_long_silence_makes_the_reader_quick_again() -> None:
    log = Log()
    log.grows_after(60, 61.1, 61.2)

    seen = log.followed(62)

    assert seen[0][0] - 60 <= LONGEST
    assert seen[2][0] - 61.2 <= 0.2


def test_the_last_event_of_a_short_turn_is_awaited_with_few_reads_and_seen_in_time() -> None:
    log = Log()
    log.grows_after(0.1, 2.0)

    seen = log.followed(2.2, THE_LAST)

    assert log.looks_between(0, 2.0) <= 14
    assert seen[1][0] - 2.0 <= 0.16


@pytest.mark.parametrize("seconds", [0.01, 0.5, 33.3])
def test_following_ends_at_the_deadline_having_looked_until_then(seconds: float) -> None:
    log = Log()
    log.grows_after(seconds)

    ((age, position),) = log.followed(seconds)

    assert position == 1
    assert age == pytest.approx(seconds)
    assert log.age() == pytest.approx(seconds)


def test_after_the_deadline_nothing_is_looked_at() -> None:
    log = Log()

    assert log.followed(0) == []
    assert log.followed(-5) == []
    assert log.looks == []
