"""Running a deployer's agent beside its host: in a thread and event loop of its own.

Updates cross over one by one; an agent that is silent, or blocks its loop, or never listens, holds up
nobody. Knows the agent and nothing of tasks or logs: what an update means is the recorder's business.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from a2a_serverless.agent import (
    Agent,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Rejected,
    Turn,
    Update,
)

WAITING_UPDATES = 100
"""Updates an agent may be ahead of its host before it is held up."""

CHECKPOINT_SHARE = 0.2
"""The share of an invocation's time below which a checkpoint ends it."""

OUTCOMES = (InputRequired, AuthRequired, Completed, Failed, Rejected)


@dataclass(frozen=True)
class Ended:
    """The agent ended the turn, by an outcome or by falling off its end."""

    outcome: Outcome


@dataclass(frozen=True)
class Crashed:
    """The agent raised."""

    error: BaseException


@dataclass(frozen=True)
class Paused:
    """The agent wants to be called again, not before so many seconds."""

    resume_after: float


class _Pause(BaseException):
    """Unwinds the agent at a checkpoint; not an Exception, so that no agent catches it by accident."""

    def __init__(self, resume_after: float) -> None:
        super().__init__(resume_after)
        self.resume_after = resume_after


class TurnHost:
    """The host as an agent sees it through its turn."""

    def __init__(self, remaining: Callable[[], float]) -> None:
        self._remaining = remaining
        self._enough = remaining() * CHECKPOINT_SHARE

    def remaining_seconds(self) -> float:
        return max(0.0, self._remaining())

    async def checkpoint(self, resume_after: float) -> None:
        if resume_after > 0 or self._remaining() < self._enough:
            raise _Pause(max(0.0, resume_after))


class Running:
    """One agent at work on one turn."""

    def __init__(self, agent: Agent, turn: Turn) -> None:
        self._agent = agent
        self._turn = turn
        self._crossing: queue.Queue[Update | Ended | Crashed | Paused] = queue.Queue(WAITING_UPDATES)
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        self._thread.start()

    def next(self, timeout: float) -> Update | Ended | Crashed | Paused | None:
        """What the agent did next, or None when it did nothing for `timeout` seconds."""
        try:
            return self._crossing.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None

    def stop(self, grace: float) -> bool:
        """Cancel the agent and give it `grace` seconds to clean up; returns whether it has ended."""
        self._stopping.set()
        self._drain()
        if self._loop is not None and self._main is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just closed: the agent has ended
                self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(grace)
        return not self._thread.is_alive()

    def _drain(self) -> None:
        while not self._crossing.empty():
            self._crossing.get_nowait()

    def _run(self) -> None:
        try:
            asyncio.run(self._perform())
            last: Ended | Crashed | Paused = self._outcome
        except _Pause as pause:
            last = Paused(pause.resume_after)
        except asyncio.CancelledError as error:
            if self._stopping.is_set():
                return
            last = Crashed(error)  # nobody else cancels it: the agent let a cancellation of its own escape
        except BaseException as error:  # noqa: BLE001  whatever a deployer's code raises is one crashed turn
            last = Crashed(error)
        with contextlib.suppress(asyncio.CancelledError):
            self._hand_over(last)

    async def _perform(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        if self._stopping.is_set():  # by somebody who found no task to cancel yet
            raise asyncio.CancelledError
        self._outcome: Ended = Ended(Completed())
        updates = self._agent(self._turn)
        try:
            async for update in updates:
                if update is None:
                    raise TypeError("an agent yields updates, not None")
                if isinstance(update, OUTCOMES):
                    self._outcome = Ended(update)
                    return
                self._hand_over(update)
        finally:
            if isinstance(updates, AsyncGenerator):
                await updates.aclose()

    def _hand_over(self, update: Update | Ended | Crashed | Paused) -> None:
        """Wait for room: an agent far ahead of its host is held up here, in its own thread."""
        while not self._stopping.is_set():
            try:
                self._crossing.put(update, timeout=1.0)
            except queue.Full:
                continue
            return
        raise asyncio.CancelledError
