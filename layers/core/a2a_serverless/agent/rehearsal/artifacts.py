"""The artifacts of a rehearsed task, put together from their pieces as a deployment would."""

import asyncio
from collections.abc import AsyncIterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from a2a_serverless.agent.rehearsal.told import RehearsalError
from a2a_serverless.agent.updates import ArtifactChunk, ArtifactFile
from a2a_serverless.protocol.limits import ID
from a2a_serverless.protocol.objects import Artifact, Part


@dataclass
class Shelf:
    """The artifacts of a task, put together from their pieces."""

    artifacts: dict[str, Artifact] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def begin_turn(self) -> None:
        """From here on the first piece of an artifact starts it anew."""
        self.begun = set()

    def add(self, chunk: ArtifactChunk) -> None:
        """One more piece."""
        name = _id(chunk.artifact_id)
        text = () if chunk.text is None else (Part(text=chunk.text, media_type=chunk.media_type),)
        parts = (*text, *chunk.parts)
        if not parts and chunk.last_chunk and name in self.begun:
            return
        if not parts:
            raise RehearsalError(f"a piece of the artifact {name} has neither text nor parts")
        adds = name in self.begun if chunk.append is None else chunk.append
        before = self.artifacts.get(name) if adds else None
        self.begun.add(name)
        told = {
            member: getattr(chunk, member) or getattr(before, member, None)
            for member in ("name", "description", "metadata")
        }
        joined = tuple(_joined([*(before.parts if before else ()), *parts]))
        described = {member: value for member, value in told.items() if value}
        self.artifacts[name] = Artifact(artifact_id=name, parts=joined, **described)

    async def put(self, file: ArtifactFile) -> None:
        """A whole artifact of one file."""
        name = _id(file.artifact_id)
        content = await _content(file)
        part = Part(raw=content, media_type=file.media_type, filename=file.filename)
        told = {"name": file.name, "description": file.description, "metadata": file.metadata}
        described = {member: value for member, value in told.items() if value}
        self.artifacts[name] = Artifact(artifact_id=name, parts=(part,), **described)
        self.begun.add(name)


async def _content(file: ArtifactFile) -> bytes:
    if isinstance(file.content, bytes):
        return file.content
    if isinstance(file.content, Path):
        return await asyncio.to_thread(file.content.read_bytes)
    if isinstance(file.content, AsyncIterable):
        return b"".join([piece async for piece in file.content])
    return b"".join(file.content)


def _joined(parts: Sequence[Part]) -> Iterator[Part]:
    """Texts of the same kind flow together."""
    last: Part | None = None
    for part in parts:
        if last is not None and last.text is not None and part.text is not None:
            together = last.model_copy(update={"text": last.text + part.text})
            if together.model_copy(update={"text": part.text}) == part:
                last = together
                continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        raise RehearsalError(f"{text!r} is no id of an artifact: 1 to 128 characters of A-Z a-z 0-9 _ . : -")
    return text
