"""The parts of messages and artifacts as the log keeps them: inline, or pointing elsewhere.

A log holds small content itself and names the rest by key, size and digest; addresses are made when a task is
shown, never stored. Knows no storage: putting content away and bringing it back is the operations' business.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from a2a_serverless.protocol.objects import Artifact, Message, Part, TaskStatus
from a2a_serverless.protocol.protojson import ProtoModel


class ContentKind(StrEnum):
    """Which alternative of a part the stored bytes stand for."""

    TEXT = "text"
    RAW = "raw"
    DATA = "data"


class ContentPointer(ProtoModel):
    """Where the content of a part lies, how many bytes it has, and their SHA-256 in hexadecimal."""

    key: str
    byte_size: int
    sha256: str
    kind: ContentKind


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
