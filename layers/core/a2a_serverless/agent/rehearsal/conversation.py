"""A rehearsed conversation: which turn a message starts, how often the agent is called for it, what is kept.

The one place that plays a deployment. It keeps the rules of `operations.turns` in memory and in one process.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import inf
from typing import Any

from a2a_serverless.agent.attachments import attached
from a2a_serverless.agent.permissions import Permission
from a2a_serverless.agent.rehearsal.artifacts import Shelf
from a2a_serverless.agent.rehearsal.decisions import answer, key_of
from a2a_serverless.agent.rehearsal.told import Rehearsal, RehearsalError, RehearsedTurn, text_of
from a2a_serverless.agent.turn import Agent, Turn
from a2a_serverless.agent.updates import (
    ArtifactChunk,
    ArtifactFile,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Rejected,
    Update,
)
from a2a_serverless.agent.workspace import MemoryWorkspace
from a2a_serverless.protocol.files import file_url
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState, TaskStatus

Said = str | Part | Sequence[Part] | Message
"""What a caller says: a text, a part, several, or a whole message."""

CONTEXT = "rehearsal"
"""The conversation that is rehearsed."""

INVOCATION = 900.0
"""Seconds that an agent is told it has left."""

MOST = 100
"""Times that an agent is called for one message before it is said to go round in circles."""

STATES: Mapping[type[Outcome], TaskState] = {
    InputRequired: TaskState.INPUT_REQUIRED,
    AuthRequired: TaskState.AUTH_REQUIRED,
    Completed: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Rejected: TaskState.REJECTED,
}
EARLIER = 10
"""Tasks before the present one that an agent is shown."""

WAITING = frozenset({TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED})


class _Pause(BaseException):
    """Unwinds the agent at a checkpoint; not an Exception, so that no agent catches it by accident."""


class _Question(BaseException):
    """Unwinds the agent where it asks for permission that nobody has given or denied yet."""

    def __init__(self, permission: Permission) -> None:
        super().__init__(permission.title)
        self.permission = permission


@dataclass
class _Host:
    """The host of one invocation."""

    decided: dict[str, bool]
    passes: float
    """Checkpoints that are passed before one ends the invocation."""

    def remaining_seconds(self) -> float:
        return INVOCATION

    async def checkpoint(self, resume_after: float) -> None:
        if resume_after > 0 or self.passes <= 0:
            raise _Pause
        self.passes -= 1

    async def ask_permission(self, permission: Permission) -> bool:
        # A decision holds for this question, with these arguments, and once.
        key = key_of(permission)
        if key not in self.decided:
            raise _Question(permission)
        return self.decided.pop(key)


@dataclass
class Conversation:
    """Everything between the first message and the last."""

    agent: Agent
    saved: dict[str, Any]
    decide: Callable[[Permission], bool] | None
    given: Mapping[str, Any]
    resume: bool
    seconds: float
    workspace: MemoryWorkspace = field(default_factory=MemoryWorkspace)
    turns: list[RehearsedTurn] = field(default_factory=list)
    shelf: Shelf = field(default_factory=Shelf)
    history: list[Message] = field(default_factory=list)
    earlier: list[Task] = field(default_factory=list)
    tasks: int = 0
    decided: dict[str, bool] = field(default_factory=dict)

    async def hear(self, said: Said) -> None:
        """One message of the caller, and the decisions that it leads to."""
        for _ in range(MOST):
            if not (self.turns and self.turns[-1].state in WAITING):
                self._begin_task()
            turn = await self._turn(self._message(said))
            self.turns.append(turn)
            if turn.permission is None or self.decide is None:
                return
            decision = self.decide(turn.permission)
            self.decided = {key_of(turn.permission): decision}
            said = Part(data=answer(turn.permission, f"task-{self.tasks}", allow=decision))
        raise RehearsalError(
            f"the agent has asked for permission {MOST} times: a decision holds once, so keep in turn.state"
            " what was done"
        )

    def _begin_task(self) -> None:
        if self.turns:
            task = Task(
                id=f"task-{self.tasks}",
                context_id=CONTEXT,
                status=TaskStatus(state=self.turns[-1].state),
                artifacts=tuple(self.shelf.artifacts.values()),
                history=tuple(self.history),
            )
            self.earlier = [*self.earlier, task][-EARLIER:]
        self.tasks += 1
        self.shelf, self.history = Shelf(), []

    def told(self) -> Rehearsal:
        """What has happened so far."""
        files = {name: content for name, (_, content) in sorted(self.workspace.files.items())}
        return Rehearsal(tuple(self.turns), self.shelf.artifacts, self.saved, files)

    def _message(self, said: Said) -> Message:
        ids = {"context_id": CONTEXT, "task_id": f"task-{self.tasks}"}
        if isinstance(said, Message):
            return said.model_copy(update=ids)
        parts = (Part(text=said),) if isinstance(said, str) else (said,) if isinstance(said, Part) else said
        name = f"message-{len(self.turns) + 1}"
        return Message(message_id=name, role=Role.USER, parts=tuple(parts), **ids)

    async def _turn(self, message: Message) -> RehearsedTurn:
        """Call the agent for this message, again from each checkpoint, until the turn has ended."""
        updates: list[Update] = []
        workspace = MemoryWorkspace(copy(self.workspace.files))
        self.shelf.begin_turn()
        for segment in range(1, MOST + 1):
            turn = Turn(
                message=_handed_over(message, workspace),
                task_id=f"task-{self.tasks}",
                context_id=CONTEXT,
                # An invocation that goes on from a checkpoint gets at least to the next one.
                host=_Host(self.decided, passes=min(segment - 1, 1) if self.resume else inf),
                history=tuple(self.history),
                artifacts=tuple(self.shelf.artifacts.values()),
                state=kept(self.saved),
                workspace=workspace,
                attachments=attached(message, workspace),
                segment=segment,
                earlier_tasks=tuple(self.earlier),
                **self.given,
            )
            try:
                async with asyncio.timeout(self.seconds):
                    outcome: Outcome = await self._perform(turn, updates)
                permission = None
            except _Pause:
                self.saved = kept(turn.state)
                continue
            except _Question as question:
                permission = question.permission
                outcome = InputRequired(permission.title)
            self.saved, self.workspace = kept(turn.state), workspace
            return self._settled(message, outcome, tuple(updates), permission, segment)
        raise RehearsalError(f"the agent has been resumed {MOST} times: keep in turn.state how far it came")

    async def _perform(self, turn: Turn, updates: list[Update]) -> Outcome:
        yielded = self.agent(turn)
        if not isinstance(yielded, AsyncIterable):
            raise RehearsalError(
                "an agent is an async generator function: `async def agent(turn)` that yields"
            )
        try:
            async for update in yielded:
                if not isinstance(update, Update):
                    raise RehearsalError(f"an agent yields updates, not {type(update).__name__}")
                updates.append(update)
                if isinstance(update, Outcome):
                    return update
                if isinstance(update, ArtifactChunk):
                    self.shelf.add(update)
                elif isinstance(update, ArtifactFile):
                    await self.shelf.put(update)
        finally:
            if isinstance(yielded, AsyncGenerator):
                await yielded.aclose()
        return Completed()

    def _settled(
        self,
        message: Message,
        outcome: Outcome,
        updates: tuple[Update, ...],
        permission: Permission | None,
        segments: int,
    ) -> RehearsedTurn:
        said = ((Part(text=outcome.text),) if outcome.text else ()) + tuple(outcome.parts)
        self.history.append(message)
        if said:
            name = f"{message.message_id}-answer"
            self.history.append(
                Message(
                    message_id=name, role=Role.AGENT, parts=said, context_id=CONTEXT, task_id=message.task_id
                )
            )
        state = next(state for kind, state in STATES.items() if isinstance(outcome, kind))
        return RehearsedTurn(message, updates, state, text_of(said), permission, segments)


def _handed_over(message: Message, workspace: MemoryWorkspace) -> Message:
    """The message of a turn: the files that it names come as bytes, as if it had held them."""
    named = {file_url(name): content for name, (_, content) in workspace.files.items()}
    parts = tuple(
        Part(raw=named[part.url], media_type=part.media_type, filename=part.filename, metadata=part.metadata)
        if part.url is not None and part.url in named
        else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": parts})


def kept(state: Mapping[str, Any]) -> dict[str, Any]:
    """What of the state is kept: JSON's view of it."""
    try:
        saved: dict[str, Any] = json.loads(json.dumps(dict(state), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise RehearsalError(f"turn.state holds what JSON cannot hold: {error}") from error
    return saved
