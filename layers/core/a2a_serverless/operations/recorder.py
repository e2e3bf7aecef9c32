"""Recording what an agent does in its turn, in order, at the next position each.

The recorder is the only writer of a running turn. Whatever else appears at the next position ends the turn
for it: a cancellation, or a failure declared by somebody who thought it dead. Text that streams is gathered
for a moment: the first piece goes out at once, later ones together.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from a2a_serverless.agent import ArtifactChunk, Thinking, ToolCall, ToolResult, Usage, Working
from a2a_serverless.operations.asides import Aside, Asides
from a2a_serverless.operations.contents import content_of, stow
from a2a_serverless.operations.filing import Filed
from a2a_serverless.operations.flowing import Gathered, flows_into, sound_parts
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.permissions import Decision
from a2a_serverless.operations.snapshots import Snapshots
from a2a_serverless.operations.updates import (
    InvalidUpdateError,
    given_by_the_agent,
    said,
)
from a2a_serverless.ports import Ports, PositionTakenError, TurnKey
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.objects import Message, Part, Role, TaskState
from a2a_serverless.tasks.content import LoggedArtifact, LoggedStatus, logged_message
from a2a_serverless.tasks.fold import Folding, LoggedTask, later
from a2a_serverless.tasks.log import ArtifactUpdated, Entry, LoggedEvent, StatusChanged

HEAD_PACE = 1.0
"""Seconds between two heads of a turn that reports progress: how far listings may lag behind its status."""


class FencedError(Exception):
    """Somebody else ended the turn; nothing that its agent does counts any more."""


class Recorder:
    """Appends one turn's events; `task` is the task as of the last of them."""

    def __init__(
        self,
        ports: Ports,
        key: TurnKey,
        task: LoggedTask,
        writer: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ports = ports
        self._key = key
        self._writer = writer
        self._monotonic = monotonic
        self._folding = Folding(task)
        self._snapshots = Snapshots.of(ports, key, writer, task)
        self._streamed: Counter[str] = Counter()
        self._gathered: Gathered | None = None
        self._asides = Asides(ports.policy.extensions, monotonic)
        self._sent_at = self._looked_at = self._headed_at = monotonic()
        self._headed = task.status

    @property
    def task(self) -> LoggedTask:
        """The task as recorded so far, without text that still waits."""
        return self._folding.finished()

    @property
    def position(self) -> int:
        """The position of the last event."""
        return self._folding.position

    @property
    def writer(self) -> str:
        """By what everything this recorder writes is known."""
        return self._writer

    @property
    def snapshot(self) -> int:
        """The position of the newest snapshot this recorder knows of, 0 for none."""
        return self._snapshots.position

    def append(self, entry: Entry) -> None:
        """Write the entry at the next position; raises FencedError when another's event is there."""
        event = LoggedEvent(self.position + 1, self._writer, self._folding.expires, entry)
        try:
            self._ports.tasks.append(self._key.task, event)
        except PositionTakenError as taken:
            self._ports.metrics.count("PositionConflict")
            raise FencedError from taken
        self._looked_at = self._monotonic()
        self._folding.apply(event)
        self._snapshots.see(entry)
        if self._snapshots.are_due(self.position):
            self.keep_snapshot()
            self.write_head()

    def write_head(self) -> None:
        """Bring the cache of the log up to here; when the turn is due for a look stays as it is."""
        head = head_of(self._ports.policy, self.task, snapshot=self.snapshot, keeps_due=True)
        self._ports.tasks.write_head(self._key.task, head)
        self._headed, self._headed_at = self._folding.status, self._monotonic()

    def head_in(self) -> float:
        """Seconds until the head must show a newer status to listings: 0 or less is now, infinity never."""
        if self._folding.status is self._headed:
            return float("inf")
        return self._headed_at + HEAD_PACE - self._monotonic()

    def keep_last_snapshot(self) -> None:
        """Keep the fold up to here if that is worth it, now that the turn adds nothing more."""
        if self._snapshots.are_due_at_last(self.position):
            self.keep_snapshot(last=True)

    def keep_snapshot(self, *, last: bool = False) -> None:
        """Keep the fold up to here, and go on from what was kept; the `last` time nothing flows on."""
        self._folding = Folding(self._snapshots.keep(self.task, last=last))

    def look_in(self) -> float:
        """Seconds until the log should be looked at, unless something is written before: 0 or less is now."""
        return self._looked_at + self._ports.policy.cancel_check - self._monotonic()

    def look_for_others(self) -> None:
        """Raise FencedError when somebody else has written at the next position."""
        self._looked_at = self._monotonic()
        if self._ports.tasks.events_after(self._key.task, self.position, 1):
            raise FencedError

    def status(
        self, state: TaskState, text: str | None = None, parts: Sequence[Part] = (), *, speaks: str = ""
    ) -> LoggedStatus:
        """A status of this moment, with what the agent says about it; `speaks` is the extension it is of."""
        spoken = said(text, parts)
        moment = later(self._folding.status, self._ports.clock.now())
        if not spoken:
            return LoggedStatus(state=state, timestamp=moment)
        if any(
            len(found[1]) > self._ports.policy.inline_limit for part in spoken if (found := content_of(part))
        ):
            raise InvalidUpdateError("a status says at most 256 KB; results belong in an artifact")
        message = Message(
            message_id=self._ports.identifiers.new(),
            role=Role.AGENT,
            parts=spoken,
            task_id=self._key.task.task_id,
            context_id=self._folding.context_id,
            extensions=(speaks,) if speaks else (),
        )
        kept = stow(self._ports, spoken, self._place(), self._writer)
        return LoggedStatus(state=state, timestamp=moment, message=logged_message(message, kept))

    def record(self, update: object) -> None:
        """Take in one update of the agent.

        Raises:
            FencedError: somebody else ended the turn.
            InvalidUpdateError: no task can hold this.
        """
        match update:
            case Working(text=text, parts=parts):
                self.flush()
                status = self.status(TaskState.WORKING, text, parts)
                self.append(StatusChanged(turn=self._key.turn, status=status))
            case ArtifactChunk():
                self._flush_asides()
                self._record_chunk(update)
            case Filed(artifact=artifact):
                self.flush()
                self.append(ArtifactUpdated(turn=self._key.turn, artifact=artifact, last_chunk=True))
            case Decision():
                self.flush()
                self._tell({Extension.PERMISSIONS.uri: update.metadata()})
            case ToolCall() | ToolResult() | Thinking() | Usage():
                self._record_aside(update)
            case _:
                raise InvalidUpdateError(f"an agent yields updates, not {type(update).__name__}")

    def _record_aside(self, update: Aside) -> None:
        if not self._asides.wants(update):
            return
        self._flush_text()
        while not self._asides.add(update):
            self._flush_asides()
        if self._asides.due_in() <= 0:
            self._flush_asides()

    def _flush_asides(self) -> None:
        if self._asides:
            self._tell(self._asides.tell())

    def _tell(self, metadata: Mapping[str, Any]) -> None:
        """Say something under extensions, beside the task's status."""
        status = self.status(TaskState.WORKING)
        self.append(StatusChanged(turn=self._key.turn, status=status, metadata=metadata))

    def _record_chunk(self, chunk: ArtifactChunk) -> None:
        parts = sound_parts(chunk)
        gathered = self._gathered
        if gathered is not None and not flows_into(gathered.chunk, chunk):
            self.flush()
            gathered = None
        if not parts:
            if chunk.last_chunk:
                self.flush(last=True)
            return
        if not self._flows(chunk):
            self._write_chunk(chunk)
            return
        self._gathered = gathered or Gathered(chunk)
        self._gathered.add(chunk.text or "")
        if chunk.last_chunk or self.flush_in() <= 0:
            self.flush(last=chunk.last_chunk)

    def _flows(self, chunk: ArtifactChunk) -> bool:
        """Whether the chunk is more text of an artifact this turn has begun."""
        begun = chunk.artifact_id in self._folding.turn_artifacts
        described = (chunk.name, chunk.description, chunk.metadata) != (None, None, None)
        return begun and not described and chunk.append is not False and bool(chunk.text) and not chunk.parts

    def flush_in(self) -> float:
        """Seconds until what was gathered must go out: 0 or less is now, infinity never."""
        if self._gathered is None:
            return self._asides.due_in()
        if self._gathered.size >= self._chunk_size(self._gathered.chunk.artifact_id):
            return 0.0
        return self._sent_at + self._ports.policy.chunk_delay - self._monotonic()

    def _chunk_size(self, artifact_id: str) -> int:
        """Characters that make a chunk: the more, the longer the text is that they belong to."""
        policy = self._ports.policy
        return max(policy.chunk_size, min(policy.log_limit // 4, self._streamed[artifact_id] // 64))

    def flush(self, *, last: bool = False) -> None:
        """Let what was gathered go out, text as its artifact's last chunk when told so."""
        self._flush_asides()
        self._flush_text(last=last)

    def _flush_text(self, *, last: bool = False) -> None:
        gathered, self._gathered = self._gathered, None
        if gathered is not None:
            self._write_chunk(gathered.whole(last=last), joins=True)

    def _write_chunk(self, chunk: ArtifactChunk, *, joins: bool = False) -> None:
        adds = chunk.append
        if adds is None:
            adds = chunk.artifact_id in self._folding.turn_artifacts
        parts = stow(self._ports, sound_parts(chunk), self._place(), self._writer)
        described = {"name": chunk.name, "description": chunk.description, "metadata": chunk.metadata}
        with given_by_the_agent():
            artifact = LoggedArtifact(
                artifact_id=chunk.artifact_id,
                parts=parts,
                **{name: value for name, value in described.items() if value},
            )
        self.append(
            ArtifactUpdated(
                turn=self._key.turn,
                artifact=artifact,
                append=adds and chunk.artifact_id in self._folding.artifacts,
                last_chunk=chunk.last_chunk,
                joins=joins,
            )
        )
        self._sent_at = self._monotonic()
        self._streamed[chunk.artifact_id] += len(chunk.text or "")

    def _place(self) -> str:
        task = self._key.task
        return f"content/{task.tenant}/{task.owner}/{task.task_id}/{self.position + 1}"
