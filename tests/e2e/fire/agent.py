"""The agent whose webhooks are under fire: the first word of a message is the plot, the second names a gate.

A gate is a named pipe. Whoever watches the task writes a byte when what was to happen before has happened.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    Completed,
    Failed,
    InputRequired,
    Rejected,
    Turn,
    Update,
    Working,
)

profile = AgentProfile(
    name="Under fire",
    description="Makes every kind of event that webhooks are told of, and some that they are not.",
    skills=(AgentSkill(id="plot", name="Plot", description="Acts out a plot.", tags=("test",)),),
    input_modes=("*/*",),
    output_modes=("*/*",),
)

PIECE_SECONDS = 0.02
FOR_EVER = 3600


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Say that it works, wait at the gate, and act out the plot."""
    plot, _, gate = (turn.message.parts[0].text or "").partition(" ")
    yield Working("At the gate")
    if gate:
        await asyncio.to_thread(wait_at, gate)
    async for update in PLOTS[plot](turn):
        yield update


def wait_at(gate: str) -> None:
    """Wait until the gate is opened, or gone."""
    with Path(gate).open("rb", buffering=0) as pipe:
        pipe.read(1)


async def report(_: Turn) -> AsyncIterator[Update]:
    """A whole artifact."""
    yield ArtifactChunk("report", "All is well.", last_chunk=True)


async def story(_: Turn) -> AsyncIterator[Update]:
    """A text that is written in pieces, and a second artifact after it."""
    for piece in ("Once ", "upon ", "a "):
        yield ArtifactChunk("story", piece)
        await asyncio.sleep(PIECE_SECONDS)
    yield ArtifactChunk("story", "time.", last_chunk=True)
    yield ArtifactChunk("moral", "Deliver in order.", last_chunk=True)
    yield Completed("The end.")


async def unfinished(_: Turn) -> AsyncIterator[Update]:
    """Two artifacts that nobody calls whole until the turn has settled, around one that is."""
    yield ArtifactChunk("first", "an")
    yield ArtifactChunk("whole", "whole", last_chunk=True)
    yield ArtifactChunk("second", "other")


async def ask(_: Turn) -> AsyncIterator[Update]:
    """A question; the answer is another plot."""
    yield ArtifactChunk("draft", "A draft.", last_chunk=True)
    yield InputRequired("Like this?")


async def fail(_: Turn) -> AsyncIterator[Update]:
    """A whole artifact, one that never will be, and the end of all hope."""
    yield ArtifactChunk("report", "All was well.", last_chunk=True)
    yield ArtifactChunk("lost", "And then")
    yield Failed("The agent failed, as asked.")


async def reject(_: Turn) -> AsyncIterator[Update]:
    """No."""
    yield Rejected("Not this.")


async def last(_: Turn) -> AsyncIterator[Update]:
    """Something, then nothing until it is canceled."""
    yield ArtifactChunk("report", "So far, so good.", last_chunk=True)
    await asyncio.sleep(FOR_EVER)


PLOTS: dict[str, Callable[[Turn], AsyncIterator[Update]]] = {
    "report": report,
    "story": story,
    "unfinished": unfinished,
    "ask": ask,
    "fail": fail,
    "reject": reject,
    "last": last,
}
