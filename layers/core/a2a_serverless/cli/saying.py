"""What is said to an agent: the message that was typed, with its files and data."""

import json
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from a2a_serverless.cli.calling_options import parted
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_given
from a2a_serverless.cli.uploading import media_type_of, takes_files, upload
from a2a_serverless.cli.wording import decision, permission_in
from a2a_serverless.client import Client
from a2a_serverless.protocol.objects import Message, Part, Role

UPLOADED = 1024 * 1024
"""Bytes above which a file is uploaded, where that is possible, and not put into the message."""


@dataclass(frozen=True, kw_only=True)
class Saying:
    """What was typed of a message."""

    words: Sequence[str]
    files: Sequence[str]
    data: Sequence[str]
    task: str | None
    conversation: str | None
    skill: str | None
    tag: str | None
    allow: bool | None
    message_id: str | None
    accept: Sequence[str]


@dataclass(frozen=True)
class Said:
    """A message as far as it is known before the agent is."""

    saying: Saying
    address: str | None
    text: str | None
    data: Sequence[Part] = field(repr=False)
    message_id: str

    async def message(self, client: Client) -> Message:
        """The message, its files read or uploaded.

        Raises:
            Failure: a file cannot be read or is not taken; nothing is asked that could be decided.
        """
        if self.saying.allow is not None:
            return await self._decision(client)
        context = self.saying.conversation
        parts = [Part(text=self.text)] if self.text is not None else []
        parts += self.data
        for place in self.saying.files:
            file = Path(place)
            if _size(file) > UPLOADED and takes_files(client):
                context = context or await self._context(client)
                parts.append(await upload(client, context, file))
            else:
                parts.append(Part(raw=read_given(place), media_type=media_type_of(file), filename=file.name))
        return self._of(parts, context)

    async def _context(self, client: Client) -> str:
        """The conversation: the task's, or one that is made up for it."""
        if self.saying.task is None:
            return str(uuid.uuid4())
        task = await client.get_task(self.saying.task, history_length=0)
        return task.context_id or str(uuid.uuid4())

    async def _decision(self, client: Client) -> Message:
        task = await client.get_task(str(self.saying.task), history_length=0)
        asked = permission_in(task)
        if asked is None:
            raise Failure(Exit.NOTHING, f"task {self.saying.task} asks for no permission")
        return self._of([Part(data=decision(asked, allow=bool(self.saying.allow)))], self.saying.conversation)

    def _of(self, parts: Sequence[Part], context: str | None) -> Message:
        return Message(
            message_id=self.message_id,
            role=Role.USER,
            parts=tuple(parts),
            task_id=self.saying.task,
            context_id=context,
            metadata={"skill": self.saying.skill} if self.saying.skill else {},
        )


def read_saying(saying: Saying) -> Said:
    """Read what was typed: the text from input where it is a hyphen, data as JSON.

    Raises:
        Failure: it makes no sense, or says nothing.
    """
    silent = bool(saying.files or saying.data or saying.allow is not None)
    typed = [each for each in saying.words if not each.startswith(("https://", "http://"))] or saying.words[
        1:
    ]
    address, words = parted(saying.words, *(() if silent and not typed else ("TEXT",)))
    text = words[0] if words else None
    if text == "-":
        text = _input()
    if text is not None and not text.strip() and not silent:
        raise Failure(Exit.USAGE, "there is nothing to say: the text is empty")
    data = [_json(each) for each in saying.data]
    return Said(saying, address, text, data, saying.message_id or str(uuid.uuid4()))


def _input() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise Failure(
            Exit.USAGE, "the input is no text in UTF-8", "a file of another kind goes with --file"
        ) from error


def _json(given: str) -> Part:
    text = read_given(given[1:]) if given.startswith("@") else given
    try:
        return Part(data=json.loads(text), media_type="application/json")
    except ValidationError as error:
        raise Failure(Exit.USAGE, "--data holds a number that is not finite, or text that is none") from error
    except ValueError as error:
        raise Failure(Exit.USAGE, "--data is not JSON", "--data @FILE reads it from a file") from error


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise Failure(Exit.NOTHING, f"{file} cannot be read: {error.strerror or error}") from error
