"""Another agent as part of a turn: what it does is told as the turn's own progress, what it asks is asked on.

    fulfilment = RemoteAgent(url="https://fulfilment.example", name="fulfilment")

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        async with aclosing(fulfilment.delegate(turn)) as updates:
            async for update in updates:
                yield update

The conversation is kept in `turn.state`, so it lasts as long as the caller's own. A turn that waits for the
other agent longer than a little while ends its invocation and looks again later, which costs nothing
meanwhile. A turn that is cancelled cancels the other agent's task, where it is running at that moment:
nobody is there to do it for one that sleeps.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field

from a2a_serverless.agent import (
    Completed,
    Failed,
    Outcome,
    Turn,
    Update,
)
from a2a_serverless.client.agent_client import Client
from a2a_serverless.client.connecting import connect
from a2a_serverless.client.delegation import Delegation
from a2a_serverless.client.discovery import MemoryCardCache, Trust
from a2a_serverless.client.failures import (
    ClientError,
    StreamCutError,
    TimedOutError,
    UnavailableError,
    UnreachableError,
)
from a2a_serverless.client.mirroring import mirrored
from a2a_serverless.client.options import Options
from a2a_serverless.client.retold import outcome_of, retold
from a2a_serverless.client.streams import Stream
from a2a_serverless.protocol.errors import A2AError, RateLimitedError, UnauthenticatedError
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration

PASSING = (UnreachableError, TimedOutError, UnavailableError, StreamCutError, RateLimitedError)
"""What may be over when somebody looks again."""

SLICE = 2.0
"""Seconds after which a silent turn asks its host whether it may go on."""

CANCELING = 1.5
"""Seconds to cancel the other agent's task in: a cancelled turn is given two."""

Said = str | Message | Sequence[Part]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking: how it ended, and what the agent made, as one text."""

    outcome: Outcome
    text: str
    task: Task | None = None


@dataclass(kw_only=True)
class RemoteAgent:
    """Another agent, for the turns of this one. Holds nothing of any turn, so one serves all of them.

    Attributes:
        url: its address, or a function that gives it: asked for in each turn, not when a module is loaded.
        name: what it is called in the conversation's state and in what callers read.
        options, trust: how it is called, and who may have signed its card.
        skill: a skill of its card to address, told as `metadata.skill`.
        patience: seconds of silence after which the turn sleeps instead of listening on.
        pauses: seconds it then sleeps, one after the other, the last again and again. A deployment knows
        three lengths: up to 10 s is a second, up to 120 s half a minute, and more is five minutes.
        failures: how often in a row it may be out of reach before the turn gives up.
    """

    url: str | Callable[[], str]
    name: str
    options: Options | Callable[[], Options] = field(default_factory=Options)
    trust: Trust | None = None
    skill: str | None = None
    patience: float = 20.0
    pauses: Sequence[float] = (30.0, 30.0, 30.0, 30.0, 300.0)
    failures: int = 6
    _cards: MemoryCardCache = field(default_factory=MemoryCardCache)

    def __call__(self, turn: Turn) -> AsyncIterator[Update]:
        """The agent as one of its own: everything is delegated."""
        return self.delegate(turn)

    async def delegate(
        self, turn: Turn, said: Said | None = None, *, step: str = ""
    ) -> AsyncGenerator[Update]:
        """Say something to it, by default the turn's own message, and tell on what it does.

        Where it had asked something earlier in this conversation, this is the answer. The last update is how
        it ended: InputRequired or AuthRequired with its question, Completed, Rejected or Failed, also
        where it could not be reached. Yielded on, that ends the turn; whoever wants to do more with what came
        of it keeps it to themselves. Name a `step` for each message that one turn sends.
        """
        delegation = Delegation(turn, self.name, step)
        outcome = delegation.outcome()
        if outcome is not None:
            yield outcome
            return
        message = self._message(delegation, turn.message.parts if said is None else said)
        try:
            async with aclosing(self._persistently(delegation, message)) as updates:
                async for update in updates:
                    yield update
        except (asyncio.CancelledError, GeneratorExit):
            await self._cancel(delegation)
            raise

    async def ask(self, turn: Turn, said: Said, *, step: str = "") -> Reply:
        """The same as one value, for tools: what it does on the way is not told."""
        outcome: Outcome = Completed()
        async with aclosing(self.delegate(turn, said, step=step)) as updates:
            async for update in updates:
                if isinstance(update, Outcome):
                    outcome = update
        task = await self.task(turn) if isinstance(outcome, Completed) else None
        made = [part.text for artifact in (task.artifacts if task else ()) for part in artifact.parts]
        texts = [text for text in (outcome.text, *made) if text]
        return Reply(outcome, "\n\n".join(texts), task)

    def awaits_answer(self, turn: Turn) -> bool:
        """Whether it has asked something in this conversation, which the next message to it answers."""
        return bool(Delegation(turn, self.name, "").kept.get("waits"))

    async def task(self, turn: Turn) -> Task | None:
        """Its last task in this conversation, as it stands now; None if there was none."""
        kept = Delegation(turn, self.name, "").kept
        task_id = kept.get("taskId") or kept.get("lastTaskId")
        if task_id is None:
            return None
        async with self._connected() as client:
            return await client.get_task(task_id)

    def _connected(self) -> AbstractAsyncContextManager[Client]:
        url = self.url if isinstance(self.url, str) else self.url()
        options = self.options if isinstance(self.options, Options) else self.options()
        return connect(url, options=options, trust=self.trust, cache=self._cards)

    def _message(self, delegation: Delegation, said: Said) -> Message:
        if isinstance(said, Message):
            said = said.parts
        parts = (Part(text=said),) if isinstance(said, str) else tuple(said)
        message_id = delegation.begin()
        kept = delegation.kept
        return Message(
            message_id=message_id,
            role=Role.USER,
            parts=parts,
            context_id=kept.get("contextId"),
            task_id=kept.get("taskId") if kept.get("waits") else None,
        )

    async def _persistently(self, delegation: Delegation, message: Message) -> AsyncGenerator[Update]:
        """What it does, across silences and failures, to how it ended."""
        while True:
            outcome: Outcome | None = None
            try:
                async with aclosing(self._followed(delegation, message)) as updates:
                    async for update in updates:
                        if isinstance(update, Outcome):
                            outcome = update
                            break
                        delegation.woken()
                        yield update
            except PASSING as error:
                if delegation.failed() >= self.failures:
                    yield self._given_up(delegation, error)
                    return
            except UnauthenticatedError:
                delegation.forget()
                yield Failed(f"{self.name} does not let this agent in.")
                return
            except (A2AError, ClientError) as error:
                yield self._given_up(delegation, error)
                return
            if outcome is not None:
                # Every connection is closed by now: whoever ends with this may leave it at that.
                yield outcome
                return
            pause = self.pauses[min(delegation.sleep(), len(self.pauses) - 1)]
            await delegation.turn.checkpoint(resume_after=pause)

    def _given_up(self, delegation: Delegation, error: Exception) -> Failed:
        delegation.forget()
        if isinstance(error, A2AError):
            return Failed(f"{self.name} refuses: {error.message}")
        return Failed(f"{self.name} cannot be reached: {error}")

    async def _followed(self, delegation: Delegation, message: Message) -> AsyncGenerator[Update]:
        """What one connection tells; ends after the outcome, or when nothing was heard for a while."""
        async with self._connected() as client:
            if delegation.awaits_authorisation:
                task = await client.get_task(delegation.kept["taskId"])
                if task.status.state is not TaskState.AUTH_REQUIRED:
                    delegation.place(context_id=task.context_id, task=task, last_event_id=None)
                    for update in retold(StreamResponse(task=task)):
                        async for each in mirrored(client, update):
                            yield each
                    outcome = outcome_of(StreamResponse(task=task))
                    if outcome is not None:
                        delegation.settle(outcome)
                        yield outcome
            if "open" not in delegation.kept:
                return
            async with (
                self._stream(client, delegation, message) as stream,
                aclosing(self._listened(delegation, client, stream)) as updates,
            ):
                async for update in updates:
                    yield update

    async def _listened(
        self, delegation: Delegation, client: Client, stream: Stream
    ) -> AsyncGenerator[Update]:
        place = delegation.kept["open"].get("lastEventId")
        followed, first = delegation.is_followed, True
        try:
            async with aclosing(self._heard(delegation, stream)) as events:
                async for event in events:
                    delegation.got_through()
                    again = first and followed and stream.last_event_id == place
                    first = False
                    for update in retold(event, again=again):
                        async for each in mirrored(client, update):
                            yield each
                    outcome = outcome_of(event) if stream.settled else None
                    if outcome is not None:
                        self._note(delegation, stream)
                        delegation.settle(outcome)
                        yield outcome
                        return
        finally:
            self._note(delegation, stream)

    def _note(self, delegation: Delegation, stream: Stream) -> None:
        """Note the place: whatever becomes of this invocation, the next one goes on there."""
        task = stream.task
        if stream.told_all:
            delegation.place(
                context_id=task.context_id if task else None, task=task, last_event_id=stream.last_event_id
            )

    def _stream(self, client: Client, delegation: Delegation, message: Message) -> Stream:
        opened = delegation.kept["open"]
        if delegation.is_followed:
            known = opened.get("known")
            return client.subscribe_to_task(
                delegation.kept["taskId"],
                last_event_id=opened.get("lastEventId"),
                known=Task.from_dict(known) if known else None,
            )
        metadata = {"skill": self.skill} if self.skill else None
        modes = delegation.turn.accepted_output_modes
        configuration = SendMessageConfiguration(accepted_output_modes=tuple(modes)) if modes else None
        return client.send_streaming_message(message, metadata=metadata, configuration=configuration)

    async def _heard(self, delegation: Delegation, stream: Stream) -> AsyncGenerator[StreamResponse]:
        """The events of a stream; the host may end the invocation between two of them, and in a silence."""
        loop = asyncio.get_running_loop()
        events = aiter(stream)
        heard_at = loop.time()
        pending: asyncio.Future[StreamResponse] | None = None
        try:
            while loop.time() - heard_at < self.patience:
                pending = pending or asyncio.ensure_future(anext(events))
                await asyncio.wait({pending}, timeout=min(SLICE, self.patience))
                if pending.done():
                    try:
                        event = pending.result()
                    except StopAsyncIteration:
                        return
                    finally:
                        pending = None
                    yield event
                    heard_at = loop.time()
                if stream.told_all:
                    await delegation.turn.checkpoint()
        finally:
            if pending is not None:
                pending.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, A2AError, ClientError):
                    await pending

    async def _cancel(self, delegation: Delegation) -> None:
        """Cancel its task if one is under way, in the little time there is; nobody sees how that ends."""
        kept = delegation.kept
        task_id = kept.get("taskId") if delegation.is_followed else None
        if task_id is None:
            return
        delegation.forget()
        with suppress(A2AError, ClientError, TimeoutError):
            async with asyncio.timeout(CANCELING), self._connected() as client:
                await client.cancel_task(task_id)
