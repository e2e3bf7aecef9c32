"""The agents that the bench of the local stack talks to."""

import asyncio
import time
from collections.abc import AsyncIterator

from a2a_agents import echo
from a2a_serverless.agent import AgentProfile, AgentSkill, ArtifactChunk, Part, Turn, Update

profile = AgentProfile(
    name="Bench",
    description="Echoes, or takes the time it is told to.",
    skills=(AgentSkill(id="bench", name="Bench", description="Answers.", tags=("bench",)),),
    input_modes=("*/*",),
    output_modes=("*/*",),
)


TICK = 0.1
"""Seconds between two parts of a ticking agent: about as fast as people read."""


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """`take SECONDS`: take that long, and say when it was over. `tick N`: N parts, each saying when.

    Anything else is given back.
    """
    word, _, seconds = (turn.message.parts[0].text or "").partition(" ")
    if word == "tick":
        for _ in range(int(seconds)):
            yield ArtifactChunk("ticks", parts=[Part(data=time.time())])
            await asyncio.sleep(TICK)
        return
    if word != "take":
        async for update in echo.agent(turn):
            yield update
        return
    began = time.time()
    await asyncio.sleep(float(seconds))
    times = {"began": began, "ended": time.time()}
    yield ArtifactChunk("times", parts=[Part(data=times)], last_chunk=True)
