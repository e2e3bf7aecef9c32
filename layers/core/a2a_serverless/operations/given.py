"""What an agent is given for its turn: the message, and what came before it, with its content brought back.

Content that was put away is fetched when the agent looks at it, except that of its message. Knows how a task
is logged and what a turn looks like from inside, and writes nothing.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, overload

from a2a_serverless.agent import Attachment, Host, Message, Turn
from a2a_serverless.agent.attachments import INLINE
from a2a_serverless.operations.contents import BINARY, inlined, measured
from a2a_serverless.operations.memory import recall
from a2a_serverless.operations.put_away import given_artifact, open_artifact
from a2a_serverless.operations.workspace import KeptWorkspace, pieces
from a2a_serverless.ports import ContextKey, Ports, TurnKey
from a2a_serverless.protocol.files import file_url
from a2a_serverless.protocol.objects import Part, Task, TaskStatus
from a2a_serverless.tasks.content import (
    ContentKind,
    ContentPointer,
    KeptFile,
    LoggedMessage,
    LoggedPart,
)
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey

Kept = TypeVar("Kept")


def turn_for(ports: Ports, key: TurnKey, task: LoggedTask, host: Host) -> Turn:
    """The turn as its agent sees it, once its segment was begun."""
    record = task.record_of(key.turn)
    *earlier, message = task.history
    memory = recall(ports, key, task.state)
    workspace = KeptWorkspace(ports, key, task.context_id, task.expires, dict(memory.files))
    if not (task.state or "").rpartition("/")[2].startswith(f"{key.name}-"):
        workspace.take_in(_named_files(message))
    return Turn(
        message=_handed_over(ports, message),
        task_id=task.task_id,
        context_id=task.context_id,
        host=host,
        history=_BroughtBack([partial(_message, ports, one) for one in earlier]),
        artifacts=_BroughtBack([partial(given_artifact, ports, task.task_id, one) for one in task.artifacts]),
        state=memory.state,
        caller=dict(record.claims),
        accepted_output_modes=record.accepted_output_modes,
        workspace=workspace,
        attachments=[
            _attachment(ports, index, part) for index, part in enumerate(message.parts) if _is_bytes(part)
        ],
        segment=task.segments,
        earlier_tasks=_Earlier(ports, key, task.context_id),
        put_away=partial(open_artifact, ports, key, task.context_id),
    )


def _named_files(message: LoggedMessage) -> dict[str, KeptFile]:
    """The files that a message named, as they were when it was admitted."""
    return {
        part.stored.file.name: KeptFile.of(part.stored, part.stored.file, part.media_type or BINARY)
        for part in message.parts
        if part.stored and part.stored.file
    }


def _handed_over(ports: Ports, message: LoggedMessage) -> Message:
    """The message of the turn: files that are small come as bytes, as if the message had held them."""
    left = ports.policy.files.handed_over
    parts = []
    for part in message.parts:
        whole = part.stored is not None and part.stored.file is not None and part.stored.byte_size <= left
        if part.stored is not None and whole:
            left -= part.stored.byte_size
        parts.append(inlined(ports.contents, part, files=whole))
    return Message(**{**_fields(message), "parts": tuple(parts)})


def _is_bytes(part: LoggedPart) -> bool:
    return part.raw is not None or (part.stored is not None and part.stored.kind is ContentKind.RAW)


def _attachment(ports: Ports, index: int, part: LoggedPart) -> Attachment:
    size, digest, _ = measured(part)
    stored = part.stored
    named = stored.file if stored else None
    return Attachment(
        part=index,
        filename=part.filename,
        media_type=part.media_type or BINARY,
        byte_size=size,
        sha256=digest,
        source=file_url(named.name) if named else INLINE,
        begin=partial(_begin, ports, stored, part.raw or b""),
    )


async def _begin(ports: Ports, stored: ContentPointer | None, content: bytes) -> AsyncIterator[bytes]:
    if stored is None:
        if content:
            yield content
        return
    async for piece in pieces(partial(ports.contents.pieces, stored.key)):
        yield piece


def _fields(logged: LoggedMessage) -> dict[str, Any]:
    return {name: getattr(logged, name) for name in logged.model_fields_set}


def _parts(ports: Ports, parts: Sequence[LoggedPart]) -> tuple[Part, ...]:
    return tuple(inlined(ports.contents, part) for part in parts)


def _message(ports: Ports, message: LoggedMessage) -> Message:
    return Message(**{**_fields(message), "parts": _parts(ports, message.parts)})


class _Earlier(Sequence[Task]):
    """The tasks of a context before a turn's own, fetched when the agent looks; what has expired is none."""

    def __init__(self, ports: Ports, key: TurnKey, context_id: str) -> None:
        self._ports = ports
        self._key = key
        self._context_id = context_id

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self._whole(task) for task in self._tasks[index]]
        return self._whole(self._tasks[index])

    @cached_property
    def _tasks(self) -> Sequence[LoggedTask]:
        mine = self._key.task
        row = self._ports.contexts.read(ContextKey(mine.tenant, mine.owner, self._context_id))
        keys = [TaskKey(mine.tenant, mine.owner, name) for name in row.earlier]
        return [task for task in self._ports.tasks.load_many(keys) if task.exists] if keys else []

    def _whole(self, task: LoggedTask) -> Task:
        status = task.current
        said = _message(self._ports, status.message) if status.message else None
        return Task(
            id=task.task_id,
            context_id=task.context_id,
            status=TaskStatus(state=status.state, timestamp=status.timestamp, message=said),
            history=tuple(_message(self._ports, message) for message in task.history),
            artifacts=tuple(given_artifact(self._ports, task.task_id, each) for each in task.artifacts),
        )


class _BroughtBack(Sequence[Kept], Generic[Kept]):
    """Messages or artifacts whose stored content is brought back only when the agent looks at one."""

    def __init__(self, fetches: Sequence[Callable[[], Kept]]) -> None:
        self._fetches = fetches

    def __len__(self) -> int:
        return len(self._fetches)

    @overload
    def __getitem__(self, index: int) -> Kept: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Kept]: ...
    def __getitem__(self, index: int | slice) -> Kept | Sequence[Kept]:
        if isinstance(index, slice):
            return [fetch() for fetch in self._fetches[index]]
        return self._fetches[index]()
