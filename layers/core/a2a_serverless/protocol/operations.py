"""The eleven operations, as in the table of the specification (5.3, 9.4, 11.3).

The one place where a method, its route and its types meet; both bindings dispatch from it. Knows no handler.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.requests import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SendMessageResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)

Capability = Literal["streaming", "push_notifications", "extended_agent_card"]

TASK = "/tasks/{id}"
CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"
CONFIG = "/tasks/{taskId}/pushNotificationConfigs/{id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row: `path` is relative to the interface's URL and may be prefixed by `/{tenant}`.

    Names in braces are JSON names of the request's fields. `capability` is the member of AgentCapabilities
    without which the operation is refused. `response` is each frame of a stream, None where the proto has
    Empty.
    """

    method: str
    verbs: tuple[str, ...]
    path: str
    request: type[ProtoModel]
    response: type[ProtoModel] | None
    streams: bool = False
    capability: Capability | None = None


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        method="SendMessage",
        verbs=("POST",),
        path="/message:send",
        request=SendMessageRequest,
        response=SendMessageResponse,
    ),
    Operation(
        method="SendStreamingMessage",
        verbs=("POST",),
        path="/message:stream",
        request=SendMessageRequest,
        response=StreamResponse,
        streams=True,
        capability="streaming",
    ),
    Operation(method="GetTask", verbs=("GET",), path=TASK, request=GetTaskRequest, response=Task),
    Operation(
        method="ListTasks",
        verbs=("GET",),
        path="/tasks",
        request=ListTasksRequest,
        response=ListTasksResponse,
    ),
    Operation(
        method="CancelTask", verbs=("POST",), path=TASK + ":cancel", request=CancelTaskRequest, response=Task
    ),
    Operation(
        method="SubscribeToTask",
        verbs=("POST", "GET"),  # the specification's text says POST, the proto GET
        path=TASK + ":subscribe",
        request=SubscribeToTaskRequest,
        response=StreamResponse,
        streams=True,
        capability="streaming",
    ),
    Operation(
        method="CreateTaskPushNotificationConfig",
        verbs=("POST",),
        path=CONFIGS,
        request=TaskPushNotificationConfig,
        response=TaskPushNotificationConfig,
        capability="push_notifications",
    ),
    Operation(
        method="GetTaskPushNotificationConfig",
        verbs=("GET",),
        path=CONFIG,
        request=GetTaskPushNotificationConfigRequest,
        response=TaskPushNotificationConfig,
        capability="push_notifications",
    ),
    Operation(
        method="ListTaskPushNotificationConfigs",
        verbs=("GET",),
        path=CONFIGS,
        request=ListTaskPushNotificationConfigsRequest,
        response=ListTaskPushNotificationConfigsResponse,
        capability="push_notifications",
    ),
    Operation(
        method="DeleteTaskPushNotificationConfig",
        verbs=("DELETE",),
        path=CONFIG,
        request=DeleteTaskPushNotificationConfigRequest,
        response=None,
        capability="push_notifications",
    ),
    Operation(
        method="GetExtendedAgentCard",
        verbs=("GET",),
        path="/extendedAgentCard",
        request=GetExtendedAgentCardRequest,
        response=AgentCard,
        capability="extended_agent_card",
    ),
)

OPERATION_OF_METHOD: Mapping[str, Operation] = {operation.method: operation for operation in OPERATIONS}
