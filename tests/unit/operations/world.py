"""A deployment in memory for the operations' tests: fakes, a caller, an agent, and faults at chosen requests.

A fault strikes the n-th write of whoever runs on the faulty ports: it dies before the write, dies after it,
or loses the answer, upon which the write is repeated silently, as an AWS SDK would. A meddler runs between
two requests.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from threading import Barrier
from typing import Any, TypeVar

from a2a_serverless.agent import ArtifactChunk, Completed, InputRequired, Turn, Update, Working
from a2a_serverless.operations.follow import awaited
from a2a_serverless.operations.read import get_task
from a2a_serverless.operations.send import send_message
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.turns import fail_turn, run_turn
from a2a_serverless.ports import Admission, AdmissionStatus, Caller, Policy, Ports, TurnKey, owner_of
from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.protocol.objects import Message, Part, Role, Task
from a2a_serverless.protocol.requests import (
    GetTaskRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    SendMessageResponse,
)
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import Entry, LoggedEvent, TaskKey
from tests.fakes.ports import (
    FakeClock,
    FakeContents,
    FakeExecutions,
    FakeIncidents,
    FakeTable,
    FakeTasks,
    fake_ports,
)

CALLER = Caller(tenant="", owner=owner_of("tests", "alice"), name="alice", base_url="https://agent.example")
BOB = replace(CALLER, owner=owner_of("tests", "bob"), name="bob")
ELSEWHERE = replace(CALLER, tenant="elsewhere")
ANONYMOUS = replace(CALLER, owner=owner_of("", ""), name="", anonymous=True)
WRITES = frozenset(
    {
        "append", "write_head", "mark_due", "write_snapshot", "open", "close", "withdraw", "take", "settle",
        "start", "stop", "put", "copy",
    }
)  # fmt: skip


T = TypeVar("T")


class Fault(Enum):
    """What goes wrong at a write."""

    DIES_BEFORE = "dies before the write"
    DIES_AFTER = "dies after the write"
    ANSWER_LOST = "the answer is lost and the write repeated"
    MEDDLED = "somebody else acts before the write"


class Died(BaseException):
    """The process is gone; nobody catches this."""


@dataclass
class Fate:
    """Counts a process's writes and strikes at the chosen one; `at=0` never strikes."""

    at: int = 0
    fault: Fault = Fault.DIES_BEFORE
    meddler: Callable[[], None] = lambda: None
    writes: int = 0

    def call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.writes += 1
        if self.writes != self.at:
            return method(*args, **kwargs)
        match self.fault:
            case Fault.DIES_BEFORE:
                raise Died
            case Fault.DIES_AFTER:
                method(*args, **kwargs)
                raise Died
            case Fault.MEDDLED:
                self.meddler()
            case Fault.ANSWER_LOST:
                method(*args, **kwargs)
        return method(*args, **kwargs)


@dataclass
class Faulty:
    """A port whose writes meet their fate."""

    port: Any
    fate: Fate

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.port, name)
        if name not in WRITES:
            return method
        return lambda *args, **kwargs: self.fate.call(method, *args, **kwargs)


async def scripted(turn: Turn) -> AsyncIterator[Update]:
    """Remembers every message of the conversation; asks when told to, otherwise delivers."""
    text = turn.message.parts[0].text or ""
    turn.state["seen"] = [*turn.state.get("seen", []), turn.message.message_id]
    yield Working("on it")
    if text.startswith("ask"):
        yield InputRequired("Which one?")
        return
    yield ArtifactChunk("result", f"about {text}", last_chunk=True)
    yield Completed("done")


@dataclass
class World:
    """Everything a deployment consists of, in memory."""

    clock: FakeClock = field(default_factory=FakeClock)
    policy: Policy = field(default_factory=Policy)
    runs: list[tuple[str, int]] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)
    agent: Callable[[Turn], AsyncIterator[Update]] = scripted

    def __post_init__(self) -> None:
        self.table = FakeTable(self.clock)
        self.executions = FakeExecutions()
        self.ports: Ports = fake_ports(
            clock=self.clock, table=self.table, executions=self.executions, policy=self.policy
        )

    def doomed(self, fate: Fate) -> Ports:
        """The same world as a process sees it that meets this fate."""
        doomed = ("tasks", "admissions", "contexts", "executions", "contents", "uploads")
        return replace(self.ports, **{name: Faulty(getattr(self.ports, name), fate) for name in doomed})

    def send(self, message_id: str, text: str = "go", ports: Ports | None = None, **ids: str) -> Task:
        """SendMessage that returns immediately; remembers what its client was told."""
        told = self.told.setdefault(message_id, [])
        told.append("nothing")
        try:
            response = awaited(send_message(ports or self.ports, CALLER, request(message_id, text, **ids)))
        except A2AError:
            told[-1] = "refused"
            raise
        assert response.task is not None
        told[-1] = response.task.id
        return response.task

    def watched(self, turn: Turn) -> AsyncIterator[Update]:
        """The agent, with a note of every run."""
        self.runs.append((turn.message.message_id, turn.segment))
        return self.agent(turn)

    def invoke(self, key: TurnKey, ports: Ports | None = None) -> None:
        """One invocation of the turn's function, and the state machine's Catch if it dies."""
        try:
            run_turn(ports or self.ports, self.watched, key, lambda: 60.0)
        except Died:
            fail_turn(self.ports, key)
        self.executions.status[key] = "ended"

    def running(self) -> Iterator[TurnKey]:
        """Turns whose execution has been started and not ended."""
        while found := [key for key, status in self.executions.status.items() if status == "running"]:
            yield found[0]

    def run_turns(self) -> None:
        """Let every started execution run to its end."""
        for key in self.running():
            self.invoke(key)

    def recover(self) -> None:
        """Sweeps and turns, long enough after for everything outstanding to be due."""
        for _ in range(4):
            self.run_turns()
            self.clock.sleep(1200)
            sweep(self.ports)
        self.run_turns()

    def answer(
        self, wanted: SendMessageRequest, caller: Caller = CALLER, ports: Ports | None = None
    ) -> SendMessageResponse:
        """SendMessage as it was asked for."""
        return awaited(send_message(ports or self.ports, caller, wanted))

    def said(self, message_id: str, text: str = "go", **ids: str) -> Task:
        """The task after the turn that this message starts."""
        sent = self.send(message_id, text, **ids)
        self.run_turns()
        return self.get(sent.id)

    def get(self, task_id: str, history_length: int | None = None, caller: Caller = CALLER) -> Task:
        """GetTask."""
        return get_task(self.ports, caller, GetTaskRequest(id=task_id, history_length=history_length))

    def load(self, task_id: str, caller: Caller = CALLER) -> LoggedTask:
        """The task as its log tells it."""
        return self.ports.tasks.load(caller.task(task_id))

    def entries(self, task_id: str, caller: Caller = CALLER) -> list[Entry]:
        """Everything that stands in a task's log."""
        return [event.entry for event in self.tasks.log(caller.task(task_id))]

    def turn(self, task_id: str) -> TurnKey:
        """The task's open turn, or else its latest."""
        task = self.load(task_id)
        return TurnKey(CALLER.task(task_id), task.open_turn or task.turns[-1].position)

    def logs(self) -> set[TaskKey]:
        """Every task that has a log, whether or not anybody can see it."""
        return {place[0] for place, _ in self.table.all(LoggedEvent)}

    @property
    def incidents(self) -> FakeIncidents:
        """What was reported."""
        assert isinstance(self.ports.incidents, FakeIncidents)
        return self.ports.incidents

    @property
    def contents(self) -> FakeContents:
        """What was put away."""
        assert isinstance(self.ports.contents, FakeContents)
        return self.ports.contents

    @property
    def tasks(self) -> FakeTasks:
        """The store, with a fake's extra views."""
        assert isinstance(self.ports.tasks, FakeTasks)
        return self.ports.tasks

    def pending(self) -> list[str]:
        """Messages whose admission nobody has finished."""
        return [
            record.record_id
            for _, record in self.table.all(Admission)
            if record.status is AdmissionStatus.PENDING
        ]


def request(
    message_id: str, text: str = "go", *, blocking: bool = False, task_id: str | None = None,
    context_id: str | None = None,
) -> SendMessageRequest:  # fmt: skip
    """A SendMessage request with one text part."""
    ids = {"task_id": task_id, "context_id": context_id}
    message = Message(
        message_id=message_id,
        role=Role.USER,
        parts=(Part(text=text),),
        **{name: value for name, value in ids.items() if value},
    )
    configuration = SendMessageConfiguration(return_immediately=not blocking)
    return SendMessageRequest(message=message, configuration=configuration)


def plays(*updates: Any) -> Callable[[Turn], AsyncIterator[Update]]:
    """An agent that yields just this."""

    async def agent(_: Turn) -> AsyncIterator[Update]:
        for update in updates:
            yield update

    return agent


def at_once(*acts: Callable[[], T]) -> Sequence[T | A2AError]:
    """What each act returned or was refused with, all begun at the same time and interrupted often."""
    together = Barrier(len(acts))
    usual = sys.getswitchinterval()

    def act(one: Callable[[], T]) -> T | A2AError:
        together.wait()
        try:
            return one()
        except A2AError as refusal:
            return refusal

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(acts)) as threads:
            return list(threads.map(act, acts))
    finally:
        sys.setswitchinterval(usual)


def message(message_id: str, *parts: Part, **members: Any) -> Message:
    """A client's message of these parts, or of a text."""
    return Message(message_id=message_id, role=Role.USER, parts=parts or (Part(text="go"),), **members)


def asking(said: Message, **configuration: Any) -> SendMessageRequest:
    """A SendMessage request that returns immediately unless told otherwise."""
    wanted = {"return_immediately": True, **configuration}
    return SendMessageRequest(message=said, configuration=SendMessageConfiguration(**wanted))
