"""What came along with a message of a turn that was made by hand, as an agent's own tests make them."""

import asyncio
import hashlib

from a2a_serverless.agent import Attachment, MemoryWorkspace, Message, Part, Turn
from a2a_serverless.protocol.objects import Role

CUP = b"\x89PNG of a cup"


class Nobody:
    """A host that is never asked for anything."""


def turn(*parts: Part, files: dict[str, bytes] | None = None) -> Turn:
    workspace = MemoryWorkspace()
    for name, content in (files or {}).items():
        asyncio.run(workspace.write(name, content, "image/png"))
    said = Message(message_id="m", role=Role.USER, parts=parts)
    return Turn(said, "t", "c", Nobody(), workspace=workspace)  # type: ignore[arg-type]


def facts(attachment: Attachment) -> tuple[int, str | None, str, int, str]:
    digest = hashlib.sha256(asyncio.run(attachment.read())).hexdigest()
    assert attachment.sha256 == digest
    return (
        attachment.part,
        attachment.filename,
        attachment.media_type,
        attachment.byte_size,
        attachment.source,
    )


def test_bytes_of_the_message_come_along_with_what_is_known_of_them() -> None:
    given = turn(Part(text="see"), Part(raw=CUP, media_type="image/png", filename="cup.png"), Part(raw=b""))

    assert [facts(each) for each in given.attachments] == [
        (1, "cup.png", "image/png", len(CUP), "raw"),
        (2, None, "application/octet-stream", 0, "raw"),
    ]


def test_files_in_memory_come_along_when_the_message_names_them() -> None:
    given = turn(
        Part(url="file:///a%20b/cup.png"),
        Part(url="file:///empty", filename="nothing", media_type="text/plain"),
        Part(url="file:///never"),
        Part(url="https://example.com/cup.png"),
        files={"a b/cup.png": CUP, "empty": b"", "unnamed": b"x"},
    )

    assert [facts(each) for each in given.attachments] == [
        (0, "cup.png", "image/png", len(CUP), "file:///a%20b/cup.png"),
        (1, "nothing", "text/plain", 0, "file:///empty"),
    ]


def test_nothing_comes_along_with_words() -> None:
    assert list(turn(Part(text="hello"), Part(data={"a": 1})).attachments) == []


def test_what_a_host_says_came_along_is_what_came_along() -> None:
    other = turn(Part(raw=CUP)).attachments

    given = Turn(
        Message(message_id="m", role=Role.USER, parts=[Part(raw=b"x")]),
        "t",
        "c",
        Nobody(),  # type: ignore[arg-type]
        attachments=other,
    )

    assert given.attachments is other
