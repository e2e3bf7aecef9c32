"""What an agent yields: everything that happens to a task is one of these, in the order they come.

Plain values without behaviour. What they become in the log and on the wire is the operations' business.
"""

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from a2a_serverless.protocol.objects import Part


@dataclass(frozen=True)
class Working:
    """Progress: the task is (still) being worked on. Text, or parts, or neither."""

    text: str | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class ArtifactChunk:
    """An artifact, or a piece of one: the pieces of one `artifact_id` in one turn are put together in order.

    Give `text`, or `parts` (which keep their boundaries), or both. Text pieces flow together: they are
    gathered for a few milliseconds and shown as one part. `append=False` starts the artifact anew,
    `append=True` adds to one of an earlier turn; by default the first piece of a turn starts it and later
    ones add. `last_chunk=True` says that the artifact is whole: only then is it announced to webhooks.

    Artifact ids are 1 to 128 characters of `[A-Za-z0-9_.:-]`.
    """

    artifact_id: str
    text: str | None = None
    parts: Sequence[Part] = ()
    name: str | None = None
    description: str | None = None
    media_type: str | None = None
    metadata: Mapping[str, Any] | None = None
    append: bool | None = None
    last_chunk: bool = False


@dataclass(frozen=True)
class ArtifactFile:
    """A whole artifact of one file, of any size: its bytes go to storage piece by piece as they come.

    `content` is a path, bytes, or bytes in pieces (an iterable, or an async iterable) that are asked for as
    fast as they can be stored. The artifact appears when the last byte is stored; until then nobody sees it.
    It replaces an artifact of the same id.
    """

    artifact_id: str
    content: bytes | Path | Iterable[bytes] | AsyncIterable[bytes]
    media_type: str = "application/octet-stream"
    filename: str | None = None
    name: str | None = None
    description: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ToolCall:
    """The agent calls one of its tools. Shown to callers who activated the tools extension, else to nobody.

    `call_id` tells the calls of one turn apart. Without `input` the call has only begun and its
    input is still being made up; the same call may be yielded again with it.
    """

    call_id: str
    name: str
    input: Any = None


@dataclass(frozen=True)
class ToolResult:
    """What became of a tool call: its output, or what went wrong."""

    call_id: str
    name: str
    output: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Thinking:
    """What a model thinks on the way, if the deployment wants that shown; off by default."""

    text: str


@dataclass(frozen=True)
class Usage:
    """Tokens that one answer of a model took."""

    input_tokens: int
    output_tokens: int
    model: str | None = None


@dataclass(frozen=True)
class InputRequired:
    """A question. The turn ends; the caller's answer starts the next one with `Turn.state` as it was left."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class AuthRequired:
    """The caller must authorise something elsewhere; the text says what (specification 7.6.1)."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Completed:
    """The task is done, with something to say about it. Results belong in artifacts, not here."""

    text: str | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Failed:
    """The task cannot be done; the text is shown to the caller."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Rejected:
    """The agent will not do the task; the text is shown to the caller."""

    text: str
    parts: Sequence[Part] = ()


Outcome = InputRequired | AuthRequired | Completed | Failed | Rejected
"""Updates that end the turn; whatever an agent would yield after one is never asked for."""

Update = Working | ArtifactChunk | ArtifactFile | ToolCall | ToolResult | Thinking | Usage | Outcome
