"""The agent that these tests call: the first word of a message says what it does."""

import asyncio
from collections.abc import AsyncIterator

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    ArtifactFile,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Permission,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
    Working,
)

profile = AgentProfile(
    name="Crew",
    description="Does what it is told.",
    skills=(
        AgentSkill(
            id="work", name="Work", description="Works.", tags=("test",), examples=("report the weather",)
        ),
    ),
    input_modes=("*/*",),
    output_modes=("*/*",),
)

BIG = 400_000
"""Bytes of an artifact that is not shown inside its task."""


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Do what the first word says."""
    said = " ".join(part.text for part in turn.message.parts if part.text)
    word = turn.state.pop("going_on_with", None) or said.partition(" ")[0]
    match word:
        case "report":
            yield Working("Looking outside")
            yield ToolCall("1", "barometer", {"at": "noon"})
            yield ToolResult("1", "barometer", {"hPa": 1013})
            yield Usage(12, 34)
            for piece in ("Fair.\n", "Light ", "wind."):
                yield ArtifactChunk("weather", piece, name="Weather")
                await asyncio.sleep(0.1)
            yield Completed("Reported.")
        case "ask":
            turn.state["going_on_with"] = "answered"
            yield InputRequired("Which colour?")
        case "answered":
            yield ArtifactChunk("colour", f"Painted {said}.", last_chunk=True)
        case "delete":
            turn.state["going_on_with"] = "delete"
            asked = Permission("stack.delete", "Delete the stack shop?", arguments={"name": "shop"})
            allowed = await turn.ask_permission(asked)
            turn.state.clear()
            yield Completed("Deleted." if allowed else "Kept.")
        case "work":
            yield Working("Hard at work")
            await asyncio.sleep(600)
        case "authorise":
            yield AuthRequired("Sign in at https://idp.example.")
        case "files":
            given = [(part.filename, len(part.raw)) for part in turn.message.parts if part.raw]
            yield ArtifactChunk("files", str(given), last_chunk=True)
        case "big":
            yield ArtifactFile("big", [b"x" * BIG], "application/zip", filename="../../big.zip")
        case _:
            yield Failed(f"Nobody knows how to {word}.")
