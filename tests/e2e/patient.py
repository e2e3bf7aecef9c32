"""An agent that takes its time: it polls for longer than its function may run, and asks before it acts.

The first word of a message says what to do, once it has begun its state does.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    Completed,
    Permission,
    Rejected,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
    Working,
)

profile = AgentProfile(
    name="Patience",
    description="Polls for long, and asks before it acts.",
    skills=(AgentSkill(id="wait", name="Wait", description="Takes its time.", tags=("test",)),),
)

STEP_SECONDS = 0.25
STEPS_A_REPORT = 4


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Do what the first word says, or go on with what was begun."""
    said = turn.state.setdefault("said", turn.message.parts[0].text or "")
    async for update in SCRIPTS[said.partition(" ")[0]](turn, said):
        yield update


async def poll(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`poll SECONDS`: look again and again for so long, and say now and then how often."""
    state = turn.state
    state.setdefault("until", time.time() + float(said.split()[1]))
    state["segments"] = [*state.get("segments", []), [turn.segment, os.getpid()]]
    while time.time() < state["until"]:
        await asyncio.sleep(STEP_SECONDS)
        state["polls"] = state.get("polls", 0) + 1
        if state["polls"] % STEPS_A_REPORT == 0:
            yield Working(f"Polled {state['polls']} times")
            yield ArtifactChunk("polls", f"{state['polls']} ")
        await turn.checkpoint()
    yield Completed(f"Polled {state['polls']} times in {len(state['segments'])} segments")


async def wake(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`wake SECONDS`: end the invocation, and say after how long it was called again."""
    asked = turn.state.get("asked")
    if asked is None:
        turn.state["asked"] = time.time()
        yield Working("Asleep")
        await turn.checkpoint(resume_after=float(said.split()[1]))
    yield Completed(f"{time.time() - (asked or 0):.1f}")


async def act(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`act FOLDER`: leave a file there for every time that it was allowed."""
    folder = Path(said.split()[1])
    allowed = await turn.ask_permission(
        Permission("write", "Leave a file", target=folder.name, arguments={"folder": folder.name})
    )
    if not allowed:
        yield Rejected("Then not.")
        return
    (folder / f"{turn.segment}-{os.getpid()}").touch()
    if turn.segment == 1:
        await turn.checkpoint(resume_after=1)
    yield Completed("Left a file.")


async def tell(_: Turn, __: str) -> AsyncIterator[Update]:
    """`tell`: use a tool, think, and count tokens."""
    yield ToolCall("1", "search")
    yield ToolCall("1", "search", {"query": "shoes", "api_key": "hunter2"})
    yield Thinking("Shoes are nice.")
    yield ToolResult("1", "search", ["red", "x" * 5000])
    yield ToolResult("2", "buy", error="sold out")
    yield Usage(10, 2, "model")
    yield ArtifactChunk("answer", "Red ones.", last_chunk=True)
    yield Completed("Done.")


SCRIPTS: dict[str, Callable[[Turn, str], AsyncIterator[Update]]] = {
    "poll": poll,
    "wake": wake,
    "act": act,
    "tell": tell,
}
