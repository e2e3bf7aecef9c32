"""What came along with a message that is not said in it: files and bytes, each with what is known of it."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from a2a_serverless.protocol.objects import Message

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


def attached(message: Message) -> Sequence[Attachment]:
    """The attachments that a message holds itself."""
    return [
        Attachment(
            part=index,
            filename=part.filename,
            media_type=part.media_type or OCTETS,
            byte_size=len(part.raw),
            sha256=hashlib.sha256(part.raw).hexdigest(),
            source=INLINE,
            begin=partial(_at_once, part.raw),
        )
        for index, part in enumerate(message.parts)
        if part.raw is not None
    ]


async def _at_once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content
