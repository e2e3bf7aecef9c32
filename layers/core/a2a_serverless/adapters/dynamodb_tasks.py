"""The logs of all tasks in DynamoDB: events put once, and their caches.

How a log is read is decided in `dynamodb_reading`, how tasks are listed in `dynamodb_listing`, when a head is
written in `dynamodb_heads`; this file turns events and snapshots into items and back.
"""

import contextlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from a2a_serverless.adapters.dynamodb_bodies import Bodies
from a2a_serverless.adapters.dynamodb_heads import write_head
from a2a_serverless.adapters.dynamodb_keys import due_shard, task_event, task_head, task_snapshot
from a2a_serverless.adapters.dynamodb_listing import find
from a2a_serverless.adapters.dynamodb_reading import Reading, read_all
from a2a_serverless.adapters.dynamodb_table import (
    IS_ABSENT,
    IS_PRESENT,
    DynamoTable,
    Item,
    ItemKey,
    RefusedError,
    setting,
)
from a2a_serverless.ports import Contents, Head, Identifiers, PositionTakenError, TaskPage, TaskQuery
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import (
    SCHEMA_VERSION,
    LoggedEvent,
    PushKind,
    TaskKey,
    TurnSettled,
    entry_body,
    read_entry,
)
from a2a_serverless.tasks.view import shown_status

POSITION_IS_FREE = IS_ABSENT
"""No event stands at the position; one whose task has expired counts as none."""

EVENT_LIMIT = 300 * 1024
SNAPSHOT_LIMIT = 64 * 1024
FIRST_TAIL_STEP = 4
"""Events looked for after one was found, then twice as many each time: an empty key costs a read too."""


@dataclass(frozen=True)
class DynamoTasks:
    """The logs of all tasks, with their caches."""

    table: DynamoTable
    contents: Contents
    identifiers: Identifiers
    events: Bodies = field(init=False)
    snapshots: Bodies = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", Bodies(self.contents, self.identifiers, EVENT_LIMIT))
        object.__setattr__(self, "snapshots", Bodies(self.contents, self.identifiers, SNAPSHOT_LIMIT))

    def append(self, key: TaskKey, event: LoggedEvent) -> None:
        """Write one event at its position, once; raises PositionTakenError.

        The SDK repeats a request whose answer was lost, silently. Refused by an event of the same writer,
        the first attempt had arrived.
        """
        try:
            self.table.put(self._event_item(key, event), when=POSITION_IS_FREE)
        except RefusedError as refused:
            if refused.standing is None:
                raise
            standing = self._event(refused.standing)
            if standing.writer != event.writer:
                raise PositionTakenError(standing) from refused

    def load(self, key: TaskKey, *, about: int = 0) -> LoggedTask:
        """The task as its log tells it now, strongly consistent.

        One request when `about` is right and at most 24; otherwise two, and more only for long logs without
        a snapshot.
        """
        reading = Reading(key, about)
        read_all([reading], self._fetch)
        return reading.task(self._snapshot, self._event)

    def load_up_to(self, key: TaskKey, position: int) -> LoggedTask:
        """The task as it stood when its log ended at `position`; raises KeyError when it is shorter.

        From the newest snapshot if that is old enough, otherwise from the beginning, 100 events a request.
        """
        head = self.table.get(task_head(key)) or {}
        start, known = LoggedTask(task_id=key.task_id), head.get("snapshot", 0)
        if 0 < known <= position and (item := self.table.get(task_snapshot(key, known))):
            start = self._snapshot(item)
        places = [task_event(key, each) for each in range(start.position + 1, position + 1)]
        found = self.table.get_all(places)
        return fold(start, (self._event(found[place]) for place in places))

    def load_many(self, keys: Sequence[TaskKey]) -> Sequence[LoggedTask]:
        """The tasks of these keys, in the same order: a round for the heads, a round for the rest.

        Eventually consistent, for half the price: the index that the keys were found in lags as well.
        """
        readings = {key: Reading(key) for key in keys}
        read_all(readings.values(), partial(self.table.get_all, consistent=False))
        return [readings[key].task(self._snapshot, self._event) for key in keys]

    def events_after(
        self, key: TaskKey, position: int, limit: int, *, current: bool = False
    ) -> Sequence[LoggedEvent]:
        """Up to `limit` events right after `position`, eventually consistent; half a read unit when none.

        Nothing is looked for behind the end of a turn: what follows that waits for somebody's answer. With
        `current` neither holds.
        """
        found: list[LoggedEvent] = []
        step = FIRST_TAIL_STEP if current else 1
        while len(found) < limit:
            first = position + len(found) + 1
            asked = [task_event(key, first + offset) for offset in range(min(step, limit - len(found)))]
            answers = self.table.get_all(asked, consistent=current)
            for place in asked:
                if place not in answers:
                    return found
                found.append(self._event(answers[place]))
                if isinstance(found[-1].entry, TurnSettled) and not current:
                    return found
            step = FIRST_TAIL_STEP if step == 1 else 2 * step
        return found

    def write_head(self, key: TaskKey, head: Head, *, repair: bool = False) -> None:
        """Store the head unless one as far on stands; see the port for `repair`. Silent if refused.

        Other attributes of the item stay, and so does the name of a newer snapshot.
        """
        write_head(self.table, key, head, repair=repair)

    def mark_due(self, key: TaskKey, due_at: datetime) -> None:
        """Make sure that somebody looks at the task at `due_at`; silent when the task has no head."""
        place = task_head(key)
        with contextlib.suppress(RefusedError):
            self.table.update(
                place,
                setting(("due_shard", "due_at")),
                when=IS_PRESENT,
                values={"due_shard": due_shard(place), "due_at": print_timestamp(due_at)},
            )

    def write_snapshot(self, key: TaskKey, task: LoggedTask) -> None:
        """Keep the fold of the log up to the task's position; above 64 KB in `Contents`."""
        place = task_snapshot(key, task.position)
        body = self.snapshots.stowed(place, task.to_json())
        self.table.put({**place._asdict(), "position": task.position, "expires": task.expires, **body})

    def find(self, query: TaskQuery) -> TaskPage:
        """The tasks that match; reads indexes, which lag. No decision may rest on it."""
        return find(self.table, query)

    def _fetch(self, keys: Collection[ItemKey]) -> Mapping[ItemKey, Item]:
        return self.table.get_all(keys)

    def _event_item(self, key: TaskKey, event: LoggedEvent) -> Item:
        place = task_event(key, event.position)
        return {
            **place._asdict(),
            "kind": event.entry.kind,
            "v": SCHEMA_VERSION,
            "position": event.position,
            "writer": event.writer,
            "expires": event.expires,
            **_pushed(event),
            **self.events.stowed(place, entry_body(event.entry)),
        }

    def _event(self, item: Item) -> LoggedEvent:
        return LoggedEvent(
            position=item["position"],
            writer=item["writer"],
            expires=item["expires"],
            entry=read_entry(item["kind"], item["v"], self.events.read(item)),
        )

    def _snapshot(self, item: Item) -> LoggedTask:
        return LoggedTask.model_validate(json.loads(self.snapshots.read(item)))


def _pushed(event: LoggedEvent) -> Item:
    """What the table's stream is filtered by, and what others are told of a change without its body."""
    if event.pushes is None:
        return {}
    status = shown_status(event.entry)
    if event.pushes is not PushKind.STATES or status is None or status.timestamp is None:
        return {"pushes": event.pushes.value}
    return {
        "pushes": event.pushes.value,
        "state": status.state.value,
        "at": print_timestamp(status.timestamp),
    }
