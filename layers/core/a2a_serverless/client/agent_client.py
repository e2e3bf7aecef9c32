"""The client: one agent's operations as methods, over whichever binding its card offers first.

The methods are the specification's operations in snake_case (3.1); what they take and give are its objects.
Errors of the protocol are raised as the classes of `protocol.errors`, everything else as `failures`.
"""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from a2a_serverless.client.answers import present, read
from a2a_serverless.client.connection import Connection, http_client
from a2a_serverless.client.files import FILES, Downloaded, Outgoing, download, upload
from a2a_serverless.client.interfaces import Chosen, choose, trusted_origins
from a2a_serverless.client.options import Options
from a2a_serverless.client.streams import Stream
from a2a_serverless.client.wire import HttpJson, binding_for
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import UnsupportedOperationError
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.requests import (
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    SendMessageConfiguration,
    SendMessageResponse,
    TaskPushNotificationConfig,
)
from a2a_serverless.protocol.scalars import OptionalText, print_timestamp

T = TypeVar("T", bound=ProtoModel)


class ReceivedConfig(TaskPushNotificationConfig):
    """A webhook as some agent gives it, whose ids need not be like ours."""

    tenant: OptionalText = None
    id: OptionalText = None
    task_id: OptionalText = None


class ReceivedConfigs(ListTaskPushNotificationConfigsResponse):
    """As above, a page of them."""

    configs: tuple[ReceivedConfig, ...] = ()


class Client:
    """One agent. Made by `connect`, or from a card: then whoever makes it closes it, or uses `async with`.

    `asked_from` is the address the card came from: the origin that credentials may be shown to, beside
    those the options name; `origins` are all of them. Raises NoUsableInterfaceError,
    and UnreachableError where the environment names a proxy or certificates that cannot be used.
    """

    def __init__(
        self, card: AgentCard, options: Options | None = None, *, asked_from: str | None = None
    ) -> None:
        self.card = card
        self.options = options or Options()
        self._asked_from = asked_from
        self.origins = trusted_origins(self.options, asked_from)
        self.chosen: Chosen = choose(card, self.options, asked_from)
        interface = self.chosen.interface
        self._binding = binding_for(interface.protocol_binding, interface.url, interface.tenant)
        self._connection = Connection(http_client(self.options), self.options, self.options.auth)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.http.aclose()

    async def send_message(
        self,
        message: Message | str,
        *,
        configuration: SendMessageConfiguration | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> SendMessageResponse:
        """Say something; the answer is a message, or a task that has ended or waits for the caller.

        A text becomes a message with an id of its own (3.1.1).
        """
        params = sending(message, configuration, metadata)
        return await self._call("SendMessage", params, SendMessageResponse)

    def send_streaming_message(
        self,
        message: Message | str,
        *,
        configuration: SendMessageConfiguration | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Stream:
        """Say something and follow what comes of it, until the task ends or waits for the caller (3.1.2).

        Where the card announces no streaming the task is looked at every `Options.poll_seconds` instead.
        """
        return self._stream("SendStreamingMessage", sending(message, configuration, metadata))

    def subscribe_to_task(
        self, task_id: str, *, last_event_id: str | None = None, known: Task | None = None
    ) -> Stream:
        """Follow a task that has not ended: the task as it stands, then what happens to it (3.1.6).

        `last_event_id` is that of an earlier stream, of a server that gives ids: the first thing told is the
        task as it stood then. `known` is the task as an earlier stream told it: only what is new is told.
        """
        return self._stream("SubscribeToTask", {"id": task_id}, last_event_id, known)

    async def get_task(self, task_id: str, *, history_length: int | None = None) -> Task:
        """A task as it stands (3.1.3)."""
        return await self._call("GetTask", present(id=task_id, historyLength=history_length), Task)

    async def list_tasks(
        self,
        *,
        context_id: str | None = None,
        status: TaskState | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
        history_length: int | None = None,
        status_timestamp_after: datetime | None = None,
        include_artifacts: bool | None = None,
    ) -> ListTasksResponse:
        """One page of the caller's tasks, newest first; `next_page_token` is empty on the last (3.1.4)."""
        params = present(
            contextId=context_id,
            status=status,
            pageSize=page_size,
            pageToken=page_token,
            historyLength=history_length,
            statusTimestampAfter=print_timestamp(status_timestamp_after) if status_timestamp_after else None,
            includeArtifacts=include_artifacts,
        )
        return await self._call("ListTasks", params, ListTasksResponse)

    async def cancel_task(self, task_id: str, *, metadata: Mapping[str, Any] | None = None) -> Task:
        """Cancel a task; gives the task as it stands then (3.1.5)."""
        return await self._call("CancelTask", present(id=task_id, metadata=metadata), Task)

    async def create_task_push_notification_config(
        self, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        """Have a task's events posted to a webhook; `config.task_id` says which task's (3.1.7)."""
        params = config.to_dict()
        return await self._call("CreateTaskPushNotificationConfig", params, ReceivedConfig)

    async def get_task_push_notification_config(
        self, task_id: str, config_id: str
    ) -> TaskPushNotificationConfig:
        """One webhook of a task (3.1.8)."""
        params = present(taskId=task_id, id=config_id)
        return await self._call("GetTaskPushNotificationConfig", params, ReceivedConfig)

    async def list_task_push_notification_configs(
        self, task_id: str, *, page_size: int | None = None, page_token: str | None = None
    ) -> ListTaskPushNotificationConfigsResponse:
        """One page of the webhooks of a task; `next_page_token` is None on the last (3.1.9)."""
        params = present(taskId=task_id, pageSize=page_size, pageToken=page_token)
        return await self._call("ListTaskPushNotificationConfigs", params, ReceivedConfigs)

    async def delete_task_push_notification_config(self, task_id: str, config_id: str) -> None:
        """Take a webhook away; quiet when it is gone already (3.1.10)."""
        await self._asked("DeleteTaskPushNotificationConfig", present(taskId=task_id, id=config_id))

    async def get_extended_agent_card(self) -> AgentCard:
        """The card that the agent shows to this caller; from now on it is `card` (3.1.11)."""
        self.card = await self._call("GetExtendedAgentCard", {}, AgentCard)
        return self.card

    async def download(self, part: Part, path: Path | str, *, most: int | None = None) -> Downloaded:
        """Write what a part holds to a file, or what lies at its address; of any size, up to `most` bytes.

        What breaks off is gone on with. Credentials are shown to the agent's own origin, and to those that
        `Options.credential_origins` names, not to where a link leads. The file is there when it is whole.
        """
        return await download(self._connection, part, Path(path), self.origins, most)

    async def upload(
        self, context_id: str, path: Path | str, *, name: str | None = None, media_type: str | None = None
    ) -> Part:
        """Put a file among those of a conversation; gives the part that names it in a message.

        An extension (`files.FILES`) of this repository's deployments. `context_id` is the conversation's;
        for one that does not exist yet make one up, and put it into the message too.

        Raises:
            UnsupportedOperationError: the card does not announce it. NoUsableInterfaceError: no interface of
            the agent is HTTP+JSON, which it goes over.
        """
        if not any(extension.uri == FILES for extension in self.card.capabilities.extensions):
            raise UnsupportedOperationError("The agent's card does not announce that it takes files")
        over = replace(self.options, bindings=("HTTP+JSON",))
        interface = choose(self.card, over, self._asked_from).interface
        outgoing = await asyncio.to_thread(Outgoing.of, Path(path), name, media_type)
        return await upload(self._connection, HttpJson(interface.url, interface.tenant), context_id, outgoing)

    def _stream(
        self,
        method: str,
        params: dict[str, Any],
        last_event_id: str | None = None,
        known: Task | None = None,
    ) -> Stream:
        return Stream(
            self._connection,
            self._binding,
            method,
            params,
            streaming=bool(self.card.capabilities.streaming),
            last_event_id=last_event_id,
            known=known,
        )

    async def _call(self, method: str, params: dict[str, Any], kind: type[T]) -> T:
        return read(kind, await self._asked(method, params))

    async def _asked(self, method: str, params: dict[str, Any]) -> object:
        return await self._connection.call(self._binding, OPERATION_OF_METHOD[method], params)


def text_message(
    text: str, *, task_id: str | None = None, context_id: str | None = None, message_id: str | None = None
) -> Message:
    """A message of one text, under a new id unless one is given; with a task's id it answers that task."""
    return Message(
        message_id=message_id or str(uuid.uuid4()),
        role=Role.USER,
        parts=(Part(text=text),),
        task_id=task_id,
        context_id=context_id,
    )


def sending(
    message: Message | str,
    configuration: SendMessageConfiguration | None,
    metadata: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The request of both operations that send a message, as ProtoJSON."""
    message = text_message(message) if isinstance(message, str) else message
    return present(
        message=message.to_dict(),
        configuration=configuration.to_dict() if configuration is not None else None,
        metadata=metadata,
    )
