"""Callers of bridged agents: what their turns yield, in the words that tests compare."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from a2a_serverless.agent import (
    Agent,
    ArtifactChunk,
    Message,
    Part,
    Permission,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
)
from a2a_serverless.agent.rehearsal import Rehearsal
from a2a_serverless.protocol.objects import Role

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c6360000000020001e5"
    "27d4a20000000049454e44ae426082"
)
"""A picture of one pixel."""


class Host:
    """A host that decides about permissions at once, or never."""

    def __init__(self, *, allows: bool | None = None) -> None:
        self.allows = allows
        self.asked: list[Permission] = []

    def remaining_seconds(self) -> float:
        return 900.0

    async def checkpoint(self, resume_after: float) -> None:
        raise NotImplementedError

    async def ask_permission(self, permission: Permission) -> bool:
        self.asked.append(permission)
        if self.allows is None:
            raise NotImplementedError
        return self.allows


def turn(
    *parts: Part | str, state: dict[str, Any] | None = None, context_id: str = "c", **others: Any
) -> Turn:
    """A turn of its own, for tests that look at its updates one by one."""
    said = tuple(Part(text=part) if isinstance(part, str) else part for part in parts)
    message = Message(message_id="m", role=Role.USER, parts=said, context_id=context_id)
    given: dict[str, Any] = {"task_id": "t", "host": Host(), **others}
    return Turn(message=message, context_id=context_id, state={} if state is None else state, **given)


async def heard_from(agent: Agent, given: Turn) -> list[Update]:
    return [update async for update in agent(given)]


def updates_of(agent: Agent, given: Turn) -> list[Update]:
    return asyncio.run(heard_from(agent, given))


def text_of(rehearsal: Rehearsal) -> str:
    """What the agent has answered, as one text."""
    parts = rehearsal.artifacts["response"].parts if "response" in rehearsal.artifacts else ()
    return "".join(part.text or "" for part in parts)


def chunks_of(updates: Sequence[Update]) -> list[str]:
    return [update.text or "" for update in updates if isinstance(update, ArtifactChunk)]


def tools_of(updates: Sequence[Update]) -> list[tuple[Any, ...]]:
    """What was told of tools, in order."""
    told: list[tuple[Any, ...]] = []
    for update in updates:
        if isinstance(update, ToolCall):
            told.append(("call", update.name, update.input))
        elif isinstance(update, ToolResult):
            told.append(("result", update.name, update.error if update.error is not None else update.output))
    return told


def usage_of(updates: Sequence[Update]) -> list[Usage]:
    return [update for update in updates if isinstance(update, Usage)]


class Endless:
    """Work that begins and never ends by itself."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cleaned = False

    async def work(self) -> str:
        """Work for ever."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaned = True
        return "never"


async def cancelled_once(work: Endless, agent: Agent) -> None:
    """Cancel the turn of an agent once its work has begun, as a host does."""
    task = asyncio.create_task(heard_from(agent, turn("Work!")))
    begun = asyncio.create_task(work.begun.wait())
    await asyncio.wait({task, begun}, return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
        raise AssertionError("the turn went on")


def two_conversations(agent: Agent) -> tuple[str, ...]:
    """Two callers say two things each, at the same time; what was answered to each at last."""

    async def talk() -> list[list[Update]]:
        states: dict[str, dict[str, Any]] = {"alice": {}, "bob": {}}
        told: list[list[Update]] = []
        for number in (1, 2):
            told = await asyncio.gather(
                *(
                    heard_from(agent, turn(f"{name}-{number}", state=state, context_id=name))
                    for name, state in states.items()
                )
            )
        return told

    return tuple("".join(chunks_of(updates)) for updates in asyncio.run(talk()))
