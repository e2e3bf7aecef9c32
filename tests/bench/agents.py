"""The agents that the bench of the local stack talks to."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping

from a2a_agents import echo
from a2a_serverless.agent import AgentProfile, AgentSkill, ArtifactChunk, ArtifactFile, Part, Turn, Update

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
    """Do what the first word says; give anything else back."""
    word, _, said = (turn.message.parts[0].text or "").partition(" ")
    async for update in SCRIPTS[word](said) if word in SCRIPTS else echo.agent(turn):
        yield update


async def take(said: str) -> AsyncIterator[Update]:
    """`take SECONDS`: take that long, and say when it was over."""
    began = time.time()
    await asyncio.sleep(float(said))
    times = {"began": began, "ended": time.time()}
    yield ArtifactChunk("times", parts=[Part(data=times)], last_chunk=True)


async def tick(said: str) -> AsyncIterator[Update]:
    """`tick N`: an artifact in N parts, each saying when."""
    for _ in range(int(said)):
        yield ArtifactChunk("ticks", parts=[Part(data=time.time())])
        await asyncio.sleep(TICK)


async def tell(said: str) -> AsyncIterator[Update]:
    """`tell N PAUSE`: N whole artifacts so many seconds apart, each saying when."""
    number, pause = said.split()
    for each in range(int(number)):
        yield ArtifactChunk(f"told-{each}", parts=[Part(data=time.time())], last_chunk=True)
        await asyncio.sleep(float(pause))


async def pack(said: str) -> AsyncIterator[Update]:
    """`pack MB`: one file of so many megabytes."""

    async def content() -> AsyncIterator[bytes]:
        for number in range(int(said)):
            yield number.to_bytes(4, "big") * (256 * 1024)

    yield ArtifactFile("dump", content(), filename="dump.bin")


async def shovel(said: str) -> AsyncIterator[Update]:
    """`shovel MB`: one artifact of so many parts of a megabyte."""
    for number in range(int(said)):
        yield ArtifactChunk("heap", parts=[Part(raw=number.to_bytes(4, "big") * (256 * 1024))])


async def write(said: str) -> AsyncIterator[Update]:
    """`write KB`: one text of so many kilobytes."""
    for number in range(int(said)):
        yield ArtifactChunk("text", f"{number:8} " + "x" * 1014 + "\n")


SCRIPTS: Mapping[str, Callable[[str], AsyncIterator[Update]]] = {
    "take": take,
    "tick": tick,
    "tell": tell,
    "pack": pack,
    "shovel": shovel,
    "write": write,
}
