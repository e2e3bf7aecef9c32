"""Putting big content away before it is logged, and bringing it back when a task is shown.

Content above the log's limit lies in `Contents`, under a key that ends in the writer's id: two writers
racing for one position never share an object. Shown, a part is inline up to the inline limit and a `url`
part above it, whose bytes the artifacts route serves to the task's owner only.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from a2a_serverless.ports import Caller, Contents, Ports
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.files import file_url
from a2a_serverless.protocol.objects import Artifact, Message, Part, Task, TaskStatus
from a2a_serverless.tasks.content import (
    ContentKind,
    ContentPointer,
    LoggedArtifact,
    LoggedMessage,
    LoggedPart,
    LoggedStatus,
    logged,
)
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.view import trim_history

TEXT = "text/plain"
JSON = "application/json"
BINARY = "application/octet-stream"


def content_of(part: Part) -> tuple[ContentKind, bytes] | None:
    """The content a part holds inline, as bytes; None for an address or stored content."""
    if part.text is not None:
        return ContentKind.TEXT, part.text.encode()
    if part.raw is not None:
        return ContentKind.RAW, part.raw
    if "data" in part.model_fields_set:
        return ContentKind.DATA, json.dumps(part.data, ensure_ascii=False, separators=(",", ":")).encode()
    return None


def media_type_of(part: Part, kind: ContentKind) -> str:
    """The part's media type, or the plainest one for its kind."""
    default = {ContentKind.TEXT: TEXT, ContentKind.DATA: JSON, ContentKind.RAW: BINARY}[kind]
    return part.media_type or default


def stow(ports: Ports, parts: Sequence[Part], prefix: str, writer: str) -> tuple[LoggedPart, ...]:
    """The parts as they go into the log: the biggest are put away until the rest fits the log's limit."""
    kept = [part if isinstance(part, LoggedPart) else logged(part) for part in parts]
    sizes = {index: len(found[1]) for index, part in enumerate(kept) if (found := content_of(part))}
    inline = sum(sizes.values())
    for index in sorted(sizes, key=lambda index: sizes[index], reverse=True):
        if inline <= ports.policy.log_limit:
            break
        kept[index] = _put_away(ports.contents, kept[index], f"{prefix}/{index}-{writer}")
        inline -= sizes[index]
    return tuple(kept)


def _put_away(contents: Contents, part: LoggedPart, key: str) -> LoggedPart:
    found = content_of(part)
    if found is None:
        return part
    kind, content = found
    contents.put(key, content, media_type_of(part, kind))
    pointer = ContentPointer(
        key=key, byte_size=len(content), sha256=hashlib.sha256(content).hexdigest(), kind=kind
    )
    return LoggedPart(
        stored=pointer, media_type=part.media_type, filename=part.filename, metadata=part.metadata
    )


@dataclass
class Shown:
    """How one answer shows tasks to its caller: content inline as long as it fits, else its address.

    What fits is decided part by part and for the answer as a whole: no task grows too large to be shown.
    """

    ports: Ports
    caller: Caller
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.ports.policy.answer_limit

    def anew(self) -> "Shown":
        """How the next answer is shown to the same caller."""
        return Shown(self.ports, self.caller)

    def task(self, task: LoggedTask, history_length: int | None = None) -> Task:
        """The task in the specification's shape, with at most so many messages of its history.

        Addresses count the whole history, so that they hold however much of it is shown.
        """
        history = trim_history(task, history_length).history
        return Task(
            id=task.task_id,
            context_id=task.context_id,
            status=self.status(task.current, task.task_id),
            history=tuple(
                self.message(message, f"{task.task_id}/history/{index}")
                for index, message in enumerate(history, len(task.history) - len(history))
            ),
            artifacts=tuple(self.artifact(artifact, task.task_id) for artifact in task.artifacts),
        )

    def status(self, status: LoggedStatus, task_id: str) -> TaskStatus:
        """A status in the specification's shape."""
        message = self.message(status.message, f"{task_id}/status/message") if status.message else None
        return TaskStatus(state=status.state, timestamp=status.timestamp, message=message)

    def artifact(
        self, artifact: LoggedArtifact, task_id: str, *, after: int = 0, whole: bool = True
    ) -> Artifact:
        """An artifact in the specification's shape, or a chunk whose parts come after so many others.

        Callers who activated the extension are told of each part of a whole one what its content is.
        """
        place = f"{task_id}/{quote(artifact.artifact_id, safe='')}"
        fields = {name: getattr(artifact, name) for name in artifact.model_fields_set}
        parts = self._parts(artifact.parts, place, after)
        uri = Extension.ARTIFACTS.uri
        if whole and Extension.ARTIFACTS in self.ports.policy.extensions and uri in self.caller.extensions:
            parts = tuple(map(_told, artifact.parts, parts))
            fields["extensions"] = (*(each for each in artifact.extensions if each != uri), uri)
        return Artifact(**{**fields, "parts": parts})

    def message(self, message: LoggedMessage, place: str) -> Message:
        """A message in the specification's shape."""
        fields = {name: getattr(message, name) for name in message.model_fields_set}
        return Message(**{**fields, "parts": self._parts(message.parts, place)})

    def _parts(self, parts: Iterable[LoggedPart], place: str, after: int = 0) -> tuple[Part, ...]:
        return tuple(self._part(part, f"{place}/{index}") for index, part in enumerate(parts, after))

    def _part(self, part: LoggedPart, place: str) -> Part:
        if part.stored is not None and part.stored.file is not None:
            return inlined(self.ports.contents, part)
        size, digest, kind = measured(part)
        if kind is None or size <= min(self.ports.policy.inline_limit, self.left):
            self.left -= size
            return inlined(self.ports.contents, part)
        tenant = f"/{self.caller.tenant}" if self.caller.tenant else ""
        return Part(
            url=f"{self.caller.base_url}{tenant}/artifacts/{place}",
            media_type=media_type_of(part, kind),
            filename=part.filename,
            metadata={**(part.metadata or {}), "byteSize": size, "sha256": digest},
        )


def _told(part: LoggedPart, shown: Part) -> Part:
    """The part as it is shown, with what the extension for artifacts says of its content, if it has any."""
    size, digest, kind = measured(part)
    if kind is None:
        return shown
    told = {"byteSize": size, "sha256": digest, "mediaType": media_type_of(part, kind)}
    if part.filename:
        told["filename"] = part.filename
    metadata = {**(shown.metadata or {}), Extension.ARTIFACTS.uri: told}
    return shown.model_copy(update={"metadata": metadata})


def measured(part: LoggedPart) -> tuple[int, str, ContentKind | None]:
    """How many bytes of content a part has, their digest, and of which kind it is if it has any."""
    if part.stored is not None:
        return part.stored.byte_size, part.stored.sha256, part.stored.kind
    found = content_of(part)
    if found is None:
        return 0, "", None
    return len(found[1]), hashlib.sha256(found[1]).hexdigest(), found[0]


def inlined(contents: Contents, part: LoggedPart, *, files: bool = False) -> Part:
    """The part with its content brought back, whatever its size; of a file it names only with `files`."""
    described = {"media_type": part.media_type, "filename": part.filename, "metadata": part.metadata}
    if part.stored is None:
        fields = {name: getattr(part, name) for name in part.model_fields_set if name != "stored"}
        return Part(**fields)
    named = part.stored.file
    if named is not None and not files:
        told = {"byteSize": part.stored.byte_size, "sha256": part.stored.sha256}
        return Part(url=file_url(named.name), **{**described, "metadata": {**part.metadata, **told}})
    content = contents.get(part.stored.key)
    match part.stored.kind:
        case ContentKind.TEXT:
            return Part(text=content.decode(), **described)
        case ContentKind.RAW:
            return Part(raw=content, **described)
        case ContentKind.DATA:
            return Part(data=json.loads(content), **described)
