"""What a turn is about: files in every way that messages bring them, and how much is too much."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from a2a_agents.iac import brought as brought_module
from a2a_agents.iac.brought import Brought, TooMuch, brought, fences, templates_in
from a2a_serverless.agent import Message, Part, Turn
from a2a_serverless.agent.attachments import Attachment
from a2a_serverless.protocol.objects import Role
from tests.unit.agents.iac.test_routing import FakeHost


def message(*parts: Part, role: Role = Role.USER, **metadata: Any) -> Message:
    return Message(message_id="m", role=role, parts=parts, metadata=metadata)


def turn(said: Message, *history: Message, **given: Any) -> Turn:
    return Turn(message=said, task_id="t", context_id="c", host=FakeHost(), history=history, **given)


def found(said: Message, *history: Message, **given: Any) -> Brought:
    return asyncio.run(brought(turn(said, *history, **given)))


def test_later_files_replace_earlier_ones_and_the_agents_own_words_bring_none() -> None:
    files = found(
        message(Part(raw=b"new", filename="a.tf")),
        message(Part(raw=b"old", filename="a.tf"), Part(raw=b"b", filename="b.tf")),
        message(Part(raw=b"mine", filename="c.tf"), role=Role.AGENT),
    ).files

    assert files == {"a.tf": b"new", "b.tf": b"b"}


def test_fences_may_name_their_files() -> None:
    text = (
        "First:\n```hcl title=main.tf\na {}\n```\nmodules/net/vars.tf:\n~~~\nb {}\n~~~\n"
        "and\n````\n```\nc: 1\n````\n```\n\n```\n```yaml\nopen: end"
    )

    assert list(fences(text)) == [
        ("main.tf", "a {}\n"),
        ("modules/net/vars.tf", "b {}\n"),
        (None, "```\nc: 1\n"),
        (None, "open: end"),
    ]


def test_templates_without_a_name_get_one_that_fits() -> None:
    text = '```\nresource "a" "b" {}\n```\n```\nlocals {}\n```\n```\n{"a": 1}\n```\n```\na: 1\n```\n'

    assert list(found(message(Part(text=text))).files) == [
        "main.tf",
        "main-2.tf",
        "template.json",
        "template.yaml",
    ]


def test_a_text_that_is_no_template_is_none() -> None:
    assert list(templates_in(Part(text="Just words: nothing else."))) == []


@pytest.mark.parametrize(
    ("part", "left"),
    [
        (Part(url="https://example.org/a.tf"), "a part that is no file of the conversation"),
        (Part(url="file:///gone.tf"), "gone.tf is not among the conversation's files"),
        (Part(raw=b"x", filename="../../etc/passwd"), "a file whose name leads out"),
    ],
)
def test_what_cannot_be_taken_is_left_with_a_word(part: Part, left: str) -> None:
    assert found(message(part)).left == [left]


def attachment(size: int) -> Attachment:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"whole"

    return Attachment(0, None, "text/plain", size, "", "file:///big/a.tf", pieces)


def test_a_file_too_big_to_be_handed_over_is_fetched() -> None:
    files = found(message(Part(url="file:///big/a.tf")), attachments=[attachment(5)]).files

    assert files == {"big/a.tf": b"whole"}


def test_too_much_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooMuch, match="larger than"):
        found(message(Part(url="file:///big/a.tf")), attachments=[attachment(26 * 1024 * 1024)])
    monkeypatch.setattr(brought_module, "MOST_FILES", 2)
    with pytest.raises(TooMuch, match="more than 2 files"):
        found(message(*(Part(raw=b"x", filename=f"{number}.tf") for number in range(3))))
    monkeypatch.setattr(brought_module, "MOST_BYTES", 2)
    with pytest.raises(TooMuch, match="larger than 2 bytes"):
        found(message(Part(raw=b"xxx", filename="a.tf")))
