"""Files that are uploaded: asked for at the agent, sent without credentials, named by their parts."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from tests.unit.cli.caller import CONTEXT, URL, Caller, answered, card, task

FILES = {"streaming": True, "extensions": [{"uri": "urn:a2a-serverless:files:v1"}]}
STORAGE = "https://bucket.example/uploads/1?X-Amz-Signature=s"


class Storage:
    """An agent that takes files, and the storage behind it."""

    def __init__(self, caller: Caller, status: int = 200) -> None:
        self.asked: list[tuple[httpx.Request, bytes]] = []
        self.stored: list[tuple[httpx.Request, bytes]] = []
        self.status = status
        caller.paper.card = card(capabilities=FILES)
        self.ask = caller.paper.handle_async_request
        caller.paper.handle_async_request = self.answer  # type: ignore[method-assign]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.host == "bucket.example":
            self.stored.append((request, await request.aread()))
            return httpx.Response(self.status)
        if not request.url.path.endswith("/files"):
            return await self.ask(request)
        self.asked.append((request, await request.aread()))
        asked = json.loads(self.asked[-1][1])
        part = {"url": f"file:///{asked['name']}", "filename": asked["name"], "mediaType": asked["mediaType"]}
        headers = {"Content-Type": asked["mediaType"], "Content-Length": str(asked["byteSize"])}
        upload = {
            "method": "PUT",
            "url": STORAGE,
            "headers": headers,
            "expiresAt": "2026-11-30T12:15:00.000Z",
        }
        return httpx.Response(201, json={"part": part, "upload": upload})


def test_a_file_is_uploaded_and_named_by_its_part(caller: Caller, tmp_path: Path) -> None:
    storage = Storage(caller)
    (tmp_path / "cup.png").write_bytes(b"png")

    ended = caller.run("upload", URL, "cup.png", "--context", CONTEXT, "--token", "hunter2")

    part = {"url": "file:///cup.png", "mediaType": "image/png", "filename": "cup.png"}
    assert (ended.exit_code, json.loads(ended.stdout)) == (0, part)
    assert ended.stderr.startswith(f"in the conversation {CONTEXT}: ")
    [(asked, body)], [(stored, sent)] = storage.asked, storage.stored
    assert str(asked.url) == f"{URL}/contexts/{CONTEXT}/files"
    assert asked.headers["Authorization"] == "Bearer hunter2"
    assert json.loads(body) == {
        "name": "cup.png",
        "mediaType": "image/png",
        "byteSize": 3,
        "sha256": hashlib.sha256(b"png").hexdigest(),
    }
    assert (stored.method, str(stored.url), sent) == ("PUT", STORAGE, b"png")
    assert (stored.headers.get("Authorization"), stored.headers["Content-Length"]) == (None, "3")


def test_a_conversation_is_made_up_where_none_is_said(caller: Caller, tmp_path: Path) -> None:
    Storage(caller)
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")

    told = caller.read("upload", URL, "a", "b")

    assert [part["url"] for part in told["parts"]] == ["file:///a", "file:///b"]
    assert len(told["contextId"]) == 36


def test_a_big_file_of_a_message_is_uploaded_to_its_conversation(caller: Caller, tmp_path: Path) -> None:
    storage = Storage(caller)
    (tmp_path / "big.bin").write_bytes(b"x" * (1024 * 1024 + 1))

    caller.run("call", URL, "Look", "--file", "big.bin")

    [(asked, _)] = storage.asked
    assert asked.url.path == f"/contexts/{caller.said['contextId']}/files"
    assert caller.said["parts"][1]["url"] == "file:///big.bin"


def test_a_big_file_for_a_task_goes_to_the_tasks_conversation(caller: Caller, tmp_path: Path) -> None:
    storage = Storage(caller)
    (tmp_path / "big.bin").write_bytes(b"x" * (1024 * 1024 + 1))
    caller.answers(answered(task("INPUT_REQUIRED")), *caller.paper.answers)

    caller.run("call", URL, "Look", "--file", "big.bin", "--task", "t-1")

    [(asked, _)] = storage.asked
    assert asked.url.path == f"/contexts/{CONTEXT}/files"
    assert (caller.said["contextId"], caller.said["taskId"]) == (CONTEXT, "t-1")


def test_an_agent_that_takes_no_uploads_is_not_asked(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")

    ended = caller.run("upload", URL, "a")

    assert (ended.exit_code, caller.paper.asked) == (1, [])
    assert ended.stderr == "error: Paper takes no uploads: its card does not announce them\n"


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("upload", URL), 2, "error: FILE is missing"),
        (("upload", URL, "nothing"), 3, "error: nothing cannot be read: No such file or directory"),
        (("call", URL, "x", "--file", "nothing"), 3, "error: nothing cannot be read: No such file"),
    ],
)
def test_a_file_that_is_not_there_is_named(
    caller: Caller, arguments: tuple[str, ...], status: int, line: str
) -> None:
    Storage(caller)

    ended = caller.run(*arguments)

    assert (ended.exit_code, ended.stdout) == (status, "")
    assert ended.stderr.startswith(line)


def test_a_storage_that_takes_nothing_is_said_to(caller: Caller, tmp_path: Path) -> None:
    Storage(caller, status=403)
    (tmp_path / "a").write_bytes(b"a")

    ended = caller.run("upload", URL, "a")

    assert (ended.exit_code, ended.stderr) == (1, f"error: {URL}: the upload was refused (status 403)\n")
