"""When the fold of a running log is kept, and what of it: so that nobody folds a long log from its beginning.

A snapshot holds big texts by reference, as it does everything else that is big: a settled task is then read
without them. A text that may still flow on stays in it. While that is long, snapshots are kept each time it
has doubled: a stream of any length is written about twice, not once with every snapshot.
"""

import hashlib
from dataclasses import dataclass
from typing import Self

from a2a_serverless.operations.contents import media_type_of
from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.tasks.content import ContentKind, ContentPointer, LoggedArtifact, LoggedPart
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import ArtifactUpdated, Entry

LIGHT = 1024 * 1024
"""Characters of text that a snapshot may hold without having to be worth it."""


@dataclass
class Snapshots:
    """The snapshots that one recorder keeps; `position` is of the newest that is known, 0 for none."""

    ports: Ports
    key: TurnKey
    writer: str
    position: int
    _held: int = 0
    _grown: int = 0

    @classmethod
    def of(cls, ports: Ports, key: TurnKey, writer: str, task: LoggedTask) -> Self:
        """Go on from a task as it was found."""
        return cls(ports, key, writer, task.snapshot, _texts(task.artifacts))

    def see(self, entry: Entry) -> None:
        """Take note of what was recorded."""
        if isinstance(entry, ArtifactUpdated):
            self._grown += _texts((entry.artifact,))

    def are_due(self, position: int) -> bool:
        """Whether one should be kept at this position."""
        if position - self.position < self.ports.policy.snapshot_every:
            return False
        return self._held <= LIGHT or self._grown >= self._held

    def are_due_at_last(self, position: int) -> bool:
        """Whether one should be kept here because the turn ends: of many events, or of much text."""
        policy = self.ports.policy
        many = position - self.position >= policy.snapshot_settled
        return many or self._held + self._grown > policy.inline_limit

    def keep(self, task: LoggedTask, *, last: bool) -> LoggedTask:
        """Keep the task as it stands, the `last` time in its turn when told so; returns what was kept."""
        flowing = () if last else task.turn_artifacts
        kept = task.model_copy(
            update={
                "snapshot": task.position,
                "artifacts": tuple(
                    self._light(task, number, artifact, flows=artifact.artifact_id in flowing)
                    for number, artifact in enumerate(task.artifacts)
                ),
            }
        )
        self.ports.tasks.write_snapshot(self.key.task, kept)
        self.position, self._held, self._grown = task.position, _texts(kept.artifacts), 0
        return kept

    def _light(
        self, task: LoggedTask, number: int, artifact: LoggedArtifact, *, flows: bool
    ) -> LoggedArtifact:
        """The artifact with its big texts put away, except the one at its end if that flows on."""
        end = len(artifact.parts) - 1
        parts = tuple(
            part if flows and index == end else self._put_away(task, f"{number}-{index}", part)
            for index, part in enumerate(artifact.parts)
        )
        return artifact.model_copy(update={"parts": parts})

    def _put_away(self, task: LoggedTask, name: str, part: LoggedPart) -> LoggedPart:
        """The part, of which only a pointer is left if it is never shown inline."""
        if part.text is None or 4 * len(part.text) <= self.ports.policy.inline_limit:
            return part
        content = part.text.encode()
        if len(content) <= self.ports.policy.inline_limit:
            return part
        owner = self.key.task
        place = f"content/{owner.tenant}/{owner.owner}/{owner.task_id}/{task.position}"
        pointer = ContentPointer(
            key=f"{place}/snapshot-{name}-{self.writer}",
            byte_size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            kind=ContentKind.TEXT,
        )
        self.ports.contents.put(pointer.key, content, media_type_of(part, ContentKind.TEXT))
        described = {
            member: getattr(part, member)
            for member in ("media_type", "filename", "metadata")
            if member in part.model_fields_set
        }
        return LoggedPart(stored=pointer, **described)


def _texts(artifacts: tuple[LoggedArtifact, ...]) -> int:
    return sum(len(part.text) for artifact in artifacts for part in artifact.parts if part.text)
