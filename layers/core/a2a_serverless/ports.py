"""What the operations need from the world, each need a short Protocol in the operations' own words.

An adapter makes a port real and is the only file that knows its technology. Nothing here imports one, and
nothing here reads the environment: values such as limits come in through `Policy`. Every port has one
contract test, run against the fake and every adapter.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Protocol

from pydantic import Field

from a2a_serverless.protocol.objects import Message, TaskState
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Timestamp
from a2a_serverless.tasks.content import LoggedMessage
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import LoggedEvent, TaskKey

# --- who calls ------------------------------------------------


def owner_of(issuer: str, subject: str) -> str:
    """The owner that a principal's tasks belong to: 43 characters of base64url, without separators to forge.

    Issuer and subject are hashed with their lengths, so that two issuers can never be made to collide.
    """
    digest = hashlib.sha256(f"{len(issuer)}:{issuer}{subject}".encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified caller: which tenant and owner the call is for, and what may be told to the agent about it.

    Anonymous callers share one owner and get no deduplication: their message ids are not theirs alone.
    `base_url` is the public address this deployment is reached by, without a trailing slash.
    """

    tenant: str
    owner: str
    name: str
    base_url: str
    anonymous: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)

    def task(self, task_id: str) -> TaskKey:
        """The key of this caller's task with that id."""
        return TaskKey(self.tenant, self.owner, task_id)

    def context(self, context_id: str) -> "ContextKey":
        """The key of this caller's context with that id."""
        return ContextKey(self.tenant, self.owner, context_id)


# --- tasks ------------------------------------------------


class PositionTakenError(Exception):
    """Somebody else's event stands at the position; who wanted it reads the log and decides again."""

    def __init__(self, standing: LoggedEvent) -> None:
        super().__init__(f"position {standing.position} is taken")
        self.standing = standing


@dataclass(frozen=True, slots=True)
class Head:
    """The cache of a log that listings and the sweeper look at; written only forwards.

    `due_at` is when somebody must look at the task if nobody did before; None when nothing is outstanding.
    With `keeps_due` it counts only where no such moment stands: the sweeper may have moved it. `snapshot`
    is the position of the newest snapshot, 0 when there is none.
    """

    position: int
    state: TaskState
    status_at: datetime
    context_id: str
    expires: int
    snapshot: int = 0
    due_at: datetime | None = None
    keeps_due: bool = False


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

    def events_after(self, key: TaskKey, position: int, limit: int) -> Sequence[LoggedEvent]:
        """Up to `limit` events right after `position`, without holes; may lag behind the log for a moment."""

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


# --- admission ------------------------------------------------


class AdmissionStatus(StrEnum):
    """Whether everything a message's admission entails has been done."""

    PENDING = "pending"
    DONE = "done"


class Admission(ProtoModel):
    """The record that a message was admitted: where it goes, and all it takes to put it there.

    `record_id` is the message id, or a random one when the deployment or the caller gets no deduplication.
    """

    tenant: str
    owner: str
    record_id: str
    body_hash: str
    message: LoggedMessage
    context_id: str
    task_id: str
    position: int
    received_at: Timestamp
    expires: int
    due_at: Timestamp
    claims: dict[str, str] = Field(default_factory=dict)
    accepted_output_modes: tuple[str, ...] = ()
    status: AdmissionStatus = AdmissionStatus.PENDING

    @property
    def task(self) -> TaskKey:
        """The key of the task the message goes to."""
        return TaskKey(self.tenant, self.owner, self.task_id)

    @property
    def context(self) -> "ContextKey":
        """The key of the context the message belongs to."""
        return ContextKey(self.tenant, self.owner, self.context_id)


@dataclass(frozen=True, slots=True)
class AdmissionKey:
    """Which message of which caller."""

    tenant: str
    owner: str
    record_id: str


class AdmissionStore(Protocol):
    """One record per admitted message."""

    def open(self, admission: Admission) -> Admission:
        """Store the record unless one stands under its key; returns the one that stands."""

    def read(self, key: AdmissionKey) -> Admission | None:
        """The record that stands, strongly consistent."""

    def close(self, admission: Admission) -> None:
        """Mark the record done, if it still names this task and position; silent otherwise."""

    def withdraw(self, admission: Admission) -> None:
        """Delete the record, if it is pending with this task and position; silent otherwise."""


# --- contexts ------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContextKey:
    """Which conversation of which caller."""

    tenant: str
    owner: str
    context_id: str


@dataclass(frozen=True, slots=True)
class Holder:
    """The turn a context is working on, or worked on last, and when its task expires (seconds since 1970)."""

    task_id: str
    turn: int
    expires: int


@dataclass(frozen=True, slots=True)
class ContextRow:
    """What a context remembers: its last holder, the agent's saved state, the tasks that wait in it."""

    holder: Holder | None = None
    state: str | None = None
    waiting: frozenset[str] = frozenset()


class ContextStore(Protocol):
    """One row per context. The holder has no clock and is never cleared, only replaced."""

    def read(self, key: ContextKey) -> ContextRow:
        """The row, strongly consistent; an empty one when there is none."""

    def take(self, key: ContextKey, *, seen: ContextRow, taken: ContextRow, expires: int) -> ContextRow:
        """Replace the row if its holder is still the one seen; returns the row that stands afterwards."""

    def settle(self, key: ContextKey, holder: Holder, *, state: str | None, waits: bool) -> None:
        """Record how the holder's turn ended (None keeps the state), if it still holds; silent otherwise."""


# --- turns ------------------------------------------------


@dataclass(frozen=True, slots=True)
class TurnKey:
    """One turn of one task, named by the position of its message; also the input of its execution."""

    task: TaskKey
    turn: int

    @property
    def name(self) -> str:
        """The name of its execution: unique, so starting it twice starts it once."""
        return f"{self.task.task_id}-{self.turn}"


ExecutionStatus = Literal["running", "ended"]


class Executions(Protocol):
    """Step Functions, as far as turns go: one execution per turn."""

    def start(self, turn: TurnKey) -> None:
        """Start the turn's execution; silent when it was started before, whether or not it still runs."""

    def stop(self, turn: TurnKey, reason: str) -> None:
        """Stop the turn's execution; silent when it does not run."""

    def describe(self, turn: TurnKey) -> ExecutionStatus | None:
        """Whether it runs or has ended; None when it was never started."""


# --- streams ------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamKey:
    """One of a caller's open streams, and when it closes itself at the latest.

    `token` is this stream's alone: whoever takes the place next has another, even with the same `until`.
    """

    tenant: str
    owner: str
    place: int
    until: datetime
    token: str


class StreamPlaces(Protocol):
    """How many streams each caller has open, across all functions."""

    def open(self, tenant: str, owner: str, *, most: int, until: datetime) -> StreamKey | None:
        """Take one of a caller's places, at most until then; None when all are taken."""

    def close(self, stream: StreamKey) -> None:
        """Give a place back; silent when it is somebody else's by now."""


# --- the rest of the world ------------------------------------------------


class Contents(Protocol):
    """Content too big for a log, and the agent's saved state: immutable once written."""

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Store the bytes under the key."""

    def get(self, key: str) -> bytes:
        """The bytes under the key; raises KeyError when there are none."""


@dataclass(frozen=True, slots=True)
class Due:
    """Something the sweeper must look at."""

    what: AdmissionKey | TaskKey
    due_at: datetime


class DueIndex(Protocol):
    """What must not be forgotten, by when; an index that may lag behind the truth."""

    def due(self, moment: datetime, limit: int) -> Sequence[Due]:
        """Up to `limit` entries due at or before the moment, oldest first."""


class Incidents(Protocol):
    """Where the full story of a failure goes, since callers only get a public text and an id."""

    def report(self, error: BaseException, **facts: str) -> str:
        """Log the error with these facts; returns the id that finds the log line."""


class Metrics(Protocol):
    """Counters of what the deployment does."""

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add to a counter."""


class Clock(Protocol):
    """The time, and waiting for it."""

    def now(self) -> datetime:
        """The present moment, in UTC."""

    def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""


class Identifiers(Protocol):
    """Fresh unguessable identifiers."""

    def new(self) -> str:
        """One that was never given before: 36 characters of `[0-9a-f-]`."""


# --- all of it ------------------------------------------------

Answer = Callable[[Message], Message | None]
"""An agent's instant reply, given inside the API function without a task; None lets the task begin."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What this deployment decided.

    Attributes:
        retention: how long a task is kept after it was created.
        blocking_wait: how long a blocking SendMessage waits before it returns the task as it stands.
        deduplicate: whether a message id admits a message once.
        input_modes: media types the agent takes, `*/*` and `type/*` included; empty takes everything.
        streams_per_caller: streams one caller may have open at once.
        capabilities: the optional capabilities this deployment declares on its card.
        inline_limit: bytes of content above which a part is shown as a `url` part.
        answer_limit: bytes of content that one answer shows inline in all; the rest is shown as `url` parts.
        log_limit: bytes of content above which a part is stored outside the log.
        chunk_delay, chunk_size: seconds and characters of text that are gathered before a further chunk
        goes out. cancel_check: seconds between two looks for a cancellation while the agent is silent.
        snapshot_every: events between two snapshots of a running task; snapshot_settled: the same when it
        settles. due_after: how long something may be outstanding before the sweeper looks at it.
    """

    retention: timedelta = timedelta(days=30)
    blocking_wait: timedelta = timedelta(seconds=25)
    deduplicate: bool = True
    streams_per_caller: int = 100
    input_modes: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()
    inline_limit: int = 256 * 1024
    answer_limit: int = 4 * 1024 * 1024
    log_limit: int = 64 * 1024
    chunk_delay: float = 0.040
    chunk_size: int = 4096
    cancel_check: float = 2.0
    snapshot_every: int = 200
    snapshot_settled: int = 8
    due_after: timedelta = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything the operations are given."""

    tasks: TaskStore
    admissions: AdmissionStore
    contexts: ContextStore
    executions: Executions
    contents: Contents
    streams: StreamPlaces
    due: DueIndex
    incidents: Incidents
    metrics: Metrics
    clock: Clock
    identifiers: Identifiers
    policy: Policy = field(default_factory=Policy)
    answer: Answer | None = None
