"""What a client asks for, and the answers that are not an object of their own (specification 3.1, 9.4, 11.3).

A request that exists respects the limits of `limits`. Defaults that are a server's choice, such as the page
size, are applied by the operations, not here.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from a2a_serverless.protocol.limits import (
    MAX_NAMED,
    ClientMessage,
    HistoryLength,
    Id,
    Metadata,
    OptionalId,
    PageSize,
    PageSizeOrZero,
    Tenant,
    at_most,
)
from a2a_serverless.protocol.objects import Message, Task, TaskStateField
from a2a_serverless.protocol.protojson import OneOf, ProtoModel
from a2a_serverless.protocol.scalars import Boolean, Int32, OptionalText, Text, Timestamp


class AuthenticationInfo(ProtoModel):
    """How to authenticate to a webhook: `Authorization: <scheme> <credentials>`."""

    empty_when_absent: ClassVar[Mapping[str, object]] = {"scheme": ""}

    scheme: Text
    credentials: OptionalText = Field(default=None, repr=False)


class TaskPushNotificationConfig(ProtoModel):
    """A webhook for a task's events. `task_id` is empty inside a SendMessageRequest, `id` is ours to give.

    What can be called is the operations' business, a URL or scheme that is missing included: they name the
    same fields for the same reasons wherever a webhook is asked for.
    """

    empty_when_absent: ClassVar[Mapping[str, object]] = {"url": ""}

    tenant: Tenant = None
    id: OptionalId = None
    task_id: OptionalId = None
    url: Text = Field(repr=False)
    token: OptionalText = Field(default=None, repr=False)
    authentication: AuthenticationInfo | None = None


class SendMessageConfiguration(ProtoModel):
    """How the client wants its answer; by default when the task has ended or waits for the client."""

    accepted_output_modes: Annotated[tuple[Text, ...], at_most(MAX_NAMED)] = ()
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: HistoryLength = None
    return_immediately: Boolean = False


class SendMessageRequest(ProtoModel):
    """Say something to the agent (3.1.1, 3.1.2)."""

    tenant: Tenant = None
    message: ClientMessage
    configuration: SendMessageConfiguration | None = None
    metadata: Metadata = Field(default_factory=dict)


class SendMessageResponse(OneOf):
    """A task, or a message when the agent answers without one."""

    alternatives: ClassVar[tuple[str, ...]] = ("task", "message")

    task: Task | None = None
    message: Message | None = None


class GetTaskRequest(ProtoModel):
    """Read a task (3.1.3)."""

    tenant: Tenant = None
    id: Id
    history_length: HistoryLength = None


def _unset(value: object) -> object:
    return None if value == "TASK_STATE_UNSPECIFIED" or (value == 0 and value is not False) else value


StatusFilter = Annotated[TaskStateField | None, BeforeValidator(_unset)]
"""The proto gives the filter no presence, so its zero is unset: clients in Java say it in every request."""


class ListTasksRequest(ProtoModel):
    """List the caller's tasks, newest status first (3.1.4). The filters are joined by "and"."""

    tenant: Tenant = None
    context_id: OptionalId = None
    status: StatusFilter = None
    page_size: PageSize = None
    page_token: OptionalText = None
    history_length: HistoryLength = None
    status_timestamp_after: Timestamp | None = None
    include_artifacts: Boolean | None = None


class ListTasksResponse(ProtoModel):
    """One page of tasks. `next_page_token` is empty on the last page, `total_size` counts all pages."""

    empty_when_absent: ClassVar[Mapping[str, object]] = {
        "tasks": (),
        "next_page_token": "",
        "page_size": 0,
        "total_size": 0,
    }

    tasks: tuple[Task, ...]
    next_page_token: Text
    page_size: Int32
    total_size: Int32


class CancelTaskRequest(ProtoModel):
    """Cancel a task (3.1.5)."""

    tenant: Tenant = None
    id: Id
    metadata: Metadata = Field(default_factory=dict)


class SubscribeToTaskRequest(ProtoModel):
    """Follow a task that has not ended (3.1.6)."""

    tenant: Tenant = None
    id: Id


class GetTaskPushNotificationConfigRequest(ProtoModel):
    """Read one webhook of a task (3.1.8)."""

    tenant: Tenant = None
    task_id: Id
    id: Id


class DeleteTaskPushNotificationConfigRequest(ProtoModel):
    """Remove one webhook of a task (3.1.10)."""

    tenant: Tenant = None
    task_id: Id
    id: Id


class ListTaskPushNotificationConfigsRequest(ProtoModel):
    """List the webhooks of a task (3.1.9)."""

    tenant: Tenant = None
    task_id: Id
    page_size: PageSizeOrZero = None
    page_token: OptionalText = None


class ListTaskPushNotificationConfigsResponse(ProtoModel):
    """The webhooks of a task; `next_page_token` is absent on the last page."""

    configs: tuple[TaskPushNotificationConfig, ...] = ()
    next_page_token: OptionalText = None


class GetExtendedAgentCardRequest(ProtoModel):
    """Read the card that is for authenticated callers (3.1.11)."""

    tenant: Tenant = None
