"""The files a turn is about: what its messages bring, in any of the ways a message can bring something.

Text, fenced or bare; files as bytes or by reference; archives; those of the conversation's own files under
the prefix that `metadata.workspace` names. Where the messages bring none, all of the conversation's own;
where there are none, what was sent for the task before. Later ones replace earlier ones of the same name,
so that an answer to a question can add to what was sent before it.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from a2a_agents.iac.archives import (
    MOST_PACKED,
    NoArchive,
    inner_name,
    is_archive,
    unpack,
    without_common_folder,
)
from a2a_agents.iac.routing import TEMPLATE_BEGINS
from a2a_serverless.agent import Message, Part, Turn

WORKSPACE: Final = "workspace"
"""The key of a message's metadata that names a prefix of the conversation's files."""

FILE_URL: Final = "file:///"
MOST_FILES: Final = 500
MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes of all files of a turn together."""


class TooMuch(Exception):
    """More was brought than is read; says what."""


@dataclass
class Brought:
    """Files by name, and what was left aside and why.

    `as_text` are the names of those that stood in a text; nobody gave them a name.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    as_text: set[str] = field(default_factory=set)

    def put(self, name: str, content: bytes) -> None:
        """Take a file; an earlier one of its name is replaced."""
        self.files[name] = content
        if len(self.files) > MOST_FILES:
            raise TooMuch(f"These are more than {MOST_FILES} files.")
        if sum(map(len, self.files.values())) > MOST_BYTES:
            raise TooMuch(f"The files are larger than {MOST_BYTES:,} bytes together.")

    def put_text(self, text: str, name: str | None) -> None:
        """Take a template out of a text, under a name that fits it."""
        if name is None:
            name = self._free(name_for(text))
            self.as_text.add(name)
        self.put(name, text.encode())

    def _free(self, name: str) -> str:
        stem, _, suffix = name.rpartition(".")
        number = 1
        while name in self.files:
            number += 1
            name = f"{stem}-{number}.{suffix}"
        return name


async def brought(turn: Turn) -> Brought:
    """The files of a turn and of the messages that led to it.

    Raises:
        TooMuch: there is more than is read.
    """
    found = Brought()
    for message in (*turn.history, turn.message):
        if message.role == "ROLE_USER":
            await _message(turn, message, found)
    prefix = turn.message.metadata.get(WORKSPACE)
    if isinstance(prefix, str):
        await _workspace(turn, prefix, found)
    elif not found.files:
        await _workspace(turn, "", found)
        for task in reversed(turn.earlier_tasks if not found.files else ()):
            for message in task.history:
                if message.role == "ROLE_USER":
                    await _message(turn, message, found)
            if found.files:
                break
    return found


async def _message(turn: Turn, message: Message, found: Brought) -> None:
    for index, part in enumerate(message.parts):
        if part.text is not None:
            for name, text in templates_in(part):
                found.put_text(text, name)
        elif part.raw is not None:
            _file(part.filename or _source(turn, message, index) or f"file-{index + 1}", part.raw, found)
        elif part.url is not None:
            await _named(turn, message, index, part, found)
        elif part.which() == "data" and part.data is not None:
            found.put_text(json.dumps(part.data, indent=2, ensure_ascii=False), part.filename)


def _source(turn: Turn, message: Message, index: int) -> str | None:
    """The name in the conversation of a file that the turn's message named and was given as bytes."""
    for attachment in turn.attachments if message is turn.message else ():
        if attachment.part == index and attachment.source.startswith(FILE_URL):
            return attachment.source.removeprefix(FILE_URL)
    return None


async def _named(turn: Turn, message: Message, index: int, part: Part, found: Brought) -> None:
    """A file that a message refers to; as its attachment where it is the turn's own."""
    name = (part.url or "").removeprefix(FILE_URL)
    if not (part.url or "").startswith(FILE_URL):
        found.left.append("a part that is no file of the conversation")
        return
    if message is turn.message:
        for attachment in turn.attachments:
            if attachment.part == index:
                if attachment.byte_size > MOST_PACKED:
                    raise TooMuch(f"{name} is larger than {MOST_PACKED:,} bytes.")
                _file(part.filename or name, await attachment.read(), found)
                return
    try:
        _file(part.filename or name, await _limited(name, turn.workspace.open(name)), found)
    except FileNotFoundError:
        found.left.append(f"{name} is not among the conversation's files")


async def _limited(name: str, pieces: AsyncIterator[bytes]) -> bytes:
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > MOST_PACKED:
            raise TooMuch(f"{name} is larger than {MOST_PACKED:,} bytes.")
    return bytes(content)


def _file(given: str, content: bytes, found: Brought) -> None:
    name = inner_name(given)
    if name is None:
        found.left.append("a file whose name leads out")
    elif is_archive(content):
        try:
            unpacked = unpack(content, is_wanted)
        except NoArchive as why:
            raise TooMuch(f"The archive {name} cannot be unpacked: {why}.") from None
        found.left.extend(unpacked.left)
        for inner, each in without_common_folder(unpacked.files).items():
            found.put(inner, each)
    else:
        found.put(name, content)


async def _workspace(turn: Turn, prefix: str, found: Brought) -> None:
    for file in await turn.workspace.list(prefix):
        if is_wanted(file.name):
            if file.byte_size > MOST_BYTES:
                raise TooMuch(f"{file.name} is larger than {MOST_BYTES:,} bytes.")
            name = file.name.removeprefix(prefix).lstrip("/") or file.name
            _file(name, await turn.workspace.read(file.name), found)


SKIPPED_FOLDERS: Final = (".terraform", ".git", "__pycache__")
STATE: Final = re.compile(r".*\.tfstate(?:\..*)?", re.DOTALL)


def is_wanted(name: str) -> bool:
    """Whether a file of a directory is somebody's work: no state, no cache, no history."""
    steps = name.split("/")
    return not any(step in SKIPPED_FOLDERS for step in steps) and STATE.fullmatch(steps[-1]) is None


FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n", re.MULTILINE)
FILE_NAME: Final = re.compile(r"[\w./-]{1,200}\.(?:tf|tofu|tfvars|ya?ml|json|template|ros|hcl)\b")


def templates_in(part: Part) -> Iterator[tuple[str | None, str]]:
    """The templates of a text with their names, if they have any: fenced, or bare to the end of the text."""
    text = part.text or ""
    if part.filename or (part.media_type or "").endswith(("yaml", "json", "hcl")):
        name = inner_name(part.filename) if part.filename else None
        yield name, text
        return
    fenced = list(fences(text))
    yield from fenced
    if not fenced:
        bare = TEMPLATE_BEGINS.search(text)
        if bare:
            yield None, text[bare.start() :]


def fences(text: str) -> Iterator[tuple[str | None, str]]:
    """What stands between fences, with a file name from the fence or the line before it."""
    at = 0
    while opening := FENCE.search(text, at):
        closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(opening.group(1))}[`~]*[ \t]*$", re.MULTILINE)
        closed = closing.search(text, opening.end())
        end = closed.start() if closed else len(text)
        before = text[: opening.start()].rstrip().rpartition("\n")[2]
        named = FILE_NAME.search(opening.group(2)) or FILE_NAME.search(before[-300:])
        body = text[opening.end() : end]
        if body.strip():
            yield (inner_name(named.group()) if named else None), body
        at = closed.end() if closed else len(text)


def name_for(text: str) -> str:
    """A name for a template that has none, by what it looks like."""
    begins = text.lstrip()
    if begins.startswith("{"):
        return "template.json"
    return "main.tf" if TERRAFORM.search(text) else "template.yaml"


TERRAFORM: Final = re.compile(
    r'^[ \t]*(?:(?:resource|data|variable|module|output|provider)[ \t]+"|(?:terraform|locals)[ \t]*\{)',
    re.MULTILINE,
)


def decoded(files: dict[str, bytes], most: int) -> tuple[dict[str, str], list[str]]:
    """The files that are UTF-8 text of so many bytes at most, and a word about each of the others."""
    texts: dict[str, str] = {}
    left: list[str] = []
    for name, content in sorted(files.items()):
        if len(content) > most:
            left.append(f"{name} is larger than {most:,} bytes")
            continue
        try:
            texts[name] = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            left.append(f"{name} is no UTF-8 text")
    return texts, left


def listed(names: Sequence[str], most: int = 5) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
