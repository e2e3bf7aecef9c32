"""The agent that files what it is sent: it reads attachments, and keeps, copies and loses files as told."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    Completed,
    Part,
    Turn,
    Update,
    Working,
)

profile = AgentProfile(
    name="Filing",
    description="Files what it is sent.",
    skills=(AgentSkill(id="file", name="File", description="Files things.", tags=("test",)),),
    input_modes=("text/plain", "image/*", "application/octet-stream"),
    output_modes=("*/*",),
)


def peak() -> int:
    """The most bytes of memory that this process has had since it was last forgotten."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def forget_peak() -> None:
    """Count from what it has now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Do what the first word says."""
    words = (turn.message.parts[0].text or "").split()
    async for update in SCRIPTS[words[0]](turn, words[1:]):
        yield update


async def digest(turn: Turn, _: list[str]) -> AsyncIterator[Update]:
    """`digest`: tell what each attachment is, and what memory reading it piece by piece has taken."""
    told = []
    for attachment in turn.attachments:
        forget_peak()
        before = peak()
        found, size, largest = hashlib.sha256(), 0, 0
        async for piece in attachment.chunks():
            found.update(piece)
            size, largest = size + len(piece), max(largest, len(piece))
        told.append(
            {
                "part": attachment.part,
                "filename": attachment.filename,
                "mediaType": attachment.media_type,
                "byteSize": attachment.byte_size,
                "sha256": attachment.sha256,
                "source": attachment.source,
                "held": turn.message.parts[attachment.part].which(),
                "read": {"byteSize": size, "sha256": found.hexdigest(), "largest": largest},
                "memory": peak() - before,
            }
        )
    yield ArtifactChunk("digest", parts=[Part(data=told)], last_chunk=True)


async def keep(turn: Turn, words: list[str]) -> AsyncIterator[Update]:
    """`keep NAME TEXT`: write a file, then say which there are."""
    await turn.workspace.write(words[0], words[1].encode(), "text/plain")
    async for update in files(turn, []):
        yield update


async def copy(turn: Turn, words: list[str]) -> AsyncIterator[Update]:
    """`copy NAME TO`: copy a file piece by piece, and tell what memory that has taken."""
    forget_peak()
    before = peak()
    copied = await turn.workspace.write(words[1], turn.workspace.open(words[0]))
    told = {"byteSize": copied.byte_size, "sha256": copied.sha256, "memory": peak() - before}
    yield ArtifactChunk("copied", parts=[Part(data=told)], last_chunk=True)


async def files(turn: Turn, _: list[str]) -> AsyncIterator[Update]:
    """`files`: say which files there are, and what is in the short ones."""
    told = {
        file.name: (await turn.workspace.read(file.name)).decode() if file.byte_size < 100 else file.byte_size
        for file in await turn.workspace.list()
    }
    yield ArtifactChunk("files", parts=[Part(data=told)], last_chunk=True)


async def crash(turn: Turn, words: list[str]) -> AsyncIterator[Update]:
    """`crash NAME`: write a file and delete another, then die."""
    await turn.workspace.write(words[0], b"lost")
    for file in await turn.workspace.list():
        if file.name != words[0]:
            await turn.workspace.delete(file.name)
    yield Working("About to die.")
    os._exit(1)


async def pause(turn: Turn, words: list[str]) -> AsyncIterator[Update]:
    """`pause NAME`: write a file, go on in another invocation, and say which there are."""
    if turn.segment == 1:
        await turn.workspace.write(words[0], b"kept through a pause")
        await turn.checkpoint(1)
    async for update in files(turn, []):
        yield update


async def wait(turn: Turn, words: list[str]) -> AsyncIterator[Update]:
    """`wait NAME`: write a file and say so, then wait to be cancelled."""
    await turn.workspace.write(words[0], b"lost")
    yield Working("Waiting.")
    await asyncio.sleep(600)
    yield Completed()


SCRIPTS: dict[str, Callable[[Turn, list[str]], AsyncIterator[Update]]] = {
    "digest": digest,
    "keep": keep,
    "copy": copy,
    "files": files,
    "crash": crash,
    "pause": pause,
    "wait": wait,
}
