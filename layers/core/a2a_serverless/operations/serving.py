"""Finding the content of one part, without reading it: what there is, where it lies, whose it is.

Content is served to its task's owner only; somebody else's and missing are the same answer.
"""

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from a2a_serverless.operations.contents import content_of, media_type_of
from a2a_serverless.ports import Caller, Contents, Ports
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.tasks.content import LoggedPart
from a2a_serverless.tasks.fold import LoggedTask


@dataclass(frozen=True, slots=True)
class Served:
    """The content of one part.

    Attributes:
        byte_size, sha256: how many bytes, and their digest in hexadecimal.
        media_type, filename: as whoever made it said.
        expires: when its task does.
        key: under which it is stored; None for what the log itself holds.
    """

    byte_size: int
    sha256: str
    media_type: str
    filename: str | None
    expires: datetime
    key: str | None = None
    held: bytes = field(default=b"", repr=False)

    def pieces(self, contents: Contents, first: int, last: int) -> Generator[bytes]:
        """Its bytes from `first` to `last`, both included; raises KeyError when they are gone."""
        if self.key is None:
            yield self.held[first : last + 1]
        elif (first, last) == (0, self.byte_size - 1):
            yield from contents.pieces(self.key)
        else:
            yield from contents.pieces(self.key, first, last)


def find_content(ports: Ports, caller: Caller, task_id: str, place: Sequence[str]) -> Served:
    """The content of one part of the caller's own task.

    `place` is what follows the task's id in the address: `<artifact id>/<part>`, `history/<message>/<part>`
    or `status/message/<part>`, counted from 0. Artifacts alone have two steps: they may have any name.

    Raises:
        TaskNotFoundError: no such task of this caller, or no such part in it, or none with content.
    """
    task = ports.tasks.load(caller.task(task_id))
    part = find_part(task, place)
    if part is None:
        raise TaskNotFoundError
    expires = datetime.fromtimestamp(task.expires, UTC)
    if part.stored is not None:
        stored = part.stored
        media_type = media_type_of(part, stored.kind)
        return Served(stored.byte_size, stored.sha256, media_type, part.filename, expires, key=stored.key)
    found = content_of(part)
    if found is None:
        raise TaskNotFoundError
    kind, content = found
    digest = hashlib.sha256(content).hexdigest()
    return Served(len(content), digest, media_type_of(part, kind), part.filename, expires, held=content)


def find_part(task: LoggedTask, place: Sequence[str]) -> LoggedPart | None:
    """The part at a place in a task, if there is one."""
    match place:
        case ["history", message, index]:
            parts = [m.parts for i, m in enumerate(task.history) if str(i) == message]
        case ["status", "message", index]:
            parts = [task.status.message.parts] if task.status and task.status.message else []
        case [artifact_id, index]:
            parts = [a.parts for a in task.artifacts if a.artifact_id == artifact_id]
        case _:
            return None
    return next((part for found in parts for i, part in enumerate(found) if str(i) == index), None)
