"""The files of a conversation, as its agent sees them: kept from turn to turn, seen by nobody else.

What a turn writes becomes the conversation's when the turn has settled; a turn that crashed or was cancelled
leaves nothing behind. Names are relative paths with `/`; none leads out.
"""

import hashlib
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class WorkspaceFile:
    """One file: its name (a relative path), media type, size in bytes, and SHA-256 in hexadecimal."""

    name: str
    media_type: str
    byte_size: int
    sha256: str


class Workspace(Protocol):
    """The files of a conversation."""

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
        """Write a file, in place of one of the same name. Raises ValueError for a name that leads out."""

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


MOST_NAME = 512
"""Bytes of a file's name."""


def inner(name: str) -> str:
    """The name, if it stays inside; raises ValueError for one that leads out or cannot be stored."""
    steps = name.split("/")
    if not name or any(step in ("", ".", "..") for step in steps) or "\\" in name:
        raise ValueError("a file's name is a relative path without empty, . or .. steps")
    if len(name.encode()) > MOST_NAME or not name.isprintable():
        raise ValueError(f"a file's name is at most {MOST_NAME} bytes of printable characters")
    return name
