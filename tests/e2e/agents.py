"""The agent these tests send messages to: it does what only a whole deployment can prove anything about.

The first word of a message says what to do. An agent that works reports to a port on which its test listens,
so that the test knows what happens in the turn's process the moment it happens, and never has to ask.
"""

import asyncio
import hashlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from a2a_agents import echo
from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    ArtifactFile,
    Completed,
    InputRequired,
    Part,
    Turn,
    Update,
    Working,
)

profile = AgentProfile(
    name="Workshop",
    description="Works, remembers and echoes, as tests ask it to.",
    skills=(AgentSkill(id="work", name="Work", description="Does what it is told.", tags=("test",)),),
    input_modes=("*/*",),
    output_modes=("*/*",),
)

BEAT_SECONDS = 0.05

REPORTED = ("AWS_ENDPOINT_URL", "AWS_REGION", "TURN_STATE_MACHINE_ARN")
"""What a test needs to ask AWS about the turn."""


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Do what the first word says, or go on with what the conversation was about."""
    first = turn.message.parts[0]
    said = first.text if first.text is not None else "echo"
    word = turn.state.get("going_on_with") or said.partition(" ")[0]
    async for update in SCRIPTS[word](turn, said):
        yield update


async def work(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`work PORT`: report to the port, then go on for ever; the connection lasts as long as the work."""
    _, writer = await asyncio.open_connection("127.0.0.1", int(said.split()[1]))
    try:
        facts = {"pid": os.getpid(), **{name: os.environ[name] for name in REPORTED}}
        writer.write(json.dumps(facts).encode() + b"\n")
        yield Working("Hard at work")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(BEAT_SECONDS)
    finally:
        writer.close()


async def mark(_: Turn, said: str) -> AsyncIterator[Update]:
    """`mark FOLDER`: leave one file for this run, then complete."""
    (Path(said.split()[1]) / uuid.uuid4().hex).touch()
    yield Completed("Marked.")


async def remember(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`remember WORDS`: ask for more until somebody says "done", then tell all of it and who heard it."""
    turn.state["going_on_with"] = "remember"
    turn.state["heard"] = [*turn.state.get("heard", []), said]
    turn.state["pids"] = [*turn.state.get("pids", []), os.getpid()]
    if not said.endswith("done"):
        yield InputRequired("What else?")
        return
    told = {"heard": turn.state["heard"], "pids": turn.state["pids"]}
    turn.state.clear()
    yield ArtifactChunk("memory", parts=[Part(data=told)], last_chunk=True)


async def think(_: Turn, said: str) -> AsyncIterator[Update]:
    """`think SECONDS`: say nothing for so long, then complete."""
    await asyncio.sleep(float(said.split()[1]))
    yield Completed("Thought about it.")


async def count(_: Turn, said: str) -> AsyncIterator[Update]:
    """`count N [PORT]`: an artifact in N parts, each an event; if a port is named, once it gives the word."""
    number, *port = map(int, said.split()[1:])
    if port:
        reader, writer = await asyncio.open_connection("127.0.0.1", *port)
        await reader.read(1)
        writer.close()
    for each in range(number):
        yield ArtifactChunk("numbers", parts=[Part(text=str(each))])


async def spell(_: Turn, said: str) -> AsyncIterator[Update]:
    """`spell WORDS`: an artifact of text that flows slowly enough for every word to be an event."""
    *words, last = said.split()[1:]
    for word in words:
        yield ArtifactChunk("spelled", word)
        await asyncio.sleep(BEAT_SECONDS)
    yield ArtifactChunk("spelled", last, last_chunk=True)
    yield Completed("Spelled.")


async def echoing(turn: Turn, _: str) -> AsyncIterator[Update]:
    """Give the message back."""
    async for update in echo.agent(turn):
        yield update


async def pack(_: Turn, said: str) -> AsyncIterator[Update]:
    """`pack MB [PORT]`: a file of so many megabytes, with a report to the port for each."""
    megabytes, *port = map(int, said.split()[1:])
    content = packed(megabytes, *port)
    yield ArtifactFile("dump", content, media_type="application/zip", filename="Datenabzug März.zip")


async def packed(megabytes: int, port: int | None = None) -> AsyncIterator[bytes]:
    """The file, megabyte by megabyte; a test may make the same."""
    writer = None
    if port is not None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        facts = {"pid": os.getpid(), **{name: os.environ[name] for name in REPORTED}}
        writer.write(json.dumps(facts).encode() + b"\n")
    try:
        for number in range(megabytes):
            if writer is not None:
                writer.write(b".")
                await writer.drain()
            yield megabyte(number)
    finally:
        if writer is not None:
            writer.close()


def megabyte(number: int) -> bytes:
    """One like no other."""
    return number.to_bytes(4, "big") * (256 * 1024)


async def spill(_: Turn, said: str) -> AsyncIterator[Update]:
    """`spill MB`: a file that breaks off after so many megabytes."""

    async def content() -> AsyncIterator[bytes]:
        async for piece in packed(int(said.split()[1])):
            yield piece
        raise OSError("the rest is spilt")

    yield ArtifactFile("dump", content())


async def deposit(turn: Turn, said: str) -> AsyncIterator[Update]:
    """`deposit MB`: pack it, and weigh it when anything is said about it."""
    if turn.state.pop("going_on_with", None) is None:
        turn.state["going_on_with"] = "deposit"
        async for update in pack(turn, said):
            yield update
        yield InputRequired("Shall I weigh it?")
        return
    (artifact,) = turn.artifacts
    (part,) = artifact.parts
    size, digest = 0, hashlib.sha256()
    async for piece in turn.open(part):
        size += len(piece)
        digest.update(piece)
    yield ArtifactChunk("weight", parts=[Part(data={"bytes": size, "sha256": digest.hexdigest()})])


SCRIPTS: dict[str, Callable[[Turn, str], AsyncIterator[Update]]] = {
    "work": work,
    "mark": mark,
    "remember": remember,
    "echo": echoing,
    "think": think,
    "count": count,
    "spell": spell,
    "pack": pack,
    "spill": spill,
    "deposit": deposit,
}
