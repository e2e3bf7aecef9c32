"""Putting artifacts together from their chunks (specification 4.2.2, `append` and `lastChunk`).

Nothing is ever lost: appending to an artifact nobody has heard of creates it. Works on one artifact at a
time and keeps text that arrives in pieces as pieces until it is asked for, so a long stream costs linear
time.
"""

from dataclasses import dataclass, field

from a2a_serverless.tasks.content import LoggedArtifact, LoggedPart
from a2a_serverless.tasks.log import ArtifactUpdated


@dataclass
class Assembly:
    """One artifact being put together: its description, its parts, and text still open at the end."""

    described: LoggedArtifact
    parts: list[LoggedPart] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, artifact: LoggedArtifact) -> "Assembly":
        """Begin with everything an artifact holds."""
        return cls(artifact, list(artifact.parts))

    def add(self, update: ArtifactUpdated) -> None:
        """Append the update's parts; description members it carries replace those known so far."""
        changes = {
            name: getattr(update.artifact, name)
            for name in update.artifact.model_fields_set
            if name not in ("artifact_id", "parts") and getattr(update.artifact, name)
        }
        if changes:
            self.described = self.described.model_copy(update=changes)
        parts = list(update.artifact.parts)
        if update.joins and self._joins(parts[0]):
            self.tail.append(parts.pop(0).text or "")
        if parts:
            self._close()
            self.parts.extend(parts)

    def finished(self) -> LoggedArtifact:
        """The artifact as far as it is known."""
        self._close()
        return self.described.model_copy(update={"parts": tuple(self.parts)})

    def _joins(self, part: LoggedPart) -> bool:
        """Whether the part is more text of the same kind as the last one."""
        if not self.parts or part.text is None or self.parts[-1].text is None:
            return False
        return self.parts[-1].model_copy(update={"text": part.text}) == part

    def _close(self) -> None:
        if self.tail:
            last = self.parts[-1]
            self.parts[-1] = last.model_copy(update={"text": "".join([last.text or "", *self.tail])})
            self.tail = []
