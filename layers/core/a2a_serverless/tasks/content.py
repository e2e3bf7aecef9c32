"""The parts of messages and artifacts as the log keeps them: inline, or pointing elsewhere.

A log holds small content itself and names the rest by key, size and digest; addresses are made when a task is
shown, never stored. Knows no storage: putting content away and bringing it back is the operations' business.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from a2a_serverless.protocol.objects import Artifact, Message, Part, TaskStatus
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Timestamp


class ContentKind(StrEnum):
    """Which alternative of a part the stored bytes stand for."""

    TEXT = "text"
    RAW = "raw"
    DATA = "data"


class NamedFile(ProtoModel):
    """Which file of its conversation a part named, when its bytes were put where they lie.

    `version` is the caller's upload that they are of; None for what an agent wrote.
    """

    name: str
    stored_at: Timestamp
    version: str | None = None


class ContentPointer(ProtoModel):
    """Where the content of a part lies, how many bytes it has, and their SHA-256 in hexadecimal.

    `file` says that the part named a file and does not hold the bytes itself.
    """

    key: str
    byte_size: int
    sha256: str
    kind: ContentKind
    file: NamedFile | None = None


class KeptFile(ProtoModel):
    """A file that a conversation keeps: where its bytes lie and since when, how many, and their SHA-256.

    `version` is the last upload under its name that the conversation took in, whoever wrote it since.
    """

    key: str
    byte_size: int
    sha256: str
    media_type: str
    stored_at: Timestamp
    version: str | None = None

    @classmethod
    def of(cls, pointer: ContentPointer, named: NamedFile, media_type: str) -> "KeptFile":
        """The file that a part named."""
        return cls(
            key=pointer.key,
            byte_size=pointer.byte_size,
            sha256=pointer.sha256,
            media_type=media_type,
            stored_at=named.stored_at,
            version=named.version,
        )


class LoggedPart(Part):
    """A part whose content may be a pointer: exactly one of text, raw, url, data or stored."""

    alternatives: ClassVar[tuple[str, ...]] = (*Part.alternatives, "stored")

    stored: ContentPointer | None = None


class LoggedMessage(Message):
    """A message as the log keeps it."""

    parts: tuple[LoggedPart, ...]


class LoggedArtifact(Artifact):
    """An artifact, or a chunk of one, as the log keeps it."""

    parts: tuple[LoggedPart, ...]


class LoggedStatus(TaskStatus):
    """A status as the log keeps it; its message is never stored elsewhere, so it has no pointers."""

    message: LoggedMessage | None = None


def logged(part: Part) -> LoggedPart:
    """The same part with its content inline."""
    fields = {name: getattr(part, name) for name in part.model_fields_set}
    return LoggedPart(**fields)


def logged_message(message: Message, parts: Sequence[LoggedPart]) -> LoggedMessage:
    """The same message with `parts` in place of its own."""
    fields = {name: getattr(message, name) for name in message.model_fields_set}
    return LoggedMessage(**{**fields, "parts": tuple(parts)})
