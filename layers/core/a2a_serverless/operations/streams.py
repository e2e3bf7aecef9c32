"""SendStreamingMessage and SubscribeToTask (specification 3.1.2, 3.1.6): a task, then what happens to it.

A stream reads the log and nothing else, so every stream of a task shows the same events in the same order,
wherever it runs and whenever it began; a position is all it takes to go on. What can be refused is refused
before the first frame. Knows neither the wire nor how long a silence a client bears: it only says that it
has looked in vain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from a2a_serverless.operations.admit import admit
from a2a_serverless.operations.contents import Shown
from a2a_serverless.operations.follow import arrivals
from a2a_serverless.operations.send import check_message, instant_answer
from a2a_serverless.ports import Caller, Ports, StreamKey
from a2a_serverless.protocol.errors import (
    InvalidParamsError,
    RateLimitedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_serverless.protocol.requests import (
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a_serverless.tasks.fold import Folding, LoggedTask
from a2a_serverless.tasks.log import ArtifactUpdated, LoggedEvent, TaskKey
from a2a_serverless.tasks.view import added, is_aside, shown_status

LAST_EVENT_ID = "lastEventId"


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing a stream says, and the position a reader is at afterwards; None outside any task."""

    position: int | None
    response: StreamResponse


Frames = Iterator[Frame | None]
"""What a stream says, in order; None each time it has looked and found nothing to say."""

Ends = Callable[[Folding], bool]
"""Whether a stream is done with its task as folded so far."""


def send_streaming_message(
    ports: Ports, caller: Caller, request: SendMessageRequest, until: datetime
) -> Frames:
    """Admit the message and stream its task until its turn has settled, or `until`.

    An instant reply is the only frame of its stream. A task that waits for an authorisation keeps its
    stream open (specification 7.6.1). A stream that ends at `until` is resumable: SubscribeToTask goes on
    from its last position.

    Raises:
        RateLimitedError: the caller has too many streams open.
        A2AError: whatever SendMessage refuses.
    """
    configuration = request.configuration or SendMessageConfiguration()
    check_message(ports, request, configuration)
    reply = instant_answer(ports, caller, request.message)
    if reply is not None:
        return iter([Frame(None, StreamResponse(message=reply))])
    stream = _open(ports, caller, until)
    shown = Shown(ports, caller)
    try:
        admitted = admit(ports, caller, request)
        turn = admitted.turn
        task = admitted.task or ports.tasks.load(turn.task, about=turn.turn)
        first = shown.task(task, configuration.history_length)
    except BaseException:
        ports.streams.close(stream)
        raise

    def settled(folding: Folding) -> bool:
        idle = folding.over(turn.turn) and folding.open_turn is None
        return idle and not folding.waits_for_authorisation

    opening = Frame(task.position, StreamResponse(task=first))
    return _frames(shown, stream, opening, task, settled)


def subscribe_to_task(
    ports: Ports,
    caller: Caller,
    request: SubscribeToTaskRequest,
    until: datetime,
    last_event_id: str | None = None,
) -> Frames:
    """Stream a task until it has ended, or `until`.

    With the id of the last event a client saw, the first frame is the task as it stood then, and the next are
    exactly the events after it, also for a task that has ended meanwhile.

    Raises:
        TaskNotFoundError: no such task of this caller.
        UnsupportedOperationError: the task has ended, and nothing says from where to go on.
        InvalidParamsError: the last event id is none that this task's streams gave.
        RateLimitedError: the caller has too many streams open.
    """
    key = caller.task(request.id)
    task = ports.tasks.load(key)
    if not task.exists:
        raise TaskNotFoundError
    if last_event_id is None and task.terminal:
        state = task.current.state.value
        raise UnsupportedOperationError(f"The task has ended ({state}); nothing more will happen to it.")
    if last_event_id is not None:
        task = _as_it_stood(ports, key, task, last_event_id)
    shown = Shown(ports, caller)
    opening = Frame(task.position, StreamResponse(task=shown.task(task)))
    stream = _open(ports, caller, until)
    return _frames(shown, stream, opening, task, lambda folding: folding.terminal)


def _as_it_stood(ports: Ports, key: TaskKey, task: LoggedTask, last_event_id: str) -> LoggedTask:
    is_short = len(last_event_id) <= len(str(task.position))
    position = int(last_event_id) if is_short and last_event_id.isascii() and last_event_id.isdigit() else 0
    if not 1 <= position <= task.position:
        raise InvalidParamsError.of(LAST_EVENT_ID, "is not the id of an event of this task")
    stood = task if position == task.position else ports.tasks.load_up_to(key, position)
    if not stood.exists:
        raise InvalidParamsError.of(LAST_EVENT_ID, "is not the id of an event of this task")
    return stood


def _open(ports: Ports, caller: Caller, until: datetime) -> StreamKey:
    most = ports.policy.streams_per_caller
    stream = ports.streams.open(caller.belongs_to, caller.owner, most=most, until=until)
    if stream is None:
        raise RateLimitedError(f"At most {most} streams of one caller may be open at once.")
    return stream


def _frames(shown: Shown, stream: StreamKey, opening: Frame, task: LoggedTask, ends: Ends) -> Frames:
    """The frames of an opened stream, which is closed however its reader leaves."""
    ports, key = shown.ports, shown.caller.task(task.task_id)
    try:
        yield opening
        folding = Folding(task)
        if ends(folding):
            return
        for events in arrivals(ports, key, task.position, stream.until):
            silent = True
            for event in events:
                response = _response(shown.anew(), folding, event)
                folding.apply(event)
                if response is not None:
                    yield Frame(event.position, response)
                    silent = False
                if ends(folding):
                    return
            if silent:
                yield None
    finally:
        ports.streams.close(stream)


def _response(shown: Shown, before: Folding, event: LoggedEvent) -> StreamResponse | None:
    """What a stream shows of an event that happens to the task as folded `before`; None for bookkeeping."""
    task_id, context_id = before.base.task_id, before.context_id
    status = shown_status(event.entry)
    if status is not None:
        metadata = added(event.entry, shown.caller.extensions)
        if is_aside(event.entry) and not metadata:
            return None
        update = TaskStatusUpdateEvent(
            task_id=task_id,
            context_id=context_id,
            status=shown.status(status, task_id),
            metadata=metadata,
        )
        return StreamResponse(status_update=update)
    if not isinstance(event.entry, ArtifactUpdated):
        return None
    entry = event.entry
    known = before.artifacts.get(entry.artifact.artifact_id) if entry.append else None
    chunk = TaskArtifactUpdateEvent(
        task_id=task_id,
        context_id=context_id,
        artifact=shown.artifact(
            entry.artifact,
            task_id,
            after=len(known.parts) if known else 0,
            whole=entry.last_chunk and not entry.append,
        ),
        append=entry.append,
        last_chunk=entry.last_chunk,
    )
    return StreamResponse(artifact_update=chunk)
