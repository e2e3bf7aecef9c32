"""Text that flows: pieces of one artifact that are gathered for a moment, and go out as one.

Knows which pieces may go together, and nothing of logs.
"""

from dataclasses import dataclass, field

from a2a_serverless.agent import ArtifactChunk
from a2a_serverless.operations.updates import InvalidUpdateError, check_artifact_id, said
from a2a_serverless.protocol.objects import Part


@dataclass
class Gathered:
    """Text of one artifact that waits to go out."""

    chunk: ArtifactChunk
    texts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        """Take in more of it."""
        self.texts.append(text)
        self.size += len(text)

    def whole(self, *, last: bool) -> ArtifactChunk:
        """All of it as one chunk, the artifact's last when told so."""
        return ArtifactChunk(
            self.chunk.artifact_id,
            "".join(self.texts),
            media_type=self.chunk.media_type,
            append=True,
            last_chunk=last,
        )


def sound_parts(chunk: ArtifactChunk) -> tuple[Part, ...]:
    """The parts of a chunk whose other members are sound too, as far as they decide where it goes."""
    check_artifact_id(chunk.artifact_id)
    if any(flag not in (None, True, False) for flag in (chunk.append, chunk.last_chunk)):
        raise InvalidUpdateError("append and last_chunk must be true or false")
    return said(chunk.text, chunk.parts, chunk.media_type)


def flows_into(before: ArtifactChunk, chunk: ArtifactChunk) -> bool:
    """Whether a chunk goes on with gathered text, so that both may go out as one."""
    return (
        before.artifact_id == chunk.artifact_id
        and before.media_type == chunk.media_type
        and chunk.append is not False
        and not chunk.parts
        and (not chunk.text or (chunk.name, chunk.description, chunk.metadata) == (None, None, None))
    )
