"""The official a2a-sdk: an `AgentExecutor` written for its servers, served as it is.

The executor gets a `RequestContext` made of the turn, and what it publishes becomes the task's updates.
Tasks are kept here, not in a `TaskStore` of the SDK; what an executor wants to remember it finds as
`turn.state`, under `context.call_context.state["turn"]`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from a2a.auth.user import User
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import Event, EventQueue
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from a2a_serverless.agent import (
    Agent,
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Part,
    Rejected,
    Turn,
    Update,
    Working,
)
from a2a_serverless.frameworks.messages import FILES, RefusedError, read

PATIENCE = 0.5
"""Seconds that an executor gets for each step of its end; a host gives it two in all."""

GAVE_UP = "The agent gave the task up."


class Caller(User):
    """The caller, as the SDK sees one."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_authenticated(self) -> bool:
        return bool(self._name)

    @property
    def user_name(self) -> str:
        return self._name


class Published(EventQueue):
    """The executor's side of what crosses over."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def enqueue_event(self, event: Event) -> None:
        """Take one event; what the executor does to it afterwards changes nothing."""
        self.events.put_nowait(deepcopy(event))


def agent(thing: AgentExecutor | Callable[[Turn], AgentExecutor]) -> Agent:
    """Serve an executor, or what a factory makes for each turn.

    Where the caller cancels the task, the executor's `execute` is cancelled and its `cancel` called, as in
    the SDK; what it publishes then is nobody's any more.
    """

    async def serve(turn: Turn) -> AsyncIterator[Update]:
        executor = thing if isinstance(thing, AgentExecutor) else thing(turn)
        try:
            context = await request_context(turn)
        except RefusedError as refused:
            yield Rejected(str(refused))
            return
        published = Published()
        performing = asyncio.create_task(_perform(executor, context, published))
        try:
            while (event := await published.events.get()) is not None:
                for update in _told(event):
                    yield update
                    if isinstance(update, Outcome):
                        return
            await performing
        except asyncio.CancelledError:
            performing.cancel()
            await asyncio.wait({performing}, timeout=PATIENCE)
            await _patiently(executor.cancel(context, published))
            raise
        finally:
            await asyncio.wait({performing}, timeout=PATIENCE)
            performing.cancel()
            await asyncio.gather(performing, return_exceptions=True)

    return serve


async def _perform(executor: AgentExecutor, context: RequestContext, published: Published) -> None:
    try:
        await executor.execute(context, published)
    finally:
        published.events.put_nowait(None)


async def _patiently(doing: Any) -> None:  # noqa: ANN401  a coroutine of the executor's
    """Let it try, for a while; many executors say that they cannot be cancelled by raising."""
    await asyncio.gather(asyncio.wait_for(doing, PATIENCE), return_exceptions=True)


async def request_context(turn: Turn) -> RequestContext:
    """The turn as an executor of the SDK is given it.

    Files of the conversation that the message names are read and given as raw content. A task that goes on
    after a question is the current task, with what was said and made up to now; a new one is not there yet.
    """
    message = ParseDict(turn.message.to_dict(), pb.Message())
    attached = {attachment.part: attachment for attachment in turn.attachments}
    for index, part in enumerate(message.parts):
        if part.WhichOneof("content") == "url" and part.url.startswith(FILES):
            part.raw = (await read(turn.message.parts[index], index, attached)).content
    modes = pb.SendMessageConfiguration(accepted_output_modes=turn.accepted_output_modes)
    call = ServerCallContext(
        state={"turn": turn},
        user=Caller(turn.caller.get("sub", "")),
        requested_extensions=set(turn.message.extensions),
    )
    return RequestContext(
        call,
        pb.SendMessageRequest(message=message, configuration=modes),
        task_id=turn.task_id,
        context_id=turn.context_id,
        task=_current_task(turn) if turn.history else None,
    )


def _current_task(turn: Turn) -> pb.Task:
    history = [ParseDict(each.to_dict(), pb.Message()) for each in turn.history]
    asked = history[-1] if history[-1].role == pb.Role.ROLE_AGENT else None
    return pb.Task(
        id=turn.task_id,
        context_id=turn.context_id,
        status=pb.TaskStatus(state=pb.TaskState.TASK_STATE_INPUT_REQUIRED, message=asked),
        artifacts=[ParseDict(each.to_dict(), pb.Artifact()) for each in turn.artifacts],
        history=history,
    )


def _told(event: Event) -> Iterator[Update]:
    """What an event of the SDK is to the caller."""
    match event:
        case pb.Message():
            yield Completed(parts=_parts(event.parts))
        case pb.TaskArtifactUpdateEvent():
            if event.artifact.parts or event.last_chunk:
                yield _chunk(event.artifact, append=event.append, last_chunk=event.last_chunk)
        case pb.TaskStatusUpdateEvent():
            yield from _state(event.status)
        case pb.Task():
            for artifact in event.artifacts:
                yield _chunk(artifact, append=False, last_chunk=True)
            yield from _state(event.status)


def _state(status: pb.TaskStatus) -> Iterator[Update]:
    parts = _parts(status.message.parts)
    text = "\n".join(part.text for part in parts if part.text is not None)
    others = [part for part in parts if part.text is None]
    match status.state:
        case pb.TaskState.TASK_STATE_WORKING if parts:
            yield Working(parts=parts)
        case pb.TaskState.TASK_STATE_COMPLETED:
            yield Completed(parts=parts)
        case pb.TaskState.TASK_STATE_INPUT_REQUIRED:
            yield InputRequired(text, others)
        case pb.TaskState.TASK_STATE_AUTH_REQUIRED:
            yield AuthRequired(text, others)
        case pb.TaskState.TASK_STATE_REJECTED:
            yield Rejected(text, others)
        case pb.TaskState.TASK_STATE_FAILED:
            yield Failed(text, others)
        case pb.TaskState.TASK_STATE_CANCELED:
            yield Rejected(text or GAVE_UP, others)


def _chunk(artifact: pb.Artifact, *, append: bool, last_chunk: bool) -> ArtifactChunk:
    parts = _parts(artifact.parts)
    only = parts[0] if len(parts) == 1 else Part(data=None)
    flows = only.text is not None and not only.filename and not only.metadata
    return ArtifactChunk(
        artifact.artifact_id,
        text=only.text if flows else None,
        parts=() if flows else parts,
        media_type=only.media_type if flows else None,
        # What is added to an artifact does not describe it anew.
        name=None if append else artifact.name or None,
        description=None if append else artifact.description or None,
        metadata=MessageToDict(artifact.metadata) or None,
        append=append,
        last_chunk=last_chunk,
    )


def _parts(parts: Sequence[pb.Part]) -> list[Part]:
    return [Part.model_validate(MessageToDict(part)) for part in parts]
