"""What a message may hold: each part is judged by its kind, type and size before anything is written."""

from typing import Any

import pytest

from a2a_serverless.operations.inputs import check_parts, is_text
from a2a_serverless.ports import FilePolicy, Policy
from a2a_serverless.protocol.errors import A2AError, ContentTypeNotSupportedError, InvalidParamsError
from a2a_serverless.protocol.objects import Part
from a2a_serverless.protocol.requests import SendMessageRequest
from tests.unit.operations.world import World, asking, message

MIB = 1024 * 1024
TAKES_ALL = Policy(input_modes=("*/*",))


def refused(part: Part, policy: Policy = TAKES_ALL) -> InvalidParamsError:
    with pytest.raises(InvalidParamsError) as error:
        check_parts(policy, [Part(text="see"), part])
    return error.value


@pytest.mark.parametrize(
    "part",
    [
        Part(text="x" * MIB),
        Part(text="é" * (MIB // 2)),
        Part(data="x" * (MIB - 2)),
        Part(data=None, media_type="Application/JSON; charset=utf-8"),
        Part(data={}, media_type="application/sarif+json"),
        Part(raw=b"x" * MIB, media_type="text/markdown"),
        Part(raw="é".encode(), media_type="application/yaml"),
        Part(raw=b"\xff" * (4 * MIB), media_type="image/png"),
        Part(raw=b"\xff" * (4 * MIB)),
        Part(raw=b"", media_type="audio/wav"),
        Part(url="file:///a.txt"),
        Part(url="FILE:///deep/er/a%20b%3F.txt"),
    ],
)
def test_what_is_within_the_limits_is_taken(part: Part) -> None:
    check_parts(TAKES_ALL, [part])


@pytest.mark.parametrize(
    ("part", "field", "text"),
    [
        (Part(text="x" * (MIB + 1)), "text", "A2A text part content is too large."),
        (Part(text="é" * (MIB // 2) + "x"), "text", "A2A text part content is too large."),
        (Part(data="x" * (MIB - 1)), "data", "A2A data part content is too large."),
        (
            Part(raw=b"x" * (MIB + 1), media_type="text/csv"),
            "raw",
            "A2A raw part content is too large.",
        ),
        (
            Part(raw=b"x" * (MIB + 1), media_type="application/json"),
            "raw",
            "A2A raw part content is too large.",
        ),
        (Part(raw=b"x" * (4 * MIB + 1)), "raw", "A2A raw part content is too large."),
        (
            Part(raw=b"x" * (4 * MIB + 1), media_type="image/webp"),
            "raw",
            "A2A raw part content is too large.",
        ),
        (
            Part(raw=b"\xff", media_type="text/plain"),
            "raw",
            "A2A raw parts must contain valid UTF-8.",
        ),
        (
            Part(raw=b"\xc3", media_type="Application/X-YAML; charset=utf-8"),
            "raw",
            "A2A raw parts must contain valid UTF-8.",
        ),
    ],
)
def test_what_is_too_large_or_no_text_is_refused_by_name(part: Part, field: str, text: str) -> None:
    error = refused(part)

    assert error.message == text
    assert [each.field for each in error.violations] == [f"message.parts[1].{field}"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/x",
        "http://169.254.169.254/latest/meta-data",
        "HTTPS://example.com/file:///x",
        "ftp://example.com/x",
        "s3://bucket/key",
        "data:text/plain,hello",
        "file://other-host/x",
        "file://localhost/x",
        "file:/x",
        "file:x",
        "x.txt",
        "",
        " file:///x",
        "file:///x?version=1",
        "file:///x#top",
    ],
)
def test_an_address_of_anything_but_a_file_is_refused(url: str) -> None:
    error = refused(Part(url=url))

    assert error.message == "A2A file URL parts must use local file:// URLs."
    assert error.violations[0].field == "message.parts[1].url"


@pytest.mark.parametrize(
    "url",
    [
        "file:///",
        "file:///../x",
        "file:///a/../../x",
        "file:///a/./x",
        "file:///%2e%2e/x",
        "file:///a%2F..%2Fx",
        "file:///a//x",
        "file:////etc/passwd",
        "file:///%2Fetc/passwd",
        "file:///a%5C..%5Cx",
        "file:///a\\x",
        "file:///a/",
    ],
)
def test_an_address_that_leads_out_of_the_context_is_refused(url: str) -> None:
    error = refused(Part(url=url))

    assert error.message == "A2A file URL part is outside the allowed workspace."
    assert error.violations[0].field == "message.parts[1].url"


@pytest.mark.parametrize(
    "url",
    ["file:///%ff", "file:///a%00b", "file:///a\nb", f"file:///{'x' * 513}", f"file:///{'%C3%A9' * 257}"],
)
def test_an_address_that_no_file_can_have_is_one_of_no_file(url: str) -> None:
    assert refused(Part(url=url)).message == "A2A file URL parts must reference an existing file."


def test_a_name_is_decoded_once() -> None:
    check_parts(TAKES_ALL, [Part(url="file:///%252e%252e/x")])


def test_no_file_is_taken_where_files_are_switched_off() -> None:
    error = refused(Part(url="file:///x"), Policy(files=FilePolicy(uploads=False)))

    assert error.violations[0].field == "message.parts[1].url"


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/octet-stream"])
def test_data_of_another_type_than_json_is_refused(media_type: str) -> None:
    with pytest.raises(ContentTypeNotSupportedError) as error:
        check_parts(TAKES_ALL, [Part(data={}, media_type=media_type)])

    assert error.value.message == "A2A data parts must use application/json media type."
    assert error.value.metadata == {"field": "message.parts[0].mediaType", "mediaType": media_type}


@pytest.mark.parametrize("texts", [[""], [" \n"], ["", "\t"]])
def test_a_message_that_says_nothing_is_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidParamsError) as error:
        check_parts(TAKES_ALL, [Part(text=text) for text in texts])

    assert [each.field for each in error.value.violations] == ["message.parts"]


def test_a_blank_text_beside_something_is_taken() -> None:
    check_parts(TAKES_ALL, [Part(text=""), Part(data=0)])


@pytest.mark.parametrize(
    ("media_type", "textual"),
    [
        ("text/html", True),
        ("TEXT/x-anything; a=b", True),
        ("application/json", True),
        ("application/vnd.x+json", True),
        ("image/svg+xml", True),
        ("application/octet-stream", False),
        ("image/png", False),
        ("", False),
    ],
)
def test_types_of_text_are_known(media_type: str, *, textual: bool) -> None:
    assert is_text(media_type) is textual


@pytest.mark.parametrize(
    "part",
    [Part(text="x" * (MIB + 1)), Part(url="https://example.com/"), Part(url="file:///../x"), Part(text=" ")],
)
def test_a_message_that_cannot_be_taken_leaves_nothing_behind(part: Part) -> None:
    world = World()
    wanted: SendMessageRequest = asking(message("m", part))

    with pytest.raises(A2AError):
        world.answer(wanted)

    stored: list[Any] = [*world.table.items, *world.contents.stored]
    assert stored == []
    assert world.executions.started == []
