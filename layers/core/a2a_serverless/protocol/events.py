"""What a task tells those who follow it: updates, and the frame that carries them (specification 4.2, 3.1.2).

The same frame goes into streams, webhooks and the log. Knows nothing of delivery or order.
"""

from typing import ClassVar

from pydantic import Field

from a2a_serverless.protocol.objects import Artifact, Message, Task, TaskStatus
from a2a_serverless.protocol.protojson import OneOf, ProtoModel
from a2a_serverless.protocol.scalars import Boolean, RequiredText, Struct


class TaskStatusUpdateEvent(ProtoModel):
    """The task has a new status."""

    task_id: RequiredText
    context_id: RequiredText
    status: TaskStatus
    metadata: Struct = Field(default_factory=dict)


class TaskArtifactUpdateEvent(ProtoModel):
    """The task has an artifact, or more of one.

    `append` adds the parts to the artifact of that id; otherwise the artifact is created or replaced.
    `last_chunk` says that no more of it follows.
    """

    task_id: RequiredText
    context_id: RequiredText
    artifact: Artifact
    append: Boolean = False
    last_chunk: Boolean = False
    metadata: Struct = Field(default_factory=dict)


class StreamResponse(OneOf):
    """One frame of a stream: exactly one of a task, a message or an update."""

    alternatives: ClassVar[tuple[str, ...]] = ("task", "message", "status_update", "artifact_update")

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdateEvent | None = None
    artifact_update: TaskArtifactUpdateEvent | None = None
