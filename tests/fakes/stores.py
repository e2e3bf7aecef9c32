"""Fakes of the stores: tasks, admissions, contexts and what falls due, all on one `FakeTable`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from a2a_serverless.ports import (
    Admission,
    AdmissionKey,
    AdmissionStatus,
    ContextKey,
    ContextRow,
    Due,
    Head,
    Holder,
    PositionTakenError,
    TaskPage,
    TaskQuery,
)
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import SCHEMA_VERSION, LoggedEvent, TaskKey, entry_body, read_entry
from tests.fakes.table import FakeTable

COUNTED_AT_MOST = 1_000


@dataclass(frozen=True)
class WebhookIds:
    """The ids of a task's webhooks, which stand in its head."""

    ids: frozenset[str]


@dataclass(frozen=True)
class FakeTasks:
    """The logs of all tasks, with their caches."""

    table: FakeTable

    def append(self, key: TaskKey, event: LoggedEvent) -> None:
        """Write one event at its position, once."""
        entry = read_entry(event.entry.kind, SCHEMA_VERSION, entry_body(event.entry))
        standing = self.table.change(
            LoggedEvent,
            key,
            event.position,
            how=lambda standing: (event.expires, replace(event, entry=entry)) if standing is None else None,
        )
        if standing is not None and standing.writer != event.writer:
            raise PositionTakenError(standing)

    def load(self, key: TaskKey, *, about: int = 0) -> LoggedTask:
        """The task as its log tells it now."""
        head = self.head(key)
        snapshot = self.table.get(LoggedTask, key, head.snapshot) if head else None
        return fold(
            snapshot or LoggedTask(task_id=key.task_id),
            self._after(key, snapshot.position if snapshot else 0),
        )

    def load_up_to(self, key: TaskKey, position: int) -> LoggedTask:
        """The task as it stood when its log ended at `position`; raises KeyError when it is shorter."""
        events = [event for event in self._after(key, 0) if event.position <= position]
        if len(events) < position:
            raise KeyError(position)
        return fold(LoggedTask(task_id=key.task_id), events)

    def load_many(self, keys: Sequence[TaskKey]) -> Sequence[LoggedTask]:
        """The tasks of these keys, in the same order."""
        return [self.load(key) for key in keys]

    def events_after(
        self, key: TaskKey, position: int, limit: int, *, current: bool = False
    ) -> Sequence[LoggedEvent]:
        """Up to `limit` events right after `position`, without holes."""
        return [event for event in self._after(key, position) if event.position <= position + limit]

    def write_head(self, key: TaskKey, head: Head, *, repair: bool = False) -> None:
        """Store the head unless one of a later position stands (with `repair`: or of the same)."""

        def forwards(standing: Head | None) -> tuple[int, Head] | None:
            if standing is not None and standing.position >= head.position + repair:
                return None
            marked = standing.due_at if standing and repair else None
            if marked is not None and marked > self.table.clock.now():
                return None
            known = standing.snapshot if standing else 0
            due_at = head.due_at
            if due_at is None and self._has_webhooks(key):
                due_at = head.webhooks_due_at
            if head.keeps_due and head.due_at is not None and standing is not None:
                due_at = standing.due_at or due_at
            snapshot = max(head.snapshot, known)
            kept = replace(head, snapshot=snapshot, due_at=due_at, keeps_due=False, webhooks_due_at=None)
            return head.expires, kept

        self.table.change(Head, key, how=forwards)

    def mark_due(self, key: TaskKey, due_at: datetime) -> None:
        """Make sure that somebody looks at the task at `due_at`."""
        self.table.change(
            Head,
            key,
            how=lambda standing: (standing.expires, replace(standing, due_at=due_at)) if standing else None,
        )

    def write_snapshot(self, key: TaskKey, task: LoggedTask) -> None:
        """Keep the fold of the log up to the task's position."""
        kept = LoggedTask.model_validate(json.loads(task.to_json()))
        self.table.change(LoggedTask, key, task.position, how=lambda _: (task.expires, kept))

    def find(self, query: TaskQuery) -> TaskPage:
        """The tasks that match, newest status first, ties by descending id."""
        found = sorted(self._matching(query), reverse=True)
        after = query.after and (to_millisecond(query.after[0]), query.after[1])
        page = [each for each in found if after is None or each < after]
        return TaskPage(tuple(page[: query.limit]), min(len(found), COUNTED_AT_MOST))

    def head(self, key: TaskKey) -> Head | None:
        """The head as it stands, for tests to look at."""
        return self.table.get(Head, key)

    def log(self, key: TaskKey) -> tuple[LoggedEvent, ...]:
        """All events of a task, for tests to look at."""
        return tuple(self._after(key, 0))

    def _has_webhooks(self, key: TaskKey) -> bool:
        counted = self.table.get(WebhookIds, key)
        return counted is not None and bool(counted.ids)

    def _after(self, key: TaskKey, position: int) -> Iterator[LoggedEvent]:
        while event := self.table.get(LoggedEvent, key, position + 1):
            yield event
            position += 1

    def _matching(self, query: TaskQuery) -> Iterator[tuple[datetime, str]]:
        for (key,), head in self.table.all(Head):
            status_at = to_millisecond(head.status_at)
            if (
                (key.tenant, key.owner) == (query.tenant, query.owner)
                and head.state in query.states
                and query.context_id in (None, head.context_id)
                and (query.not_before is None or status_at >= query.not_before)
            ):
                yield status_at, key.task_id


def to_millisecond(moment: datetime) -> datetime:
    """The moment as the index keeps it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(frozen=True)
class FakeAdmissions:
    """One record per admitted message."""

    table: FakeTable

    def open(self, admission: Admission) -> Admission:
        """Store the record unless one stands under its key; returns the one that stands."""
        kept = Admission.model_validate(json.loads(admission.to_json()))
        key = AdmissionKey(admission.tenant, admission.owner, admission.record_id)
        standing = self.table.change(
            Admission, key, how=lambda standing: (kept.expires, kept) if standing is None else None
        )
        return standing or kept

    def read(self, key: AdmissionKey) -> Admission | None:
        """The record that stands."""
        return self.table.get(Admission, key)

    def close(self, admission: Admission) -> None:
        """Mark the record done, if it still names this task and position."""

        def done(standing: Admission | None) -> tuple[int, Admission] | None:
            if standing is None or _place(standing) != _place(admission):
                return None
            return standing.expires, standing.model_copy(update={"status": AdmissionStatus.DONE})

        self.table.change(Admission, _key(admission), how=done)

    def withdraw(self, admission: Admission) -> None:
        """Delete the record, if it is pending with this task and position."""
        self.table.delete(
            Admission,
            _key(admission),
            when=lambda standing: (
                standing.status is AdmissionStatus.PENDING and _place(standing) == _place(admission)
            ),
        )


def _key(admission: Admission) -> AdmissionKey:
    return AdmissionKey(admission.tenant, admission.owner, admission.record_id)


def _place(admission: Admission) -> tuple[str, int]:
    return admission.task_id, admission.position


@dataclass(frozen=True)
class FakeContexts:
    """One row per context."""

    table: FakeTable

    def read(self, key: ContextKey) -> ContextRow:
        """The row; an empty one when there is none."""
        return self.table.get(ContextRow, key) or ContextRow()

    def take(self, key: ContextKey, *, seen: ContextRow, taken: ContextRow, expires: int) -> ContextRow:
        """Replace the row if its holder is still the one seen; returns the row that stands afterwards."""

        def replaced(standing: ContextRow | None) -> tuple[int, ContextRow] | None:
            if _turn((standing or ContextRow()).holder) != _turn(seen.holder):
                return None
            before = self.table.items[ContextRow, key][0] if standing else 0
            return max(before, expires), taken

        self.table.change(ContextRow, key, how=replaced)
        return self.read(key)

    def settle(self, key: ContextKey, holder: Holder, *, state: str | None, waits: bool) -> None:
        """Record how the holder's turn ended, if it still holds."""

        def settled(standing: ContextRow | None) -> tuple[int, ContextRow] | None:
            if standing is None or _turn(standing.holder) != _turn(holder):
                return None
            task = {holder.task_id}
            waiting = standing.waiting | task if waits else standing.waiting - task
            row = replace(standing, state=state or standing.state, waiting=waiting)
            return self.table.items[ContextRow, key][0], row

        self.table.change(ContextRow, key, how=settled)


def _turn(holder: Holder | None) -> tuple[str, int] | None:
    return (holder.task_id, holder.turn) if holder else None


@dataclass(frozen=True)
class FakeDue:
    """What must not be forgotten: pending admissions, and heads with a due time."""

    table: FakeTable

    def due(self, moment: datetime, limit: int) -> Sequence[Due]:
        """Up to `limit` entries due at or before the moment, oldest first."""
        heads = [Due(key, head.due_at) for (key,), head in self.table.all(Head) if head.due_at]
        records = [
            Due(key, record.due_at)
            for (key,), record in self.table.all(Admission)
            if record.status is AdmissionStatus.PENDING
        ]
        found = [entry for entry in (*heads, *records) if entry.due_at <= moment]
        return sorted(found, key=lambda entry: entry.due_at)[:limit]
