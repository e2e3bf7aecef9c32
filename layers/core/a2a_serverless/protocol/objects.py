"""The objects agents and clients exchange: messages, parts, artifacts, tasks (specification 4.1).

Immutable values. They hold what the proto allows; how much a caller may send is decided in `requests`.
"""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from a2a_serverless.protocol.protojson import OneOf, ProtoModel
from a2a_serverless.protocol.scalars import (
    Bytes,
    NotEmpty,
    OptionalText,
    RequiredText,
    Struct,
    Text,
    Timestamp,
    Value,
    enum_reader,
)


class Role(StrEnum):
    """Who speaks."""

    USER = "ROLE_USER"
    AGENT = "ROLE_AGENT"


class TaskState(StrEnum):
    """Where a task is in its life (4.1.3)."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    REJECTED = "TASK_STATE_REJECTED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"


# The proto's numbers. Number 0 is UNSPECIFIED in both, which says nothing and is therefore refused.
ROLE_NUMBERS = {Role.USER: 1, Role.AGENT: 2}
TASK_STATE_NUMBERS = {state: number for number, state in enumerate(TaskState, start=1)}

RoleField = Annotated[Role, BeforeValidator(enum_reader(ROLE_NUMBERS))]
TaskStateField = Annotated[TaskState, BeforeValidator(enum_reader(TASK_STATE_NUMBERS))]


class Part(OneOf):
    """One piece of content: a text, bytes, a URL or any JSON value, exactly one of them.

    `data=None` is content: JSON's null. A subclass may add an alternative by extending `alternatives`.
    """

    alternatives: ClassVar[tuple[str, ...]] = ("text", "raw", "url", "data")
    null_is_a_value = frozenset({"data"})

    text: Text | None = None
    raw: Bytes | None = None
    url: Text | None = None
    data: Value = None
    media_type: OptionalText = None
    filename: OptionalText = None
    metadata: Struct = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _keep_null(self, printed: SerializerFunctionWrapHandler) -> dict[str, Any]:
        members: dict[str, Any] = printed(self)
        if self.data is None and self.which() == "data":
            members["data"] = None
        return members


class Message(ProtoModel):
    """One thing said, by the client or by the agent."""

    message_id: RequiredText
    role: RoleField
    parts: Annotated[tuple[Part, ...], NotEmpty]
    context_id: OptionalText = None
    task_id: OptionalText = None
    metadata: Struct = Field(default_factory=dict)
    extensions: tuple[Text, ...] = ()
    reference_task_ids: tuple[Text, ...] = ()


class Artifact(ProtoModel):
    """A result of a task; `artifact_id` is unique within it."""

    artifact_id: RequiredText
    parts: Annotated[tuple[Part, ...], NotEmpty]
    name: OptionalText = None
    description: OptionalText = None
    metadata: Struct = Field(default_factory=dict)
    extensions: tuple[Text, ...] = ()


class TaskStatus(ProtoModel):
    """The state of a task, since when, and what the agent says about it."""

    state: TaskStateField
    message: Message | None = None
    timestamp: Timestamp | None = None


class Task(ProtoModel):
    """The unit of work: its status, the artifacts so far and the messages exchanged."""

    id: RequiredText
    context_id: OptionalText = None
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: Struct = Field(default_factory=dict)
