"""A cancel against a completing turn, over and over, also while streams of the task are open.

The log decides, once: exactly one terminal event, and every stream ends with it, having shown the same as
every other. Two streams at most are allowed at once, so each watched round also needs the places of the one
before. Streams look on in every round in memory and in one of ten on an emulator; the other rounds begin with
a task as its message leaves it: most requests of a round would be those of sending and of looking on.
"""

import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Barrier, Condition, Event, local
from typing import Any

import pytest

from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.agent import ArtifactChunk, Completed, Turn, Update
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.streams import Frame, Frames, send_streaming_message, subscribe_to_task
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Caller, Clock, Policy, Ports, TaskStore, TurnKey
from a2a_serverless.protocol.errors import TaskNotCancelableError
from a2a_serverless.protocol.objects import Message, Part, Role, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from a2a_serverless.tasks.lifecycle import TERMINAL
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, TurnSettled
from tests.fakes.ports import FakeContents, FakeExecutions, FakeIncidents, FakeMetrics, FakeUploads
from tests.integration.ports.conftest import Start, emulators
from tests.integration.ports.samples import received, write
from tests.integration.ports.world import TENANT, StoredWorld, World

STREAMS = 2
ROUNDS = 50
HEATS = 5
"""So many times so many rounds, which two processes of tests may share."""

WATCHED = 10
"""One of so many rounds on an emulator has streams looking on."""

MINUTES = timedelta(minutes=5)


@pytest.fixture(scope="module")
def started() -> Iterator[Start]:
    """Emulators of their own: in a table with so many tasks, moto finds those of other tests slowly."""
    with emulators() as start:
        yield start


@dataclass
class Bell:
    """A clock by which nobody waits in vain: who sleeps is woken as soon as anything has been appended."""

    clock: Clock
    strokes: int = 0
    ringing: Condition = field(default_factory=Condition)
    heard: local = field(default_factory=local)

    def now(self) -> datetime:
        return self.clock.now()

    def sleep(self, seconds: float) -> None:
        """Return after the next stroke this thread has not heard yet, or after so many seconds."""
        with self.ringing:
            self.ringing.wait_for(lambda: self.strokes > getattr(self.heard, "strokes", 0), seconds)
            self.heard.strokes = self.strokes

    def ring(self) -> None:
        with self.ringing:
            self.strokes += 1
            self.ringing.notify_all()


@dataclass(frozen=True)
class Ringing:
    """A store that rings after each append, and where the first two who would end a task do so together."""

    tasks: TaskStore
    bell: Bell
    together: Barrier = field(default_factory=lambda: Barrier(2, timeout=60))
    met: set[str] = field(default_factory=set)

    def append(self, key: TaskKey, event: LoggedEvent) -> None:
        if settles(event) and event.writer not in self.met:
            self.met.add(event.writer)
            self.together.wait()
        try:
            self.tasks.append(key, event)
        finally:
            self.bell.ring()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tasks, name)


@pytest.mark.parametrize("heat", range(HEATS))
def test_a_cancel_and_a_completion_make_one_end_that_every_stream_shows(world: World, heat: int) -> None:
    ends: Counter[TaskState] = Counter()

    stored = isinstance(world, StoredWorld)
    with ThreadPoolExecutor(STREAMS + 2) as threads, nullcontext() if stored else eager_threads():
        for number in range(heat * ROUNDS, (heat + 1) * ROUNDS):
            watching = STREAMS if not stored or number % WATCHED == 0 else 0
            ends[one_round(world, threads, number, watching)] += 1

    assert ends.keys() == {TaskState.COMPLETED, TaskState.CANCELED}, "nobody ever wins: this is no race"


def one_round(world: World, threads: ThreadPoolExecutor, number: int, watching: int) -> TaskState:
    """Let a cancel and a completion race, so many streams watching; returns who won."""
    ports, caller = ports_of(world), Caller(TENANT, world.owner, "tester", "https://agent.example")
    task_id, streams = begun(world, ports, caller, number, watching)

    at_work = Event()
    if number % 2:
        at_work.set()  # in other rounds the cancel comes last to where both go on together

    async def agent(_: Turn) -> AsyncIterator[Update]:
        at_work.set()
        for piece in range(number // 2 % 4):
            yield ArtifactChunk(f"piece-{piece}", "text", last_chunk=True)
        yield Completed("done")

    def cancel() -> str:
        at_work.wait(60)
        try:
            return cancel_task(ports, caller, CancelTaskRequest(id=task_id)).status.state
        except TaskNotCancelableError:
            return "too late"

    reading = [threads.submit(read, stream) for stream in streams]
    canceling = threads.submit(cancel)
    threads.submit(run_turn, ports, agent, TurnKey(caller.task(task_id), 1), lambda: 60.0).result()
    shown = [reader.result() for reader in reading]

    end = the_end(world, caller.task(task_id))
    assert canceling.result() == (end if end is TaskState.CANCELED else "too late")
    for frames in shown:
        assert frames == shown[0]
        assert [state for frame in frames if (state := state_of(frame)) in TERMINAL] == [end]
        assert state_of(frames[-1]) is end
    return end


def begun(world: World, ports: Ports, caller: Caller, number: int, watching: int) -> tuple[str, list[Frames]]:
    """A task whose turn is to run, and so many streams of it, which all begin alike."""
    if not watching:
        task_id = f"t-{number}"
        write(world, world.task(task_id), received(world).model_copy(update={"state": None}))
        return task_id, []
    sent = send_streaming_message(ports, caller, asking(number), ports.clock.now() + MINUTES)
    opening = opened(sent)
    assert opening.response.task is not None
    task_id = opening.response.task.id
    streams = [sent, *(subscription(ports, caller, task_id) for _ in range(watching - 1))]
    assert [opened(stream) for stream in streams[1:]] == [opening] * (watching - 1)
    return task_id, streams


def the_end(world: World, key: TaskKey) -> TaskState:
    """The state the log ends with, and reaches just once."""
    log = world.tasks.events_after(key, 0, 100)
    ends = [event for event in log if settles(event)]
    assert ends == [log[-1]]
    settled = log[-1].entry
    assert isinstance(settled, TurnSettled)
    return settled.status.state


def settles(event: LoggedEvent) -> bool:
    return isinstance(event.entry, TurnSettled)


def state_of(frame: Frame) -> TaskState | None:
    update = frame.response.status_update
    return update.status.state if update else None


def opened(stream: Frames) -> Frame:
    """The first frame of a stream."""
    first = next(stream)
    assert first is not None
    return first


def read(stream: Frames) -> list[Frame]:
    """The rest of a stream."""
    return [frame for frame in stream if frame is not None]


def subscription(ports: Ports, caller: Caller, task_id: str) -> Frames:
    return subscribe_to_task(ports, caller, SubscribeToTaskRequest(id=task_id), ports.clock.now() + MINUTES)


def asking(number: int) -> SendMessageRequest:
    message = Message(message_id=f"m-{number}", role=Role.USER, parts=(Part(text="go"),))
    return SendMessageRequest(message=message)


def ports_of(world: World) -> Ports:
    """The ports under test, and fakes of those that have no part in the race."""
    bell = Bell(world.clock)
    return Ports(
        tasks=Ringing(world.tasks, bell),
        admissions=world.admissions,
        contexts=world.contexts,
        executions=FakeExecutions(),
        contents=world.contents,
        uploads=FakeUploads(FakeContents(), bell),
        streams=world.streams,
        due=world.due,
        incidents=FakeIncidents(),
        metrics=FakeMetrics(),
        clock=bell,
        identifiers=UuidIdentifiers(),
        policy=Policy(streams_per_caller=STREAMS),
    )


@contextmanager
def eager_threads() -> Iterator[None]:
    """Threads that interrupt each other often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)
