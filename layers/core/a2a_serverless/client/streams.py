"""A task followed to where it ends or waits, whatever happens to the connection on the way.

A stream that breaks is taken up again: with `Last-Event-ID` where its server gives ids, otherwise by
subscribing or looking again and telling what was missed. So what was told is told once, and nothing is
lost. A stream has ended when its task has, or waits for the caller, or when all there was is a message; one
that stops before that was cut. Agents that do not stream are looked at every so often, with the same result.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from a2a_serverless.client.answers import read
from a2a_serverless.client.connection import Connection, media_type, pause_before, repeatable, understood
from a2a_serverless.client.event_streams import Event, EventReader, EventTooLargeError
from a2a_serverless.client.failures import (
    StreamCutError,
    TimedOutError,
    UnavailableError,
    UnexpectedAnswerError,
    UnknownError,
    UnreachableError,
)
from a2a_serverless.client.telling import Telling
from a2a_serverless.client.view import TaskView
from a2a_serverless.client.wire import EVENT_STREAM, Asked, Binding
from a2a_serverless.protocol.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    RateLimitedError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD, Operation
from a2a_serverless.protocol.requests import SendMessageResponse

LASTING = 30.0
"""Seconds after which a connection that broke counts as one that had worked, whatever it told."""

LOOKS = 10
"""Looks after which a question that is still asked is taken for a new one."""

HEARTBEATS = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})
"""Kinds of events that say nothing but that a stream lives, as a comment does."""

PASSING = (UnreachableError, TimedOutError, UnavailableError, RateLimitedError, InternalError, UnknownError)
"""What a stream may break with while its task goes on."""


class Stream:
    """What happens to a task, as an asynchronous iterator of `StreamResponse`; iterate once, in `async with`.

    Attributes:
        interruptions: how often the stream was taken up again.
    """

    def __init__(
        self,
        connection: Connection,
        binding: Binding,
        method: str,
        params: dict[str, Any],
        *,
        streaming: bool,
        last_event_id: str | None = None,
        known: Task | None = None,
    ) -> None:
        self.interruptions = 0
        self._connection = connection
        self._binding = binding
        self._opening = OPERATION_OF_METHOD[method]
        self._params = params
        self._streaming = streaming
        self._wants: float | None = None
        message = params.get("message", {})
        view = TaskView(message.get("messageId"), params.get("id") if not message else None)
        if known is not None:
            view.apply(StreamResponse(task=known))
        self._telling = Telling(
            view=view,
            sends=bool(message),
            follows_up=bool(message.get("taskId")),
            place=last_event_id,
            begun=known is not None,
        )
        self._events = self._until_over()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Hang up; the task goes on."""
        await self._events.aclose()

    def __aiter__(self) -> AsyncIterator[StreamResponse]:
        return self._events

    @property
    def task(self) -> Task | None:
        """The task as told so far, its artifacts put together; None if there is none (yet)."""
        return self._telling.view.task

    @property
    def task_id(self) -> str | None:
        """The id of the task, as soon as it is known."""
        return self._telling.view.task_id

    @property
    def state(self) -> TaskState | None:
        """The state that was told last."""
        return self._telling.view.state

    @property
    def last_event_id(self) -> str | None:
        """The place in the stream, where its server gives ids; `subscribe_to_task` goes on from it."""
        return self._telling.place

    @property
    def told_all(self) -> bool:
        """Whether nothing has arrived that is still to be told: `last_event_id` and `task` are the place."""
        return self._telling.told_all

    @property
    def settled(self) -> bool:
        """Whether the task has ended, or waits for the caller; or there was a message and no task."""
        return self._telling.may_stop

    async def _until_over(self) -> AsyncGenerator[StreamResponse]:
        clock = asyncio.get_running_loop().time
        attempt = 1
        while True:
            opened = clock()
            reason: Exception
            try:
                async with aclosing(self._connected()) as responses:
                    async for response in responses:
                        attempt = 1
                        yield response
                if self._telling.may_stop:
                    async with aclosing(self._made_sure()) as responses:
                        async for response in responses:
                            yield response
                    return
                reason = UnreachableError("the stream stopped before its task did", request_sent=True)
            except PASSING as error:
                if not self._telling.begun and not self._may_open_again(error):
                    raise
                if self._telling.over:
                    return
                reason = error
            except UnexpectedAnswerError as error:
                if not self._telling.begun or (error.http_status or 0) < HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                reason = error
            attempt = 1 if clock() - opened > LASTING else attempt
            await self._pause(attempt, reason)
            attempt += 1
            self.interruptions += 1

    async def _made_sure(self) -> AsyncGenerator[StreamResponse]:
        """What a look at the task tells, at the end of a stream whose repetitions had to be guessed."""
        if not self._telling.guessed:
            return
        self._telling.guessed = False
        with suppress(*PASSING):
            for response in self._telling.one_by_one(self._telling.caught_up(await self._look()), None):
                yield response

    def _may_open_again(self, error: Exception) -> bool:
        match error:
            case UnreachableError(request_sent=sent):
                resend = self._connection.options.retries.resend
                return not sent or repeatable(self._opening, self._params, resend=resend)
            case TimedOutError(phase=phase):
                return phase == "connect"
        return isinstance(error, UnavailableError | RateLimitedError)

    async def _pause(self, attempt: int, reason: Exception) -> None:
        """Wait before the next attempt. Raises StreamCutError where there is to be none."""
        retries = self._connection.options.retries
        asked = getattr(reason, "retry_after", None) or self._wants or 0.0
        if attempt >= retries.attempts or asked > retries.longest_wait:
            if not self._telling.begun:
                raise reason
            text = f"the stream was cut and could not be taken up again: {reason}"
            raise StreamCutError(text, task_id=self.task_id, last_event_id=self.last_event_id) from reason
        await asyncio.sleep(max(asked, pause_before(attempt + 1, retries.first_pause, retries.longest_pause)))

    async def _connected(self) -> AsyncGenerator[StreamResponse]:
        """What one connection tells that was not told before."""
        if not self._streaming:
            responses = self._looked_at()
        elif not self._telling.begun:
            responses = self._streamed(self._opening, self._params, self.last_event_id)
        else:
            responses = self._taken_up()
        async with aclosing(responses):
            async for response in responses:
                yield response

    async def _taken_up(self) -> AsyncGenerator[StreamResponse]:
        subscribe = OPERATION_OF_METHOD["SubscribeToTask"]
        try:
            params = {"id": self.task_id}
            async with aclosing(self._streamed(subscribe, params, self.last_event_id)) as responses:
                async for response in responses:
                    yield response
        except InvalidParamsError:
            if self.last_event_id is None:
                raise
            self._telling.place = None  # the server does not know its own id any more
        except (UnsupportedOperationError, MethodNotFoundError):
            for response in self._telling.one_by_one(
                self._telling.caught_up(await self._look()), self.last_event_id
            ):
                yield response
            self._streaming = self._telling.over

    async def _streamed(
        self, operation: Operation, params: Mapping[str, Any], last_event_id: str | None
    ) -> AsyncGenerator[StreamResponse]:
        asked = self._binding.ask(operation, params)
        while True:
            try:
                async with aclosing(self._told(asked, last_event_id)) as responses:
                    async for response in responses:
                        yield response
                    return
            except ContentTypeNotSupportedError:
                if not self._connection.plainer(asked):
                    raise

    async def _told(self, asked: Asked, last_event_id: str | None) -> AsyncGenerator[StreamResponse]:
        connection, binding = self._connection, self._binding
        async with connection.open(asked, last_event_id) as response:
            if response.status_code != HTTPStatus.OK or media_type(response) != EVENT_STREAM:
                answered = await connection.whole(response, connection.options.limits.answer)
                understood(binding, asked, answered)
                raise UnexpectedAnswerError(
                    f"the answer is no stream but {answered.media_type or 'of no kind'}",
                    http_status=answered.status,
                    excerpt=answered.excerpt,
                )
            first = True
            async for event in self._read(connection.pieces(response)):
                told = read(StreamResponse, binding.frame(asked, event.data))
                new = self._telling.new(told, event.id, first=first)
                for each in self._telling.one_by_one(new, event.id or self.last_event_id):
                    yield each
                if self._telling.over:
                    return
                first = False

    async def _read(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[Event]:
        reader = EventReader(self._connection.options.limits.event)
        try:
            async for piece in pieces:
                for event in reader.feed(piece):
                    self._wants = reader.retry
                    if event.kind not in HEARTBEATS and event.data.strip():
                        yield event
        except EventTooLargeError:
            raise UnexpectedAnswerError("an event is longer than what is read") from None

    async def _look(self) -> Task:
        answer = await self._connection.call(
            self._binding, OPERATION_OF_METHOD["GetTask"], {"id": self.task_id}
        )
        return read(Task, answer)

    async def _looked_at(self) -> AsyncGenerator[StreamResponse]:
        """The same without a stream: the message sent, then a look at the task every so often."""
        if not self._telling.begun:
            yield self._telling.take(await self._first_look())
        looks = 0
        while not (self._telling.may_stop if self._telling.sends else self._telling.over):
            await asyncio.sleep(self._connection.options.poll_seconds)
            looks += 1
            self._telling.stale = self._telling.stale and looks < LOOKS
            for response in self._telling.one_by_one(self._telling.caught_up(await self._look()), None):
                yield response

    async def _first_look(self) -> StreamResponse:
        if not self._telling.sends:
            return StreamResponse(task=await self._look())
        configuration = {**self._params.get("configuration", {}), "returnImmediately": True}
        answer = await self._connection.call(
            self._binding,
            OPERATION_OF_METHOD["SendMessage"],
            {**self._params, "configuration": configuration},
        )
        answered = read(SendMessageResponse, answer)
        return StreamResponse(task=answered.task, message=answered.message)
