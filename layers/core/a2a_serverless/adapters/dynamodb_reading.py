"""Which items of one log to read, and what they add up to.

A log is read by key, never by query: positions are dense, so its end is the first position that was looked at
and found empty. Only the run of events without a hole counts; a head says where to start and, once terminal,
where to stop, but is never trusted alone. Knows keys and items, not how they are fetched: one reading or
many may be driven in the same rounds.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from a2a_serverless.adapters.dynamodb_keys import position_of, task_event, task_head, task_snapshot
from a2a_serverless.adapters.dynamodb_table import BATCH, Item, ItemKey
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.lifecycle import TERMINAL
from a2a_serverless.tasks.log import LoggedEvent, TaskKey

GUESSED_AT_MOST = 24
"""The longest log that is read together with its head; a longer one likely has a snapshot to start from."""

FIRST_STEP = 4
"""Positions looked at beyond the known end the first time; each further time twice as many, up to a batch."""


@dataclass
class Reading:
    """What is known of one log so far."""

    key: TaskKey
    about: int = 0
    head: Item | None = None
    snapshot: Item | None = None
    events: dict[int, Item] = field(default_factory=dict)
    asked: set[ItemKey] = field(default_factory=set)
    step: int = FIRST_STEP

    def wanted(self) -> list[ItemKey]:
        """The keys to read next, at most one batch; none when the end of the log is known."""
        if not self.asked:
            guess = self.about + 1 if 0 < self.about <= GUESSED_AT_MOST else 0
            return [task_head(self.key), *self._events(1, guess)]
        if self._complete():
            return []
        newest = self._snapshot_key()
        if newest is not None and newest not in self.asked:
            return [newest, *self._events(position_of(newest) + 1, self._goal())][:BATCH]
        end, goal = self._end(), self._goal()
        if end < goal:
            return self._events(end + 1, goal)[:BATCH]
        wanted = self._events(end + 1, end + self.step)
        self.step = min(2 * self.step, BATCH)
        return wanted

    def learn(self, asked: Collection[ItemKey], found: Mapping[ItemKey, Item]) -> None:
        """Take in the answer for these keys; a key that was asked for and is not found is absent."""
        self.asked.update(asked)
        for key in asked:
            item = found.get(key)
            if item is None:
                continue
            if key == task_head(self.key):
                self.head = item
            elif key.sk.startswith("SNAPSHOT#"):
                self.snapshot = item
            else:
                self.events[position_of(key)] = item

    def task(
        self, snapshot_of: Callable[[Item], LoggedTask], event_of: Callable[[Item], LoggedEvent]
    ) -> LoggedTask:
        """The task that the log tells of."""
        start = snapshot_of(self.snapshot) if self.snapshot else LoggedTask(task_id=self.key.task_id)
        return fold(start, (event_of(self.events[at]) for at in range(self._base() + 1, self._end() + 1)))

    def _events(self, first: int, last: int) -> list[ItemKey]:
        keys = (task_event(self.key, position) for position in range(first, last + 1))
        return [key for key in keys if key not in self.asked]

    def _base(self) -> int:
        return int(self.snapshot["position"]) if self.snapshot else 0

    def _end(self) -> int:
        """The last position of the run of events that begins right after the snapshot."""
        end = self._base()
        while end + 1 in self.events:
            end += 1
        return end

    def _goal(self) -> int:
        """The last position worth asking for, going by the head: one past its own while the log may grow."""
        if self.head is None:
            return 1
        return int(self.head["position"]) + (not self._terminal())

    def _terminal(self) -> bool:
        return self.head is not None and TaskState(self.head["state"]) in TERMINAL

    def _snapshot_key(self) -> ItemKey | None:
        position = int(self.head.get("snapshot", 0)) if self.head else 0
        return task_snapshot(self.key, position) if position else None

    def _complete(self) -> bool:
        """Whether the position after the run is known to be empty."""
        end = self._end()
        if self._terminal() and self.head is not None and end >= self.head["position"]:
            return True
        return task_event(self.key, end + 1) in self.asked


def read_all(
    readings: Iterable[Reading], fetch: Callable[[Collection[ItemKey]], Mapping[ItemKey, Item]]
) -> None:
    """Drive readings to their ends in common rounds: heads first, then the rest, rarely anything more."""
    open_readings = list(readings)
    while True:
        wanted = [(reading, keys) for reading in open_readings if (keys := reading.wanted())]
        if not wanted:
            return
        found = fetch([key for _, keys in wanted for key in keys])
        for reading, keys in wanted:
            reading.learn(keys, found)
        open_readings = [reading for reading, _ in wanted]
