"""Webhooks: what is kept of each, who is delivering to it, and the world a delivery needs.

A webhook has a cursor into its task's log. Whoever delivers holds a lease, whose token guards every change
of the row; everything else only pokes. Knows no HTTP library, no queue and no cipher.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import Field

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.tasks.log import PushKind, TaskKey

# --- what is kept ------------------------------------------------


@dataclass(frozen=True, slots=True)
class WebhookKey:
    """One webhook of one task."""

    task: TaskKey
    config_id: str

    @property
    def context(self) -> Mapping[str, str]:
        """What its secrets are sealed for: opened under any other name they stay shut."""
        task = self.task
        return {"tenant": task.tenant, "owner": task.owner, "task": task.task_id, "config": self.config_id}


class Registration(ProtoModel):
    """What a caller asked for: where to call, and how to be believed there.

    `secrets` holds the token and the credentials, sealed; `base_url` is the public address under which the
    caller reached us, and under which big content is found.
    """

    config_id: str
    context_id: str
    url: str = Field(repr=False)
    base_url: str
    scheme: str | None = None
    secrets: str | None = Field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A registration, and how far its deliveries have come.

    `cursor` is the position up to which everything was delivered. `lease` is the token of whoever delivered
    last; nothing is delivered before `not_before`, which ends a lease or, when `backs_off`, a pause after
    `attempts` failures in a row since `failing_since`. `died_at` is when nobody tried any more, for the
    `reason`.
    """

    key: WebhookKey
    registered: Registration
    cursor: int
    expires: int
    lease: str | None = None
    not_before: datetime | None = None
    backs_off: bool = False
    attempts: int = 0
    failing_since: datetime | None = None
    died_at: datetime | None = None
    reason: str | None = None

    def held_by(self, token: str) -> bool:
        """Whether this very lease may deliver."""
        return self.lease == token and not self.backs_off and self.died_at is None


class NoHeadError(Exception):
    """The task has no head to count its webhooks on; whoever needs one writes it first."""


class WebhookStore(Protocol):
    """The webhooks of all tasks. Every change but `put`, `delete` and `revive` needs the lease's token."""

    def reserve(self, key: WebhookKey, *, most: int, due_at: datetime) -> bool:
        """Count the webhook among its task's; False when there are `most` others.

        The task will be looked at by `due_at`, or later if that was arranged. Raises NoHeadError.
        """

    def put(self, key: WebhookKey, registered: Registration, *, cursor: int, expires: int) -> Webhook:
        """Store the registration; returns what stands then.

        In place of an earlier one of that id it keeps the cursor and forgets lease, pause and death.
        """

    def read(self, key: WebhookKey) -> Webhook | None:
        """The webhook, strongly consistent."""

    def ids(self, task: TaskKey) -> frozenset[str]:
        """The ids counted among the task's, strongly consistent; an item may be missing for some."""

    def read_all(self, task: TaskKey) -> Sequence[Webhook]:
        """The task's webhooks by ascending id, strongly consistent."""

    def delete(self, key: WebhookKey) -> None:
        """Forget the webhook, then its id; silent when there is none."""

    def lease(self, key: WebhookKey, token: str, *, until: datetime) -> Webhook | None:
        """Take the webhook until then, if it lives and nothing holds it back; returns what stands afterwards.

        Taken is what is `held_by` the token, also when the answer to a first attempt was lost.
        """

    def advance(self, key: WebhookKey, token: str, cursor: int, *, until: datetime | None) -> bool:
        """Move the cursor and forget failures; the lease goes on `until` then, or ends with None.

        False when the webhook is gone or another's. The token stays, for a repeated attempt to be known by.
        """

    def put_off(
        self,
        key: WebhookKey,
        token: str,
        *,
        not_before: datetime,
        attempts: int,
        failing_since: datetime | None,
    ) -> bool:
        """End the lease with a pause; False as above."""

    def kill(
        self,
        key: WebhookKey,
        token: str,
        *,
        died_at: datetime,
        attempts: int,
        failing_since: datetime,
        reason: str,
    ) -> bool:
        """End the lease for good, for a reason in a few words; False as above."""

    def revive(self, key: WebhookKey) -> bool:
        """Let a dead webhook live again, without failures or lease; False if it is not dead."""

    def dead(self, limit: int) -> Sequence[Webhook]:
        """Up to `limit` dead webhooks of all tasks, the longest dead first; reads an index, which may lag."""


# --- waking whoever delivers ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Poke:
    """Word that a webhook may have something to deliver. `window` names the pause it ends, 0 for none."""

    key: WebhookKey
    window: int = 0


LONGEST_DELAY = 900.0
"""Seconds that a poke can wait at most (SQS: DelaySeconds)."""


class Pokes(Protocol):
    """The queue of pokes; one may arrive twice, late or out of order."""

    def send(self, pokes: Sequence[Poke], *, delay: float = 0.0) -> None:
        """Send the pokes, to arrive after `delay` seconds (rounded up, at most `LONGEST_DELAY`)."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What could not be delivered: from which position on, where, why and since when."""

    key: WebhookKey
    position: int
    host: str
    reason: str
    attempts: int
    failing_since: datetime
    died_at: datetime


class DeadLetters(Protocol):
    """The queue that raises the alarm while anything lies in it."""

    def put(self, letter: DeadLetter) -> None:
        """Leave a record."""

    def count(self) -> int:
        """How many records lie there, about."""

    def remove(self, settled: Callable[[WebhookKey], bool]) -> int:
        """Take out the letters whose webhook needs them no more; returns how many there were."""


# --- a delivery's world ------------------------------------------------


class UnopenableError(Exception):
    """The secrets were not sealed by us for this, or the key is gone for good."""


class Seals(Protocol):
    """Sealing of small secrets, at most 4,096 bytes each, for one purpose."""

    def seal(self, secret: bytes, context: Mapping[str, str]) -> str:
        """The secret, readable only by who may and who names the same context."""

    def open(self, sealed: str, context: Mapping[str, str]) -> bytes:
        """The secret again; raises UnopenableError."""


class UnresolvableNameError(Exception):
    """The host name has no address now."""


class Names(Protocol):
    """The domain name system."""

    def addresses(self, host: str) -> Sequence[str]:
        """Every IPv4 and IPv6 address of the host, or the one it spells; raises UnresolvableNameError."""


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A POST to make: to this very address, whatever the URL's host may mean by then."""

    url: str = field(repr=False)
    address: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    timeout: float


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """A status and Retry-After in seconds, or no answer (`status` None) and why in a few words."""

    status: int | None
    retry_after: float | None = None
    problem: str = ""


class Posts(Protocol):
    """HTTP as far as webhooks go: no redirects, one limit for all of it, replies cut short."""

    def post(self, request: WebhookRequest) -> WebhookAnswer:
        """Make the request; never raises for what the other side does."""


class Signatures(Protocol):
    """The deployment's own signature, which receivers verify with its public keys."""

    def sign(self, body: bytes, claims: Mapping[str, str]) -> str:
        """A compact JWS with detached payload; the claims stand in its protected header."""


class Hosts(Protocol):
    """Which hosts do not answer at all: one that is silent is left alone for a while, by everybody."""

    def silent_until(self, host: str) -> datetime | None:
        """When the host may be tried again; None when it may be now."""

    def was_silent(self, host: str) -> None:
        """Remember that it gave no answer."""

    def answered(self, host: str) -> None:
        """Remember that it did."""


# --- word for AWS ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Appended:
    """A pushable event that was appended to a log; `state` is the task's state by it, if it set one."""

    key: TaskKey
    position: int
    kind: PushKind
    at: datetime | None = None
    state: TaskState | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A task's change of state, as other AWS services are told."""

    key: TaskKey
    context_id: str
    position: int
    state: TaskState
    at: datetime


class Events(Protocol):
    """The event bus of the deployment's account."""

    def put(self, changes: Sequence[StateChange]) -> None:
        """Announce the changes; raises when one was not taken. One may be announced twice."""


# --- all of it ------------------------------------------------


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    """What this deployment decided about webhooks.

    Attributes:
        kinds: what is pushed.
        most: webhooks of one task.
        timeout: seconds a receiver has to answer.
        lease: how long whoever delivers is trusted to live after its last sign of life.
        first_delay, longest_delay: seconds before the second attempt, doubled for each further one.
        attempts: attempts for one event before the webhook is given up; 0 for as many as `age` allows.
        age: how long one event is tried.
        plain_http: whether `http` URLs are taken. loopback: whether webhooks may point at this machine.
    """

    kinds: frozenset[PushKind] = frozenset({PushKind.STATES, PushKind.ARTIFACTS})
    most: int = 10
    timeout: float = 10.0
    lease: timedelta = timedelta(seconds=30)
    first_delay: float = 1.0
    longest_delay: float = LONGEST_DELAY
    attempts: int = 0
    age: timedelta = timedelta(hours=24)
    plain_http: bool = False
    loopback: bool = False


@dataclass(frozen=True, slots=True)
class WebhookPorts:
    """Everything webhooks need; `events` and `signatures` only where they are wanted."""

    store: WebhookStore
    pokes: Pokes
    letters: DeadLetters
    seals: Seals
    names: Names
    posts: Posts
    hosts: Hosts
    signatures: Signatures | None = None
    events: Events | None = None
