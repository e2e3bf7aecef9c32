"""Running a deployer's agent beside its host: in a thread and event loop of its own.

Updates cross over one by one; an agent that is silent, or blocks its loop, or never listens, holds up
nobody. Where the agent asks for what ends its invocation, that is decided there and then, whatever its code
makes of being unwound. Knows the agent and nothing of tasks or logs: what an update means is the recorder's
business.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from a2a_serverless.agent import (
    Agent,
    ArtifactFile,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Permission,
    Rejected,
    Turn,
    Update,
)
from a2a_serverless.operations import loops
from a2a_serverless.operations.filing import Filed
from a2a_serverless.operations.passage import Passage
from a2a_serverless.operations.permissions import Decision, Question

CHECKPOINT_SHARE = 0.2
"""The share of an invocation's time below which a checkpoint ends it."""

OUTCOMES = (InputRequired, AuthRequired, Completed, Failed, Rejected)


@dataclass(frozen=True)
class Ended:
    """The agent ended the turn: by an outcome, by falling off its end, or to ask for a permission."""

    outcome: Outcome
    asks: str | None = None


@dataclass(frozen=True)
class Crashed:
    """The agent raised."""

    error: BaseException


@dataclass(frozen=True)
class Paused:
    """The agent wants to be called again, not before so many seconds."""

    resume_after: float


Crossing = Update | Filed | Decision | Ended | Crashed | Paused
"""What comes over from the agent."""

File = Callable[[ArtifactFile], Awaitable[Filed]]
"""Stores the bytes of a file, in the agent's loop."""

Ask = Callable[[Permission], Decision | Question]
"""What was decided about a permission, or the question to end the turn with."""


async def _never_filed(_: ArtifactFile) -> Filed:
    raise NotImplementedError("this turn has nowhere to store a file")


def _never_asked(_: Permission) -> Decision | Question:
    raise NotImplementedError("this turn has nobody to ask for a permission")


class _UnwoundError(BaseException):
    """Unwinds the agent once its invocation has an end; no Exception, so that none is caught by accident."""


class TurnHost:
    """The host as an agent sees it through its turn; may be asked from any thread, task or loop.

    The first thing asked for that ends the invocation is `ending`; nothing the agent does then changes it.
    """

    def __init__(self, remaining: Callable[[], float], ask: Ask = _never_asked) -> None:
        self._remaining = remaining
        self._ask = ask
        self._last, self._longest = remaining(), 0.0
        self._enough = self._last * CHECKPOINT_SHARE
        self._lock = threading.Lock()
        self._hand_over: Callable[[Crossing], None] = lambda _: None
        self._interrupt: Callable[[], None] = lambda: None
        self.ending: Ended | Paused | None = None

    def serve(self, hand_over: Callable[[Crossing], None], interrupt: Callable[[], None]) -> None:
        """Be the host of an agent: whom its decisions are handed to, and how it is torn from what it does."""
        self._hand_over, self._interrupt = hand_over, interrupt

    def remaining_seconds(self) -> float:
        return max(0.0, self._remaining())

    async def checkpoint(self, resume_after: float) -> None:
        self._go_on()
        if resume_after > 0 or self._is_short():
            self._end(Paused(max(0.0, float(resume_after))))

    async def ask_permission(self, permission: Permission) -> bool:
        self._go_on()
        found = self._ask(permission)
        if isinstance(found, Question):
            self._end(Ended(found.outcome, asks=found.input_id))
        self._hand_over(found)
        await asyncio.wrap_future(found.recorded)
        return found.allowed

    def _is_short(self) -> bool:
        """Whether less is left than a fifth, or than the longest way from one checkpoint to the next took."""
        left = self._remaining()
        self._longest, self._last = max(self._longest, self._last - left), left
        return left < max(self._enough, self._longest)

    def _go_on(self) -> None:
        if self.ending is not None:
            raise _UnwoundError

    def _end(self, ending: Ended | Paused) -> NoReturn:
        with self._lock:
            self.ending = self.ending or ending
        self._interrupt()
        raise _UnwoundError


class Running:
    """One agent at work on one turn."""

    def __init__(self, agent: Agent, turn: Turn, file: File = _never_filed) -> None:
        self._agent = agent
        self._turn = turn
        self._file = file
        self._host = turn.host if isinstance(turn.host, TurnHost) else TurnHost(turn.host.remaining_seconds)
        self._host.serve(self._hand_over, self._interrupt)
        self._crossing: Passage[Crossing] = Passage()
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        self._thread.start()

    def next(self, timeout: float) -> Crossing | None:
        """What the agent did next, or None when it did nothing for `timeout` seconds."""
        try:
            return self._crossing.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None

    def stop(self, grace: float) -> bool:
        """Cancel the agent and give it `grace` seconds to clean up; returns whether it has ended."""
        self._stopping.set()
        self._drain()
        self._cancel()
        self._thread.join(grace)
        return not self._thread.is_alive()

    def _cancel(self) -> None:
        if self._loop is not None and self._main is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just closed: the agent has ended
                self._loop.call_soon_threadsafe(self._main.cancel)

    def _interrupt(self) -> None:
        """Tear the agent from whatever it waits for, unless it is the one who is about to be unwound."""
        if not self._is_main():
            self._cancel()

    def _is_main(self) -> bool:
        if threading.current_thread() is not self._thread:
            return False
        return asyncio.current_task() is self._main

    def _drain(self) -> None:
        while not self._crossing.empty():
            crossed = self._crossing.get_nowait()
            if isinstance(crossed, Decision):
                crossed.recorded.cancel()

    def _run(self) -> None:
        try:
            loops.run(self._perform())
            last: Ended | Crashed | Paused = self._outcome
        except asyncio.CancelledError as error:
            if self._stopping.is_set():
                return
            last = Crashed(error)  # nobody else cancels it: the agent let a cancellation of its own escape
        except BaseException as error:  # noqa: BLE001  whatever a deployer's code raises is one crashed turn
            last = Crashed(error)
        with contextlib.suppress(asyncio.CancelledError):
            self._hand_over(self._host.ending or last)

    async def _perform(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._loop.set_exception_handler(_unless_unwound)
        if self._stopping.is_set():  # by somebody who found no task to cancel yet
            raise asyncio.CancelledError
        self._outcome: Ended = Ended(Completed())
        updates = self._agent(self._turn)
        try:
            async for update in updates:
                if self._host.ending is not None:
                    return  # the agent caught what unwound it, and went on
                if update is None:
                    raise TypeError("an agent yields updates, not None")
                if isinstance(update, OUTCOMES):
                    self._outcome = Ended(update)
                    return
                if isinstance(update, ArtifactFile):
                    self._hand_over(await self._file(update))
                    continue
                self._hand_over(update)
        finally:
            if isinstance(updates, AsyncGenerator):
                await updates.aclose()

    def _hand_over(self, update: Crossing) -> None:
        """Wait for room: an agent far ahead of its host is held up here, in its own thread."""
        while not self._stopping.is_set():
            try:
                self._crossing.put(update, timeout=1.0)
            except queue.Full:
                continue
            return
        raise asyncio.CancelledError


def _unless_unwound(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say what went wrong in tasks that nobody waits for, except that they were unwound."""
    if not isinstance(context.get("exception"), _UnwoundError):
        loop.default_exception_handler(context)
