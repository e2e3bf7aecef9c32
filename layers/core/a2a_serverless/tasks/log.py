"""The log of a task: what can happen to it, and how each happening is written down.

A log is an append-only sequence of events at the dense positions 1, 2, 3 … It is the truth about its task;
everything else is a cache of it. Entries carry a schema version, and a log written by any earlier version
must still be read. Knows no storage and makes up no times or identifiers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import Field

from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Struct, Timestamp
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedStatus

SCHEMA_VERSION = 1
"""The version written with every entry; raised when an older reader would misunderstand a newer entry."""


class Entry(ProtoModel):
    """What happened. Each child is one kind of happening; `kind` names it in storage."""

    kind: ClassVar[str]


class MessageReceived(Entry):
    """A message was admitted; its position names the turn it starts.

    `state` is the key of what the agent saved in this context before, so that the turn need not look it up:
    nobody but the holder of the context writes it, and the holder is the turn that this message starts.
    """

    kind = "message"

    message: LoggedMessage
    context_id: str
    received_at: Timestamp
    claims: dict[str, str] = Field(default_factory=dict)
    accepted_output_modes: tuple[str, ...] = ()
    state: str | None = None


class TurnStarted(Entry):
    """Segment `segment` (1, 2, …) of a turn began; at most one invocation ever runs the agent for it.

    The first begins the work. Where a later one goes on with it, its status says nothing new.
    """

    kind = "start"

    turn: int
    segment: int
    status: LoggedStatus


class TurnCheckpointed(Entry):
    """Segment `segment` of a turn ended, its state saved under `state`.

    Another segment goes on, not before `wakes_at`.
    """

    kind = "checkpoint"

    turn: int
    segment: int
    state: str | None = None
    wakes_at: Timestamp | None = None


class StatusChanged(Entry):
    """The agent reported progress within its turn.

    `metadata` is what extensions add, by their URIs. With metadata and without a message nothing changed but
    what those who activated the extensions are told: the status stays what it was.
    """

    kind = "status"

    turn: int
    status: LoggedStatus
    metadata: Struct = Field(default_factory=dict)

    @property
    def aside(self) -> bool:
        """Whether this only tells what extensions add, and leaves the status as it was."""
        return bool(self.metadata) and self.status.message is None


class ArtifactUpdated(Entry):
    """The agent produced an artifact or a chunk of one.

    `append` adds to the artifact of that id instead of replacing it. `joins` says that the first part goes
    on with the text of the artifact's last part: text that was streamed in pieces is one part when the task
    is shown.
    """

    kind = "artifact"

    turn: int
    artifact: LoggedArtifact
    append: bool = False
    last_chunk: bool = False
    joins: bool = False


class TurnSettled(Entry):
    """A turn ended in a terminal or interrupted status; `state` is the key of what the agent saved.

    `completes` names the artifacts that are whole now although no last chunk said so. `asks` is the id of
    the permission that the turn ended to ask for.
    """

    kind = "settled"

    turn: int
    status: LoggedStatus
    state: str | None = None
    completes: tuple[str, ...] = ()
    asks: str | None = None


class Voided(Entry):
    """A position given up: the message that was to stand here was refused, and can never arrive now."""

    kind = "void"


ENTRIES: Mapping[str, type[Entry]] = {
    entry.kind: entry
    for entry in (
        MessageReceived,
        TurnStarted,
        TurnCheckpointed,
        StatusChanged,
        ArtifactUpdated,
        TurnSettled,
        Voided,
    )
}
"""Every kind of happening by its stored name."""


class UnreadableEntryError(Exception):
    """A stored entry is of a kind or schema version that this code does not know."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One happening at one position, written by one writer.

    `writer` is unique to the process that wrote it: a writer refused by its own event knows that its first
    attempt arrived. `expires` (seconds since 1970) is the moment the whole task expires, fixed when the
    task was created.
    """

    position: int
    writer: str
    expires: int
    entry: Entry

    @property
    def pushes(self) -> "PushKind | None":
        """What webhooks may want it as; None for what is never pushed: bookkeeping, and chunks of text."""
        match self.entry:
            case TurnStarted(segment=1) | TurnSettled():
                return PushKind.STATES
            case StatusChanged(status=status) if status.message is not None:
                return PushKind.PROGRESS
            case ArtifactUpdated(last_chunk=True):
                return PushKind.ARTIFACTS
        return None


class PushKind(StrEnum):
    """What a webhook can be told of: changes of state, whole artifacts, an agent's words on its progress."""

    STATES = "states"
    ARTIFACTS = "artifacts"
    PROGRESS = "progress"


def entry_body(entry: Entry) -> str:
    """The entry as JSON, without its kind."""
    return entry.to_json()


def read_entry(kind: str, version: int, body: str | bytes) -> Entry:
    """Read an entry back; raises `UnreadableEntryError` for one of a kind or version from the future."""
    if version > SCHEMA_VERSION or kind not in ENTRIES:
        raise UnreadableEntryError(f"entry {kind!r} of schema version {version}")
    return ENTRIES[kind].model_validate(json.loads(body))


@dataclass(frozen=True, slots=True)
class TaskKey:
    """Whose task it is and which: with tenant and owner in the key nobody can even ask for another's."""

    tenant: str
    owner: str
    task_id: str

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """Read a key from the members `tenant`, `owner` and `task` of an execution's input."""
        return cls(tenant=str(fields["tenant"]), owner=str(fields["owner"]), task_id=str(fields["task"]))
