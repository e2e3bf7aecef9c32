"""Where a snapshot and the events after it overlap: what the snapshot held already is not told again.

Servers without event ids may tap a task's events first and look at the task then, as the official SDK does:
events that fell between the two are in both. They come first, in order, and end with the first event that
the snapshot cannot hold. Pieces of text are compared with what the snapshot told anew; should it turn
out that they were no repetition after all, they are told with the event that shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent
from a2a_serverless.protocol.objects import Artifact, Task, TaskStatus


@dataclass(slots=True)
class Overlap:
    """The events after one snapshot; `missed` are the texts that it told anew, by the artifacts' ids."""

    snapshot: Task
    missed: Mapping[str, str]
    _open: bool = True
    _places: dict[str, set[int]] = field(default_factory=dict)
    _held_back: list[StreamResponse] = field(default_factory=list)

    def sifted(self, told: StreamResponse) -> list[StreamResponse]:
        """What is to be told now that this event has come."""
        if not self._open:
            return [told]
        if told.status_update is not None and self._knows_status(told.status_update.status):
            return []
        if told.artifact_update is not None and self._knows_piece(told.artifact_update):
            self._held_back.append(told)
            return []
        self._open = False
        repeated = all(len(self.missed[name]) in places for name, places in self._places.items())
        return [told] if repeated else [*self._held_back, told]

    def _knows_status(self, status: TaskStatus) -> bool:
        last = self.snapshot.status
        if status.message is not None:
            said = [*self.snapshot.history, *([last.message] if last.message else [])]
            return any(message.message_id == status.message.message_id for message in said)
        earlier = (
            status.timestamp is not None and last.timestamp is not None and status.timestamp < last.timestamp
        )
        return earlier or status == last

    def _knows_piece(self, update: TaskArtifactUpdateEvent) -> bool:
        """Whether the piece may be one of those that the snapshot told anew; notes at which places."""
        name, parts = update.artifact.artifact_id, update.artifact.parts
        if any(part.text is None for part in parts):
            return self._ends_with(name, update.artifact)
        text = "".join(part.text or "" for part in parts)
        missed = self.missed.get(name, "")
        begins = self._places.get(name, range(len(missed)))
        ends = {place + len(text) for place in begins if text and missed.startswith(text, place)}
        if ends:
            self._places[name] = ends
        return bool(ends)

    def _ends_with(self, name: str, piece: Artifact) -> bool:
        if name not in self.missed:
            return False
        whole = next((each.parts for each in self.snapshot.artifacts if each.artifact_id == name), ())
        return whole[-len(piece.parts) :] == piece.parts
