"""A caller: the official a2a-sdk client over one binding, called like any function.

The official client is asynchronous; each caller has an event loop of its own and may be used from one
thread.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)

from tests.e2e.stack import PATIENCE, LocalStack

T = TypeVar("T")

__all__ = ["Caller", "Part", "Task", "TaskPushNotificationConfig", "TaskState", "texts"]


class Caller:
    """Somebody who talks to a stack; `binding` is a protocol binding of the card.

    Without patience of its own it has the client's: five seconds of silence, and it gives up.
    """

    def __init__(
        self,
        stack: LocalStack,
        binding: str = "JSONRPC",
        token: str | None = None,
        patience: float | None = PATIENCE,
    ) -> None:
        self._url = stack.url
        self._patience = httpx.Timeout(patience) if patience is not None else httpx.AsyncClient().timeout
        self._binding = binding
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        self._client = self._run(self._connected())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._http.aclose())
        self._runner.close()

    def send(
        self,
        *parts: Part | str,
        message_id: str = "",
        task_id: str = "",
        context_id: str = "",
        webhook: TaskPushNotificationConfig | None = None,
    ) -> Task:
        """Send one message, wait until its turn has settled, and return the task."""
        ids = {"task_id": task_id, "context_id": context_id}
        return self._run(self._send(_request(parts, message_id, ids, webhook)))

    def stream(
        self, *parts: Part | str, task_id: str = "", webhook: TaskPushNotificationConfig | None = None
    ) -> Sequence[StreamResponse]:
        """Send one message and return everything that its stream says."""
        request = _request(parts, "", {"task_id": task_id}, webhook)
        return self._run(self._all_of(self._streaming.send_message(request)))

    def subscribe(self, task_id: str) -> Sequence[StreamResponse]:
        """Everything that a subscription to the task says, until it ends."""
        return self._run(self._all_of(self._streaming.subscribe(SubscribeToTaskRequest(id=task_id))))

    def send_at_once(self, times: int, *parts: Part | str, message_id: str = "") -> Sequence[Task]:
        """Send the very same message many times at the same time."""

        async def all_of_them() -> Sequence[Task]:
            request = _request(parts, message_id, {})
            return await asyncio.gather(*(self._send(request) for _ in range(times)))

        return self._run(all_of_them())

    def get(self, task_id: str) -> Task:
        """GetTask."""
        return self._run(self._client.get_task(GetTaskRequest(id=task_id)))

    def cancel(self, task_id: str) -> Task:
        """CancelTask."""
        return self._run(self._client.cancel_task(CancelTaskRequest(id=task_id)))

    def list(self, **fields: Any) -> ListTasksResponse:
        """ListTasks."""
        return self._run(self._client.list_tasks(ListTasksRequest(**fields)))

    def watch(self, webhook: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
        """CreateTaskPushNotificationConfig."""
        return self._run(self._client.create_task_push_notification_config(webhook))

    def webhook(self, task_id: str, name: str) -> TaskPushNotificationConfig:
        """GetTaskPushNotificationConfig."""
        request = GetTaskPushNotificationConfigRequest(task_id=task_id, id=name)
        return self._run(self._client.get_task_push_notification_config(request))

    def webhooks(self, task_id: str, **fields: Any) -> Sequence[TaskPushNotificationConfig]:
        """ListTaskPushNotificationConfigs."""
        request = ListTaskPushNotificationConfigsRequest(task_id=task_id, **fields)
        answer = self._run(self._client.list_task_push_notification_configs(request))
        return list(answer.configs)

    def unwatch(self, task_id: str, name: str) -> None:
        """DeleteTaskPushNotificationConfig."""
        request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=name)
        self._run(self._client.delete_task_push_notification_config(request))

    async def _connected(self) -> Client:
        self._http = httpx.AsyncClient(timeout=self._patience, headers=self._headers)
        self.card: AgentCard = await A2ACardResolver(self._http, self._url).get_agent_card()
        self._streaming = self._client_for(streaming=True)
        return self._client_for(streaming=False)

    def _client_for(self, *, streaming: bool) -> Client:
        config = ClientConfig(
            httpx_client=self._http,
            supported_protocol_bindings=[self._binding],
            use_client_preference=True,
            streaming=streaming,
        )
        return ClientFactory(config).create(self.card)

    @staticmethod
    async def _all_of(answers: AsyncIterator[StreamResponse]) -> Sequence[StreamResponse]:
        return [answer async for answer in answers]

    async def _send(self, request: SendMessageRequest) -> Task:
        (answer,) = [answer async for answer in self._client.send_message(request)]
        return answer.task

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)


def _request(
    parts: Sequence[Part | str],
    message_id: str,
    ids: Mapping[str, str],
    webhook: TaskPushNotificationConfig | None = None,
) -> SendMessageRequest:
    message = Message(
        message_id=message_id or str(uuid4()),
        role=Role.ROLE_USER,
        parts=[part if isinstance(part, Part) else Part(text=part) for part in parts],
        **ids,
    )
    configuration = SendMessageConfiguration(task_push_notification_config=webhook)
    return SendMessageRequest(message=message, configuration=configuration)


def texts(message: Message) -> list[str]:
    """The texts of a message's parts."""
    return [part.text for part in message.parts]
