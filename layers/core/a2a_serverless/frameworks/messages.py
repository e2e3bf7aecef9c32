"""From a message to a framework and back: what a caller said goes in, what an agent says comes out.

Text stays text; JSON and files whose content is text become text; what is left are files as bytes, for which
each framework has places of its own. What an agent says streams as one artifact. Knows no framework, and
remembers nothing.
"""

import json
import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json, to_json

from a2a_serverless.agent import ArtifactChunk, Attachment, Message, Part, Turn

TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")
"""How media types begin whose content is text; the others end in +json and the like."""


FILES = "file:///"
"""How addresses of files of the conversation begin."""

OCTETS = "application/octet-stream"


class RefusedError(Exception):
    """The agent will not do this, or cannot take what it was given; the text is for the caller."""


@dataclass(frozen=True)
class File:
    """Content that is no text: an image, a document, a recording."""

    content: bytes
    media_type: str
    name: str

    def unsupported(self) -> RefusedError:
        """What to raise when the framework has no place for it."""
        return RefusedError(f"The agent cannot take {self.name!r} of type {self.media_type}.")


async def given(turn: Turn) -> list[str | File]:
    """What the message holds, in order: texts and JSON as text; raw content and named files as files.

    Raises RefusedError for what cannot be read.
    """
    attached = {attachment.part: attachment for attachment in turn.attachments}
    return [await _given(part, index, attached) for index, part in enumerate(turn.message.parts)]


async def _given(part: Part, index: int, attached: Mapping[int, Attachment]) -> str | File:
    if part.text is not None:
        return part.text
    if part.which() == "data":
        return json.dumps(part.data, ensure_ascii=False)
    file = await read(part, index, attached)
    text = _text(file.content, file.media_type.partition(";")[0].strip().lower())
    return f"{file.name}:\n{text}" if text is not None else file


async def read(part: Part, index: int, attached: Mapping[int, Attachment]) -> File:
    """The content of a part that is neither text nor data; raises RefusedError when there is none."""
    attachment = attached.get(index)
    if attachment is None:
        if part.url and part.url.startswith(FILES):
            raise RefusedError(f"This conversation has no file {unquote(part.url.removeprefix(FILES))!r}.")
        raise RefusedError("The agent reads files of this conversation, not other addresses.")
    named = unquote(attachment.source.removeprefix(FILES)) if attachment.source.startswith(FILES) else None
    name = named or attachment.filename or f"file-{index + 1}"
    media_type = attachment.media_type
    if media_type == OCTETS:
        media_type = mimetypes.guess_type(name)[0] or OCTETS
    content = part.raw if part.raw is not None else await attachment.read()
    return File(content, media_type, name)


def _text(content: bytes, media_type: str) -> str | None:
    if not media_type.startswith(TEXTUAL) and not media_type.endswith(("+json", "+xml", "+yaml")):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def answer(message: Message) -> Any:  # noqa: ANN401  whatever JSON the caller says
    """A message as the answer to a question: its JSON when it is nothing else, else its text."""
    if len(message.parts) == 1 and message.parts[0].which() == "data":
        return message.parts[0].data
    return "\n".join(part.text for part in message.parts if part.text is not None)


def plain(value: Any) -> Any:  # noqa: ANN401  whatever a tool takes or gives
    """The value as JSON, for showing; what has no JSON is shown by its text."""
    return from_json(to_json(value, fallback=str, bytes_mode="base64", inf_nan_mode="strings"))


class Response:
    """The artifact in which an agent's text streams to the caller."""

    def __init__(self, turn: Turn, artifact_id: str = "response") -> None:
        self._id = artifact_id
        self._earlier = any(artifact.artifact_id == artifact_id for artifact in turn.artifacts)
        self._apart = self._earlier
        self.said = False
        """Whether this turn has said anything."""

    def text(self, delta: str) -> Iterator[ArtifactChunk]:
        """The next piece of text; nothing for an empty one."""
        if not delta:
            return
        lead, self._apart = "\n\n" if self._apart else "", False
        # A run that goes on after a question adds to what it had said before.
        append = True if self._earlier and not self.said else None
        self.said = True
        yield ArtifactChunk(self._id, lead + delta, append=append)

    def data(self, value: Any) -> Iterator[ArtifactChunk]:  # noqa: ANN401  a result of any shape
        """A result that is JSON rather than text."""
        self.said = True
        yield ArtifactChunk(self._id, parts=[Part(data=plain(value), media_type="application/json")])

    def pause(self) -> None:
        """One message of the model is over; what it says next begins a paragraph."""
        self._apart = self.said or self._earlier

    def end(self) -> Iterator[ArtifactChunk]:
        """The run is over."""
        if self.said:
            yield ArtifactChunk(self._id, last_chunk=True)
