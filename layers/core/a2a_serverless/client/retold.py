"""What another agent does, in the words of a turn: frames of its stream become updates, its end an outcome.

Pure. An artifact keeps its id, as far as it is one here; what was told before is told again only in a way
that changes nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from a2a_serverless.agent import (
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Rejected,
    Update,
    Working,
)
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Artifact, Message, Part, TaskState, TaskStatus

UNUSABLE = re.compile(r"[^A-Za-z0-9_.:-]")
MOST_ID = 128

MEANS: Mapping[TaskState, tuple[Callable[[str, Sequence[Part]], Outcome], str]] = {
    TaskState.INPUT_REQUIRED: (InputRequired, "More is needed to go on."),
    TaskState.AUTH_REQUIRED: (AuthRequired, "An authorisation is needed to go on."),
    TaskState.FAILED: (Failed, "It could not be done."),
    TaskState.REJECTED: (Rejected, "It will not be done."),
    TaskState.CANCELED: (Failed, "It was cancelled."),
}
"""The outcome that a state is, and what is said of it where the agent says nothing."""


def retold(event: StreamResponse, *, again: bool = False) -> Iterator[Update]:
    """What an event tells of work in progress. `again`: it is the task with which a stream goes on."""
    if event.task is not None and not again:
        yield from _progress(event.task.status)
        for artifact in event.task.artifacts:
            yield _piece(artifact, append=False, last_chunk=False)
    elif event.status_update is not None:
        yield from _progress(event.status_update.status)
    elif event.artifact_update is not None:
        update = event.artifact_update
        yield _piece(update.artifact, append=update.append, last_chunk=update.last_chunk)


def outcome_of(event: StreamResponse) -> Outcome | None:
    """How it ended, if this event says so; a message without a task is an answer that is complete."""
    if event.message is not None:
        return Completed(*_said(event.message))
    status = event.task.status if event.task else event.status_update.status if event.status_update else None
    if status is None:
        return None
    text, parts = _said(status.message)
    if status.state is TaskState.COMPLETED:
        return Completed(text, parts)
    if status.state not in MEANS:
        return None
    kind, otherwise = MEANS[status.state]
    return kind(text or otherwise, parts)


def _progress(status: TaskStatus) -> Iterator[Working]:
    if status.state is TaskState.WORKING and status.message is not None:
        yield Working(*_said(status.message))


def _said(message: Message | None) -> tuple[str | None, Sequence[Part]]:
    """The texts of a message as one, and its other parts."""
    if message is None:
        return None, ()
    texts = [part.text for part in message.parts if part.text]
    return "\n".join(texts) or None, tuple(part for part in message.parts if part.text is None)


def _piece(artifact: Artifact, *, append: bool, last_chunk: bool) -> ArtifactChunk:
    parts = artifact.parts
    flows = len(parts) == 1 and parts[0].text is not None and not parts[0].metadata and not parts[0].filename
    return ArtifactChunk(
        UNUSABLE.sub("-", artifact.artifact_id)[:MOST_ID],
        text=parts[0].text if flows else None,
        parts=() if flows else parts,
        name=artifact.name,
        description=artifact.description,
        media_type=parts[0].media_type if flows else None,
        metadata=artifact.metadata or None,
        append=append,
        last_chunk=last_chunk,
    )
