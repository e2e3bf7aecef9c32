"""Files of any size: fetched to the last byte whatever breaks, uploaded, and shown no credential of ours."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_serverless.client import (
    Bearer,
    Client,
    Downloaded,
    NoUsableInterfaceError,
    UnexpectedAnswerError,
    UnreachableError,
    connect,
)
from a2a_serverless.protocol.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from a2a_serverless.protocol.objects import Part
from tests.unit.client.agents_on_paper import URL, Answering, Paper, card

CONTENT = bytes(range(256)) * 1000
AT = f"{URL}/artifacts/t1/report"
STORAGE = "https://storage.example/signed?signature=abc"
FILES = {"extensions": [{"uri": "urn:a2a-serverless:files:v1"}], "streaming": True}


class Breaking(httpx.AsyncByteStream):
    """Bytes that break off."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content
        raise httpx.ReadError("gone")


def lying(*, breaks_at: int | None = None, etag: str | None = '"v1"', content: bytes = CONTENT) -> Answering:
    """Answers with the content, from where it is asked for; breaks off after so many bytes."""

    def answer(request: httpx.Request) -> httpx.Response:
        headers = {"ETag": etag} if etag else {}
        wanted = request.headers.get("range")
        begins = 0
        if wanted is not None and request.headers["if-range"] == etag:
            begins = int(wanted.removeprefix("bytes=").removesuffix("-"))
            headers["Content-Range"] = f"bytes {begins}-{len(content) - 1}/{len(content)}"
        rest = content[begins:]
        body: Any = rest if breaks_at is None else Breaking(rest[:breaks_at])
        sent = {"content": body} if isinstance(body, bytes) else {"stream": body}
        return httpx.Response(
            206 if begins else 200, headers={"Content-Type": "image/png", **headers}, **sent
        )

    return answer


def leading(to: str) -> Answering:
    return lambda _: httpx.Response(302, headers={"Location": to})


def run(paper: Paper, calling: Callable[[Client], Any], **options: Any) -> Any:
    async def called() -> Any:
        async with connect(URL, options=paper.options(**options)) as agent:
            return await calling(agent)

    return asyncio.run(called())


def fetched(paper: Paper, path: Path, url: str = AT, most: int | None = None, **options: Any) -> Downloaded:
    got: Downloaded = run(paper, lambda agent: agent.download(Part(url=url), path, most=most), **options)
    return got


def test_what_lies_at_an_address_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "report.png"

    got = fetched(Paper([lying()]), path)

    assert path.read_bytes() == CONTENT
    assert got == Downloaded(path, len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "image/png")
    assert list(tmp_path.iterdir()) == [path]


def test_a_download_that_breaks_goes_on_where_it_was(tmp_path: Path) -> None:
    paper = Paper([lying(breaks_at=1000), lying(breaks_at=5000), lying()])

    got = fetched(paper, tmp_path / "report")

    assert got.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert [each.headers.get("range") for each in paper.asked] == [None, "bytes=1000-", "bytes=6000-"]


def test_it_begins_anew_where_something_else_lies_there_by_then(tmp_path: Path) -> None:
    paper = Paper([lying(breaks_at=1000), lying(etag='"v2"', content=b"other")])

    fetched(paper, tmp_path / "report")

    assert (tmp_path / "report").read_bytes() == b"other"


def test_and_where_nobody_can_tell(tmp_path: Path) -> None:
    paper = Paper([lying(breaks_at=1000, etag=None), lying(etag=None)])

    fetched(paper, tmp_path / "report")

    assert (tmp_path / "report").read_bytes() == CONTENT
    assert "range" not in paper.asked[1].headers


def test_a_file_that_never_comes_whole_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        fetched(Paper([lying(breaks_at=10)]), tmp_path / "report")

    assert list(tmp_path.iterdir()) == []


def test_credentials_go_to_the_agent_and_not_to_where_a_link_leads(tmp_path: Path) -> None:
    paper = Paper([leading(STORAGE), lying()])

    fetched(paper, tmp_path / "report", auth=Bearer("secret"), headers={"X-Own": "1"})

    agents, storages = paper.asked
    assert (agents.headers["authorization"], agents.headers["x-own"]) == ("Bearer secret", "1")
    assert not {"authorization", "x-own"} & set(storages.headers)
    assert str(storages.url) == STORAGE


def test_nor_to_another_origin_that_a_part_names(tmp_path: Path) -> None:
    paper = Paper([lying()])

    fetched(paper, tmp_path / "one", url=STORAGE, auth=Bearer("secret"))
    fetched(
        paper,
        tmp_path / "two",
        url=STORAGE,
        auth=Bearer("secret"),
        credential_origins=("https://storage.example",),
    )

    assert [each.headers.get("authorization") for each in paper.asked] == [None, "Bearer secret"]


@pytest.mark.parametrize(
    ("answers", "url", "text"),
    [
        ([leading("http://storage.example/")], AT, "no TLS"),
        ([leading("file:///etc/passwd")], AT, "no TLS"),
        ([leading(AT)], AT, "too often"),
        ([lying()], "file:///report.png", "neither http nor https"),
        ([lambda _: httpx.Response(416)], AT, "416"),
        ([lambda _: httpx.Response(204)], AT, "204"),
    ],
)
def test_an_address_that_leads_astray_is_not_followed(
    tmp_path: Path, answers: list[Answering], url: str, text: str
) -> None:
    with pytest.raises(UnexpectedAnswerError, match=text):
        fetched(Paper(answers), tmp_path / "report", url=url)

    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_protocol_is_raised_as_it_is(tmp_path: Path) -> None:
    info = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND"}]
    refused = httpx.Response(404, json={"error": {"code": 404, "message": "No", "details": info}})

    with pytest.raises(TaskNotFoundError):
        fetched(Paper([lambda _: refused]), tmp_path / "report")


def test_no_more_is_fetched_than_was_wanted(tmp_path: Path) -> None:
    with pytest.raises(UnexpectedAnswerError, match="more than 1000 bytes"):
        fetched(Paper([lying()]), tmp_path / "report", most=1000)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (Part(raw=b"\0\1", media_type="image/png"), b"\0\1"),
        (Part(text="één"), "één".encode()),
        (Part(data={"a": 1}), b'{"a": 1}'),
    ],
)
def test_what_a_part_holds_itself_is_written_too(tmp_path: Path, part: Part, content: bytes) -> None:
    paper = Paper([lying()])

    run(paper, lambda agent: agent.download(part, str(tmp_path / "held")))

    assert (tmp_path / "held").read_bytes() == content
    assert paper.asked == []


def created(url: str = STORAGE) -> Answering:
    upload = {
        "method": "PUT",
        "url": url,
        "headers": {
            "Content-Type": "image/png",
            "Content-Length": str(len(CONTENT)),
            "x-amz-checksum-sha256": "x",
        },
        "expiresAt": "2026-11-30T12:15:00.000Z",
    }
    part = {"url": "file:///cup.png", "filename": "cup.png", "mediaType": "image/png"}
    return lambda _: httpx.Response(201, json={"part": part, "upload": upload})


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    path = tmp_path / "cup.png"
    path.write_bytes(CONTENT)
    return path


def uploaded(paper: Paper, path: Path, **options: Any) -> Any:
    return run(paper, lambda agent: agent.upload("c/1", path), auth=Bearer("secret"), **options)


def test_a_file_is_put_among_those_of_a_conversation(cup: Path) -> None:
    paper = Paper([created(), lambda _: httpx.Response(200)], card=card(capabilities=FILES))

    part = uploaded(paper, cup)

    asked, sent = paper.asked
    assert str(asked.url) == f"{URL}/contexts/c%2F1/files"
    assert json.loads(asked.content) == {
        "name": "cup.png",
        "mediaType": "image/png",
        "byteSize": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
    }
    assert (sent.method, str(sent.url), sent.content) == ("PUT", STORAGE, CONTENT)
    assert sent.headers["content-length"] == str(len(CONTENT))
    assert "transfer-encoding" not in sent.headers
    assert "authorization" not in sent.headers
    assert part == Part(url="file:///cup.png", filename="cup.png", media_type="image/png")


def test_an_upload_that_breaks_off_is_sent_again(cup: Path) -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.WriteError("gone", request=request)

    paper = Paper([created(), broken, lambda _: httpx.Response(200)], card=card(capabilities=FILES))

    uploaded(paper, cup)

    assert [len(each.content) for each in paper.asked[1:]] == [len(CONTENT)] * 2


@pytest.mark.parametrize(
    "address", ["http://storage.example/cup", "ftp://storage.example", "https://xn--.example"]
)
def test_a_file_is_sent_nowhere_that_has_less_protection_than_the_agent(cup: Path, address: str) -> None:
    paper = Paper([created(address)], card=card(capabilities=FILES))

    with pytest.raises(UnexpectedAnswerError, match="the upload's address is"):
        uploaded(paper, cup)

    assert len(paper.asked) == 1


def test_an_upload_that_is_refused_says_so(cup: Path) -> None:
    xml = httpx.Response(
        403, text="<Error><Code>AccessDenied</Code></Error>", headers={"Content-Type": "text/xml"}
    )
    paper = Paper([created(), lambda _: xml], card=card(capabilities=FILES))
    invalid = httpx.Response(
        400,
        json={
            "error": {
                "code": 400,
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS"}
                ],
            }
        },
    )

    with pytest.raises(UnexpectedAnswerError, match="403") as caught:
        uploaded(paper, cup)
    with pytest.raises(InvalidParamsError):
        uploaded(Paper([lambda _: invalid], card=card(capabilities=FILES)), cup)

    assert "AccessDenied" in caught.value.excerpt


def test_an_agent_that_announces_no_files_is_sent_none(cup: Path) -> None:
    only_rpc = card({"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, capabilities=FILES)

    with pytest.raises(UnsupportedOperationError):
        uploaded(Paper([created()]), cup)
    with pytest.raises(NoUsableInterfaceError):
        uploaded(Paper([created()], card=only_rpc), cup)
