"""A file that an agent yields, on its way to storage: of any length, and never in memory as a whole.

Its bytes are asked for in the agent's own loop, as fast as they can be stored and no faster, and handed to
one thread that stores them, so that the loop is free for whatever else the agent does. Whatever ends the
agent ends this: what has been stored of a file by then is given back. Writes nothing into the log.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from a2a_serverless.agent import ArtifactFile
from a2a_serverless.operations.contents import BINARY
from a2a_serverless.operations.updates import InvalidUpdateError, check_artifact_id, given_by_the_agent
from a2a_serverless.ports import Contents, Ports, TurnKey, Upload
from a2a_serverless.tasks.content import ContentKind, ContentPointer, LoggedArtifact, LoggedPart

BLOCK = 1024 * 1024
"""Bytes that are gathered before they are handed on, and that are read from a path at once."""

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Filed:
    """An artifact of one file whose bytes have been stored."""

    artifact: LoggedArtifact


@dataclass
class Filing:
    """Where the files of one segment of a turn go; `writer` is whoever records it."""

    ports: Ports
    key: TurnKey
    writer: str
    _numbers: "count[int]" = field(default_factory=count)

    async def file(self, given: ArtifactFile) -> Filed:
        """Store a file's bytes; it becomes an artifact only once that is recorded.

        Raises:
            InvalidUpdateError: no task can hold it.
        """
        check_artifact_id(given.artifact_id)
        # What describes it must be sound before its bytes are asked for.
        described = partial(_described, given)
        described(LoggedPart(raw=b""))
        storing = _Storing(self.ports, self._place(), given.media_type or BINARY)
        with ThreadPoolExecutor(1, "file") as thread:
            try:
                await _store(storing, given.content, thread)
                part = await asyncio.get_running_loop().run_in_executor(thread, storing.finish)
            except BaseException:
                thread.submit(storing.abort)
                raise
        return Filed(described(part))

    def _place(self) -> str:
        task = self.key.task
        number = next(self._numbers)
        place = f"content/{task.tenant}/{task.owner}/{task.task_id}"
        return f"{place}/{self.key.turn}/file-{number}-{self.writer}"


async def _store(storing: "_Storing", content: object, thread: ThreadPoolExecutor) -> None:
    """Hand block after block to the thread, and ask for no more bytes while it has not taken them."""
    loop = asyncio.get_running_loop()
    blocks = _blocks(_pieces(content, thread))
    try:
        async for block in blocks:
            await loop.run_in_executor(thread, storing.take, block)
    finally:
        await blocks.aclose()


async def _blocks(pieces: AsyncGenerator[Bytes]) -> AsyncGenerator[Bytes]:
    """The same bytes in blocks that are worth the way to another thread."""
    gathered = bytearray()
    try:
        async for piece in pieces:
            if not isinstance(piece, Bytes):
                raise InvalidUpdateError(f"a file's content is bytes, not {type(piece).__name__}")
            if not gathered and len(piece) >= BLOCK:
                yield piece
                continue
            gathered += piece
            if len(gathered) >= BLOCK:
                yield gathered
                gathered = bytearray()
        if gathered:
            yield gathered
    finally:
        await pieces.aclose()


async def _pieces(content: object, thread: ThreadPoolExecutor) -> AsyncGenerator[Bytes]:
    """The bytes, however they are given; whatever makes them is closed when nobody wants any more."""
    loop = asyncio.get_running_loop()
    if isinstance(content, Path):
        with await loop.run_in_executor(thread, content.open, "rb") as opened:
            while block := await loop.run_in_executor(thread, opened.read, BLOCK):
                yield block
    elif isinstance(content, Bytes):
        yield content
    elif isinstance(content, AsyncIterable):
        pieces: AsyncIterator[Bytes] = aiter(content)
        try:
            async for piece in pieces:
                yield piece
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
    elif isinstance(content, Iterable):
        made: Iterator[Bytes] = iter(content)
        try:
            for each in made:
                yield each
        finally:
            if isinstance(made, Generator):
                made.close()
    else:
        raise InvalidUpdateError(
            f"a file's content is a path or bytes in pieces, not {type(content).__name__}"
        )


def _described(given: ArtifactFile, part: LoggedPart) -> LoggedArtifact:
    fields = {"name": given.name, "description": given.description, "metadata": given.metadata}
    with given_by_the_agent():
        content = {name: getattr(part, name) for name in part.model_fields_set}
        return LoggedArtifact(
            artifact_id=given.artifact_id,
            parts=(LoggedPart(**content, media_type=given.media_type or BINARY, filename=given.filename),),
            **{name: value for name, value in fields.items() if value},
        )


class _Storing:
    """The bytes of one file as they come: held while they fit into the log, and put away from then on."""

    def __init__(self, ports: Ports, key: str, media_type: str) -> None:
        self._contents: Contents = ports.contents
        self._most = ports.policy.log_limit
        self._key = key
        self._media_type = media_type
        self._held = bytearray()
        self._digest = hashlib.sha256()
        self._size = 0
        self._upload: Upload | None = None

    def take(self, block: Bytes) -> None:
        """Take the next bytes."""
        self._digest.update(block)
        self._size += len(block)
        if self._upload is None and self._size <= self._most:
            self._held += block
            return
        if self._upload is None:
            self._upload = self._contents.upload(self._key, self._media_type)
            if self._held:
                self._upload.write(self._held)
        self._upload.write(block)

    def finish(self) -> LoggedPart:
        """The part that the log holds of it, once all of it is where it belongs."""
        if self._upload is None:
            return LoggedPart(raw=bytes(self._held))
        self._upload.finish()
        pointer = ContentPointer(
            key=self._key, byte_size=self._size, sha256=self._digest.hexdigest(), kind=ContentKind.RAW
        )
        return LoggedPart(stored=pointer)

    def abort(self) -> None:
        """Give back what has been put away."""
        if self._upload is not None:
            self._upload.abort()
