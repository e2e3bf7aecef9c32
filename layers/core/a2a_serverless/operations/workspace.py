"""The files of a conversation as the agent of a turn has them: read where they lie, written beside.

Every file that a turn writes gets a key of its own below the turn's; nothing is ever overwritten. Which files
the conversation has afterwards is known to this turn alone until its end publishes it, so a turn that crashed
or was cancelled leaves nothing behind but objects that nobody names, which the bucket's lifecycle takes away.
Everything here is called in the agent's thread and waits in another, so that the agent's loop goes on.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from a2a_serverless.agent.workspace import Workspace, WorkspaceFile, WorkspaceFullError
from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.protocol.files import inner
from a2a_serverless.tasks.content import KeptFile

T = TypeVar("T")


@dataclass
class KeptWorkspace(Workspace):
    """The files of the conversation that a turn belongs to.

    `expires` is when its task does (seconds since 1970), and `changed` whether the files are other ones than
    those that were remembered.
    """

    ports: Ports
    key: TurnKey
    context_id: str
    expires: int
    files: dict[str, KeptFile] = field(default_factory=dict)
    changed: bool = False

    async def list(self, prefix: str = "") -> Sequence[WorkspaceFile]:
        """See `Workspace.list`."""
        return [_shown(name, file) for name, file in sorted(self.files.items()) if name.startswith(prefix)]

    async def read(self, name: str) -> bytes:
        """See `Workspace.read`."""
        file = self._find(name)
        try:
            return await in_thread(self.ports.contents.get, file.key)
        except KeyError as gone:
            raise FileNotFoundError(name) from gone

    async def open(self, name: str) -> AsyncIterator[bytes]:
        """See `Workspace.open`."""
        file = self._find(name)
        try:
            async for piece in pieces(lambda: self.ports.contents.pieces(file.key)):
                yield piece
        except KeyError as gone:
            raise FileNotFoundError(name) from gone

    async def write(
        self,
        name: str,
        content: bytes | AsyncIterable[bytes],
        media_type: str = "application/octet-stream",
    ) -> WorkspaceFile:
        """See `Workspace.write`."""
        before = self.files.get(inner(name))
        self._check_room(name)
        key = self.new_key()
        if isinstance(content, bytes | bytearray | memoryview):
            size, digest = len(content), hashlib.sha256(content).hexdigest()
            self._check_size(size)
            await in_thread(self.ports.contents.put, key, bytes(content), media_type)
        else:
            size, digest = await self._stream(key, content, media_type)
        self._check_room(name)
        file = KeptFile(
            key=key,
            byte_size=size,
            sha256=digest,
            media_type=media_type,
            stored_at=self.ports.clock.now(),
            version=before.version if before else None,
        )
        self.files[name] = file
        self.changed = True
        return _shown(name, file)

    async def delete(self, name: str) -> None:
        """See `Workspace.delete`."""
        if self.files.pop(name, None) is not None:
            self.changed = True

    def new_key(self) -> str:
        """Where the next file of this turn goes."""
        task = self.key.task
        place = f"files/{task.tenant}/{task.owner}/{self.context_id}/{self.key.name}"
        return f"{place}/{self.ports.identifiers.new()}"

    def take_in(self, files: Mapping[str, KeptFile]) -> None:
        """Add what the turn's message named."""
        for name, file in files.items():
            if self.files.get(name) != file:
                self.files[name] = file
                self.changed = True

    def _find(self, name: str) -> KeptFile:
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name]

    def _check_room(self, name: str) -> None:
        most = self.ports.policy.files.most
        if name not in self.files and len(self.files) >= most:
            raise WorkspaceFullError(f"a conversation keeps at most {most} files")

    def _check_size(self, size: int) -> None:
        most = self.ports.policy.files.most_bytes
        if size > most:
            raise WorkspaceFullError(f"a file of a conversation has at most {most} bytes")

    async def _stream(self, key: str, content: AsyncIterable[bytes], media_type: str) -> tuple[int, str]:
        """Store pieces as they come; returns how many bytes they were, and their digest."""
        upload = self.ports.contents.upload(key, media_type)
        size, digest = 0, hashlib.sha256()
        try:
            async for piece in content:
                size += len(piece)
                self._check_size(size)
                digest.update(piece)
                await in_thread(upload.write, piece)
            await in_thread(upload.finish)
        except BaseException:
            await in_thread(upload.abort)
            raise
        return size, digest.hexdigest()


async def in_thread(call: Callable[..., T], *arguments: object) -> T:
    """Call something in a thread. Nobody can end it, so whoever is cancelled meanwhile waits until it has."""
    calling = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        return await asyncio.shield(calling)
    except asyncio.CancelledError:
        await asyncio.wait([calling])
        raise


async def pieces(begin: Callable[[], Generator[bytes]]) -> AsyncIterator[bytes]:
    """Pieces that come slowly, each waited for in another thread."""
    coming = begin()
    try:
        while piece := await in_thread(next, coming, b""):
            yield piece
    finally:
        await in_thread(coming.close)


def _shown(name: str, file: KeptFile) -> WorkspaceFile:
    return WorkspaceFile(name, file.media_type, file.byte_size, file.sha256)
