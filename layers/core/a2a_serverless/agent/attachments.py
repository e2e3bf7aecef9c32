"""What came along with a message that is not said in it: files and bytes, each with what is known of it."""

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from a2a_serverless.agent.workspace import MemoryWorkspace, Workspace, WorkspaceFile
from a2a_serverless.protocol.files import file_url
from a2a_serverless.protocol.objects import Message, Part

INLINE = "raw"
"""The source of what the message itself held."""

OCTETS = "application/octet-stream"


@dataclass(frozen=True)
class Attachment:
    """One file of a message; its bytes are fetched when they are asked for.

    Attributes:
        part: which part of the message it is, counted from 0.
        filename: what it is called, if that is said.
        media_type, byte_size, sha256: its type, its size in bytes, its digest in hexadecimal.
        source: `raw` for what the message held itself, `file:///<name>` for a file of the conversation.
    """

    part: int
    filename: str | None
    media_type: str
    byte_size: int
    sha256: str
    source: str
    begin: Callable[[], AsyncIterator[bytes]] = field(compare=False, repr=False)

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in pieces, for what is too big to hold."""
        return self.begin()

    async def read(self) -> bytes:
        """All of the bytes at once."""
        return b"".join([piece async for piece in self.begin()])


def attached(message: Message, workspace: Workspace) -> Sequence[Attachment]:
    """The attachments of a message that no host has looked into.

    Files it names are found in a workspace in memory only: of any other the host knows what was meant.
    """
    files = workspace.files if isinstance(workspace, MemoryWorkspace) else {}
    return [
        found
        for index, part in enumerate(message.parts)
        if (found := _held(index, part) or _named(index, part, files))
    ]


def _held(index: int, part: Part) -> Attachment | None:
    if part.raw is None:
        return None
    return Attachment(
        part=index,
        filename=part.filename,
        media_type=part.media_type or OCTETS,
        byte_size=len(part.raw),
        sha256=hashlib.sha256(part.raw).hexdigest(),
        source=INLINE,
        begin=partial(_at_once, part.raw),
    )


def _named(index: int, part: Part, files: Mapping[str, tuple[WorkspaceFile, bytes]]) -> Attachment | None:
    for name, (file, content) in files.items():
        if part.url == file_url(name):
            return Attachment(
                part=index,
                filename=part.filename or name.rpartition("/")[2],
                media_type=part.media_type or file.media_type,
                byte_size=file.byte_size,
                sha256=file.sha256,
                source=file_url(name),
                begin=partial(_at_once, content),
            )
    return None


async def _at_once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content
