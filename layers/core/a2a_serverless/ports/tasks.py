"""The logs of all tasks, and the caches of them: heads, snapshots, listings."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import LoggedEvent, TaskKey


class PositionTakenError(Exception):
    """Somebody else's event stands at the position; who wanted it reads the log and decides again."""

    def __init__(self, standing: LoggedEvent) -> None:
        super().__init__(f"position {standing.position} is taken")
        self.standing = standing


@dataclass(frozen=True, slots=True)
class Head:
    """The cache of a log that listings and the sweeper look at; written only forwards.

    `due_at` is when somebody must look at the task if nobody did before; None when nothing is outstanding.
    With `keeps_due` it counts only where no such moment stands: the sweeper may have moved it. Where nothing
    else is outstanding, `webhooks_due_at` is when somebody must look whether the task's webhooks have been
    told, if it has any. `snapshot` is the position of the newest snapshot, 0 when there is none.
    """

    position: int
    state: TaskState
    status_at: datetime
    context_id: str
    expires: int
    snapshot: int = 0
    due_at: datetime | None = None
    keeps_due: bool = False
    webhooks_due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which of an owner's tasks a listing wants; `after` is where the page before ended."""

    tenant: str
    owner: str
    states: frozenset[TaskState]
    context_id: str | None = None
    not_before: datetime | None = None
    after: tuple[datetime, str] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class TaskPage:
    """The ids found, newest status first, then by descending id; `total` stops at a thousand."""

    found: Sequence[tuple[datetime, str]]
    total: int


class TaskStore(Protocol):
    """The logs of all tasks, with their caches."""

    def append(self, key: TaskKey, event: LoggedEvent) -> None:
        """Write one event at its position, once.

        Succeeds quietly when the writer's own event already stands there: its first attempt arrived.
        Raises PositionTakenError when somebody else's does.
        """

    def load(self, key: TaskKey, *, about: int = 0) -> LoggedTask:
        """The task as its log tells it now, strongly consistent; a task without a log has position 0.

        `about` is how long the caller thinks the log is; a good guess saves a request, a bad one costs
        nothing.
        """

    def load_up_to(self, key: TaskKey, position: int) -> LoggedTask:
        """The task as it stood when its log ended at `position`, strongly consistent.

        Raises KeyError when the log does not reach that far.
        """

    def load_many(self, keys: Sequence[TaskKey]) -> Sequence[LoggedTask]:
        """The tasks of these keys, in the same order, in a few requests for all of them."""

    def events_after(
        self, key: TaskKey, position: int, limit: int, *, current: bool = False
    ) -> Sequence[LoggedEvent]:
        """Up to `limit` events right after `position`, without holes; may lag behind the log for a moment.

        With `current` strongly consistent, and beyond the end of a turn, where it may stop otherwise.
        """

    def write_head(self, key: TaskKey, head: Head, *, repair: bool = False) -> None:
        """Store the head unless one as far on stands; silent then.

        With `repair` one of the same position is replaced too, unless it is marked to be looked at later.
        """

    def mark_due(self, key: TaskKey, due_at: datetime) -> None:
        """Make sure that somebody looks at the task at `due_at`; silent when the task has no head."""

    def write_snapshot(self, key: TaskKey, task: LoggedTask) -> None:
        """Keep the fold of the log up to the task's position, for readers to begin from."""

    def find(self, query: TaskQuery) -> TaskPage:
        """The tasks that match; reads indexes, which may lag. No decision may rest on it."""
