"""Artifacts on disk: under names that lead nowhere else, nothing overwritten, and what they say they are."""

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from a2a_serverless.cli.saving import safe_name
from a2a_serverless.protocol.objects import Artifact, Part
from tests.unit.cli.caller import TASK, URL, Caller, artifact, piece, status, streamed, task

CONTENT = b"all of it"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (Part(text="x"), "report.txt"),
        (Part(text="x", media_type="text/markdown; charset=utf-8"), "report.md"),
        (Part(data={}), "report.json"),
        (Part(raw=b"x", media_type="image/png"), "report.png"),
        (Part(raw=b"x"), "report"),
        (Part(raw=b"x", filename="../../etc/passwd"), "passwd"),
        (Part(raw=b"x", filename="..\\..\\boot.ini"), "boot.ini"),
        (Part(raw=b"x", filename=".bashrc"), "bashrc"),
        (Part(raw=b"x", filename="a\x1b[2J\n/b\x00c.txt"), "b_c.txt"),
        (Part(raw=b"x", filename=".."), "artifact"),
        (Part(raw=b"x", filename="CON.txt"), "_CON.txt"),
        (Part(raw=b"x", filename="a" * 300), "a" * 120),
        (Part(raw=b"x", filename="Übersicht 日本.pdf"), "Übersicht 日本.pdf"),
        (Part(raw=b"x", filename="U\u0308.txt"), "Ü.txt"),
        (Part(raw=b"x", filename="gnp\u202efdp.exe"), "gnp_fdp.exe"),
        (Part(raw=b"x", filename="本" * 100), "本" * 40),
        (Part(raw=b"x", filename="~/x;rm -rf.sh"), "x_rm -rf.sh"),
    ],
)
def test_a_name_leads_nowhere_else(part: Part, name: str) -> None:
    assert safe_name(Artifact(artifact_id="report", parts=(part,)), part) == name


def test_parts_of_one_artifact_are_numbered() -> None:
    parts = (Part(text="x"), Part(text="y"))

    assert safe_name(Artifact(artifact_id="a", parts=parts), parts[1], 2) == "a-2.txt"


def test_nothing_is_overwritten(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    (tmp_path / "a-2.txt").symlink_to("/nowhere")
    caller.answers(streamed({"task": task("SUBMITTED")}, piece("a", "theirs"), status("COMPLETED")))

    ended = caller.run("call", URL, "Hello", "--out", ".")

    assert (ended.exit_code, ended.stdout) == (0, "saved a-3.txt\n")
    assert ((tmp_path / "a.txt").read_text(), (tmp_path / "a-3.txt").read_text()) == ("mine", "theirs")


class Files:
    """An agent with a file behind an address, or wherever that leads."""

    def __init__(self, caller: Caller, url: str, **metadata: Any) -> None:
        self.asked: list[httpx.Request] = []
        self.answers: dict[str, httpx.Response] = {}
        part = {"url": url, "filename": "big.bin", "metadata": metadata}
        done = task("COMPLETED", artifacts=[artifact("a", part)])
        caller.answers(streamed({"task": done}))
        self.ask = caller.paper.handle_async_request
        caller.paper.handle_async_request = self.answer  # type: ignore[method-assign]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        if request.method != "GET" or request.url.path.endswith(".json"):
            return await self.ask(request)
        self.asked.append(request)
        return self.answers.get(str(request.url), httpx.Response(200, content=CONTENT))


def test_what_lies_at_an_address_is_fetched_as_whoever_calls(caller: Caller, tmp_path: Path) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    files = Files(caller, f"{URL}/artifacts/big", byteSize=len(CONTENT), sha256=digest)

    ended = caller.run("call", URL, "Hello", "--out", "made", "--token", "hunter2")

    assert (ended.exit_code, ended.stdout) == (0, "saved made/big.bin\n")
    assert (tmp_path / "made" / "big.bin").read_bytes() == CONTENT
    assert files.asked[0].headers["Authorization"] == "Bearer hunter2"


def test_credentials_are_not_shown_to_a_storage_that_an_agent_leads_to(caller: Caller) -> None:
    files = Files(caller, f"{URL}/artifacts/big")
    files.answers[f"{URL}/artifacts/big"] = httpx.Response(
        302, headers={"Location": "https://bucket.example/big?signed"}
    )

    assert caller.run("call", URL, "Hello", "--out", ".", "--token", "hunter2").exit_code == 0
    assert [request.headers.get("Authorization") for request in files.asked] == ["Bearer hunter2", None]


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/meta-data", "http://localhost:1/x", "file:///etc/passwd", "ftp://a/b"],
)
def test_an_address_in_ones_own_network_is_not_fetched(caller: Caller, tmp_path: Path, url: str) -> None:
    files = Files(caller, url)

    ended = caller.run("call", URL, "Hello", "--out", "made")

    assert (ended.exit_code, files.asked) == (1, [])
    assert "an address that is not fetched" in ended.stderr
    assert list((tmp_path / "made").iterdir()) == []


@pytest.mark.parametrize("said", [{"byteSize": 1}, {"sha256": "0" * 64}])
def test_other_bytes_than_were_promised_are_not_kept(caller: Caller, tmp_path: Path, said: Any) -> None:
    Files(caller, f"{URL}/artifacts/big", **said)

    ended = caller.run("call", URL, "Hello", "--out", "made")

    assert (ended.exit_code, list((tmp_path / "made").iterdir())) == (1, [])
    first, hint = ended.stderr.splitlines()
    assert first == "error: big.bin is not what its artifact says: other bytes came"
    assert hint == f"hint: a2a-serverless task get {URL} {TASK} --out DIR"


def test_a_file_that_is_not_given_is_said_to_be(caller: Caller) -> None:
    files = Files(caller, f"{URL}/artifacts/big")
    files.answers[f"{URL}/artifacts/big"] = httpx.Response(404)

    ended = caller.run("call", URL, "Hello", "--out", ".")

    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ")
    assert "404" in ended.stderr


def test_a_directory_that_is_none_is_said_to_be_and_how_what_was_made_is_had_all_the_same(
    caller: Caller, tmp_path: Path
) -> None:
    (tmp_path / "made").write_text("")
    caller.answers(streamed({"task": task("COMPLETED", artifacts=[artifact("a", {"text": "x"})])}))

    ended = caller.run("call", URL, "Hello", "--out", "made")

    assert ended.exit_code == 1
    assert ended.stderr.splitlines() == [
        "error: made cannot be written: File exists",
        f"hint: a2a-serverless task get {URL} {TASK} --out DIR",
    ]


def test_without_a_directory_files_are_named(caller: Caller) -> None:
    parts = ({"raw": "cG5n", "mediaType": "image/png", "filename": "a.png"}, {"url": "https://x.example/y"})
    caller.answers(streamed({"task": task("COMPLETED", artifacts=[artifact("a", *parts)])}))

    assert caller.run("call", URL, "Hello").stdout.splitlines() == [
        "[a.png, image/png: 3 bytes]",
        "[a file: https://x.example/y]",
    ]
    assert TASK
