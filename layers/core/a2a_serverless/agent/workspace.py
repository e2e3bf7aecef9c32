"""The files of a conversation, as its agent sees them: kept from turn to turn, shown to nobody else.

What a turn writes becomes the conversation's when the turn has settled; a turn that crashed or was cancelled
leaves nothing behind. Names are relative paths with `/`; none leads out.
"""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from a2a_serverless.protocol.files import inner


@dataclass(frozen=True)
class WorkspaceFile:
    """One file: its name (a relative path), media type, size in bytes, and SHA-256 in hexadecimal."""

    name: str
    media_type: str
    byte_size: int
    sha256: str


class WorkspaceFullError(Exception):
    """The conversation keeps as many files as it may, or the file has more bytes than one may have."""


class Workspace(Protocol):
    """The files of a conversation: what its agent wrote, and what its caller sent along."""

    async def list(self, prefix: str = "") -> Sequence[WorkspaceFile]:
        """The files whose names begin with `prefix`, by name."""

    async def read(self, name: str) -> bytes:
        """A file's bytes. Raises FileNotFoundError."""

    def open(self, name: str) -> AsyncIterator[bytes]:
        """A file's bytes in pieces, for what is too big to hold. Raises FileNotFoundError when begun."""

    async def write(
        self,
        name: str,
        content: bytes | AsyncIterable[bytes],
        media_type: str = "application/octet-stream",
    ) -> WorkspaceFile:
        """Write a file, in place of one of the same name.

        Raises:
            ValueError: the name leads out, or cannot be kept.
            WorkspaceFullError: there are too many files, or this one is too large.
        """

    async def delete(self, name: str) -> None:
        """Take a file away; quiet when there is none."""


PIECE = 64 * 1024
"""Bytes of one piece of an opened file, at most."""


@dataclass
class MemoryWorkspace:
    """A workspace in memory, for agents that run without a deployment: in tests, or in a notebook."""

    files: dict[str, tuple[WorkspaceFile, bytes]] = field(default_factory=dict)

    async def list(self, prefix: str = "") -> Sequence[WorkspaceFile]:
        """See `Workspace.list`."""
        return [file for name, (file, _) in sorted(self.files.items()) if name.startswith(prefix)]

    async def read(self, name: str) -> bytes:
        """See `Workspace.read`."""
        if name not in self.files:
            raise FileNotFoundError(name)
        return self.files[name][1]

    async def open(self, name: str) -> AsyncIterator[bytes]:
        """See `Workspace.open`."""
        content = await self.read(name)
        for start in range(0, len(content), PIECE):
            yield content[start : start + PIECE]

    async def write(
        self,
        name: str,
        content: bytes | AsyncIterable[bytes],
        media_type: str = "application/octet-stream",
    ) -> WorkspaceFile:
        """See `Workspace.write`."""
        inner(name)
        whole = content if isinstance(content, bytes) else b"".join([piece async for piece in content])
        file = WorkspaceFile(name, media_type, len(whole), hashlib.sha256(whole).hexdigest())
        self.files[name] = (file, whole)
        return file

    async def delete(self, name: str) -> None:
        """See `Workspace.delete`."""
        self.files.pop(name, None)
