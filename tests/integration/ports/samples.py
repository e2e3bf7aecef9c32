"""Events, records and rows with everything in them that a test does not care about."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any, TypeVar

from a2a_serverless.ports import Admission, AdmissionKey, Head, Holder
from a2a_serverless.ports.webhooks import Registration, Webhook, WebhookKey
from a2a_serverless.protocol.objects import Role, TaskState
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedPart, LoggedStatus
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    Entry,
    LoggedEvent,
    MessageReceived,
    TaskKey,
    TurnSettled,
    TurnStarted,
)
from tests.integration.ports.world import TENANT, World

T = TypeVar("T")
LIFETIME = 86_400
THREADS = 8


def expires(world: World) -> int:
    """When a task created now expires."""
    return int(world.clock.now().timestamp()) + LIFETIME


def received(world: World, message_id: str = "m-1", text: str = "hello") -> MessageReceived:
    """A message arrives."""
    return MessageReceived(
        message=message(message_id, text),
        context_id="c-1",
        received_at=world.clock.now(),
        claims={"sub": "someone"},
        accepted_output_modes=("text/plain",),
        state="state/earlier",
    )


def message(message_id: str = "m-1", text: str = "hello") -> LoggedMessage:
    """A message of the client."""
    return LoggedMessage(
        message_id=message_id, role=Role.USER, parts=(LoggedPart(text=text), LoggedPart(data=None))
    )


def started(world: World, turn: int = 1) -> TurnStarted:
    """A turn starts."""
    return TurnStarted(turn=turn, segment=1, status=status(world, TaskState.WORKING))


def chunk(text: str, turn: int = 1) -> ArtifactUpdated:
    """A piece of an artifact arrives."""
    artifact = LoggedArtifact(artifact_id="a-1", parts=(LoggedPart(text=text),))
    return ArtifactUpdated(turn=turn, artifact=artifact, append=True, joins=True)


def settled(world: World, state: TaskState = TaskState.COMPLETED, turn: int = 1) -> TurnSettled:
    """A turn ends."""
    return TurnSettled(turn=turn, status=status(world, state), state="state/saved")


def status(world: World, state: TaskState) -> LoggedStatus:
    """A status reached now."""
    return LoggedStatus(state=state, timestamp=world.clock.now())


def write(
    world: World, key: TaskKey, *entries: Entry, first: int = 1, writer: str = "w"
) -> list[LoggedEvent]:
    """Append the entries from position `first` on; returns the events."""
    events = [
        LoggedEvent(position, writer, expires(world), entry)
        for position, entry in enumerate(entries, start=first)
    ]
    for event in events:
        world.tasks.append(key, event)
    return events


def head(
    world: World,
    position: int = 1,
    state: TaskState = TaskState.WORKING,
    *,
    at: datetime | None = None,
    context_id: str = "c-1",
    snapshot: int = 0,
    due_at: datetime | None = None,
    keeps_due: bool = False,
    webhooks_due_at: datetime | None = None,
) -> Head:
    """A head that expires with its task."""
    return Head(
        position,
        state,
        at or world.clock.now(),
        context_id,
        expires(world),
        snapshot,
        due_at,
        keeps_due,
        webhooks_due_at,
    )


def admission(world: World, record_id: str = "=m-1", task_id: str = "t-1", text: str = "hello") -> Admission:
    """The pending record of a message that opens a task."""
    now = world.clock.now()
    return Admission(
        tenant=TENANT,
        owner=world.owner,
        record_id=record_id,
        body_hash="0" * 64,
        message=message(text=text),
        context_id="c-1",
        task_id=task_id,
        position=1,
        received_at=now,
        expires=expires(world),
        due_at=now + timedelta(seconds=60),
        claims={"sub": "someone"},
        accepted_output_modes=("text/plain",),
    )


def admission_key(world: World, record_id: str = "=m-1") -> AdmissionKey:
    """The key of such a record."""
    return AdmissionKey(TENANT, world.owner, record_id)


def holder(world: World, task_id: str = "t-1", turn: int = 1) -> Holder:
    """A turn that holds a context."""
    return Holder(task_id, turn, expires(world))


def registration(config_id: str = "w-1", url: str = "https://hooks.example/a?b=c#d") -> Registration:
    """What a caller asks for."""
    return Registration(
        config_id=config_id,
        context_id="c-1",
        url=url,
        base_url="https://agents.example/v1",
        scheme="Bearer",
        secrets="c2VhbGVk",
    )


def hooked(world: World, config_id: str = "w-1", task: str = "t-1", *, cursor: int = 3) -> Webhook:
    """A webhook of a task that has a head, counted among the task's."""
    key = world.webhook(config_id, task)
    world.tasks.write_head(key.task, head(world))
    assert world.webhooks.reserve(key, most=10, due_at=world.clock.now())
    return world.webhooks.put(key, registration(config_id), cursor=cursor, expires=expires(world))


LAST_WORDS: Mapping[str, Any] = {
    "attempts": 8,
    "failing_since": datetime(2026, 11, 30, 11, 59, 59, 500_000, tzinfo=UTC),
    "reason": "answered 410",
}
"""What a webhook of a test is given up for."""


def dies(world: World, key: WebhookKey, token: str, died_at: datetime) -> bool:
    """Give the webhook up under that lease; whether it could be."""
    return world.webhooks.kill(key, token, died_at=died_at, **LAST_WORDS)


def all_at_once(action: Callable[[int], T]) -> list[T]:
    """What the action returns in each of eight threads that begin together."""
    barrier = Barrier(THREADS)

    def run(number: int) -> T:
        barrier.wait()
        return action(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))
