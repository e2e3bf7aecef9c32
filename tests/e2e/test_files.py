"""Files on a whole deployment: uploaded by a link, named by messages, kept by the agent, in little memory."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.e2e.stack import PATIENCE, LocalStack, processes, running

MIB = 1024 * 1024
TOKENS = {"alice": "alice-opens-this", "bob": "bob-opens-that"}
BINDINGS = ("JSONRPC", "HTTP+JSON")
BIG = hashlib.shake_256(b"photo").digest(25 * MIB)
CUP = b"\x89PNG of a cup"

SPARE = 12 * MIB
"""Bytes that handling a file of 25 MiB may take, in whichever process; a part of an upload has 8."""


@pytest.fixture(scope="module")
def filing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A deployment of the agent that files what it is sent."""
    tokens = (argument for name, token in TOKENS.items() for argument in ("--token", f"{name}={token}"))
    with running(tmp_path_factory.mktemp("filing"), "--agent", "tests.e2e.filing:agent", *tokens) as stack:
        yield stack


@dataclass
class Client:
    """Somebody who talks to the agent in one conversation, over one binding."""

    stack: LocalStack
    http: httpx.Client
    binding: str = "JSONRPC"
    context: str = ""
    tenant: str = ""

    def __post_init__(self) -> None:
        self.context = self.context or str(uuid4())

    def ask(self, name: str, media_type: str, size: int, sha256: str | None = None) -> httpx.Response:
        """Ask where to upload a file."""
        described = {"name": name, "mediaType": media_type, "byteSize": size}
        prefix = f"/{self.tenant}" if self.tenant else ""
        return self.http.post(
            f"{prefix}/contexts/{self.context}/files",
            json=described if sha256 is None else {**described, "sha256": sha256},
        )

    def upload(self, name: str, content: bytes, media_type: str = "image/png") -> Any:
        """Upload a file; returns the part to send."""
        asked = self.ask(name, media_type, len(content), hashlib.sha256(content).hexdigest())
        assert asked.status_code == 201, asked.text
        offered = asked.json()
        assert put(offered, content).status_code == 200
        return offered["part"]

    def send(self, text: str, *parts: Any, at_once: bool = False, **members: Any) -> Any:
        """The task, or the error, that a message is answered with."""
        message = {
            "messageId": str(uuid4()),
            "role": "ROLE_USER",
            "contextId": self.context,
            "parts": [{"text": text}, *parts],
            **members,
        }
        asked: dict[str, Any] = {"message": message, "configuration": {"returnImmediately": at_once}}
        if self.tenant:
            asked["tenant"] = self.tenant
        if self.binding == "JSONRPC":
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": asked}
            reply = self.http.post("/", json=call).json()
            return reply["error"] if "error" in reply else reply["result"]["task"]
        reply = self.http.post("/message:send", json=asked).json()
        return reply["error"] if "error" in reply else reply["task"]

    def told(self, text: str, *parts: Any, **members: Any) -> Any:
        """What the agent tells of a message."""
        task = self.send(text, *parts, **members)
        assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
        return task["artifacts"][0]["parts"][0]["data"]

    def get(self, task_id: str) -> Any:
        """The task as it is now."""
        return self.http.get(f"/tasks/{task_id}").json()

    def until(self, task_id: str, state: str, *, says: bool = False) -> Any:
        """The task when it has got there, and has said something if `says`; as its stream tells it."""

        def there(status: Mapping[str, Any]) -> bool:
            return status["state"] == f"TASK_STATE_{state}" and ("message" in status or not says)

        with self.http.stream("POST", f"/tasks/{task_id}:subscribe") as answer:
            frames = (json.loads(line[5:]) for line in answer.iter_lines() if line.startswith("data:"))
            told = ((each.get("task") or each.get("statusUpdate") or {}).get("status") for each in frames)
            assert answer.status_code == 400 or any(status and there(status) for status in told)
        task = self.get(task_id)
        assert there(task["status"]), task
        return task


def put(offered: Mapping[str, Any], content: bytes, **headers: str) -> httpx.Response:
    """Send bytes where they were offered to go."""
    upload = offered["upload"]
    return httpx.request(
        upload["method"], upload["url"], headers={**upload["headers"], **headers}, content=content, timeout=60
    )


@pytest.fixture
def alice(filing: LocalStack) -> Iterator[Client]:
    with opened(filing, "alice") as http:
        yield Client(filing, http)


@pytest.fixture
def bob(filing: LocalStack) -> Iterator[Client]:
    with opened(filing, "bob") as http:
        yield Client(filing, http)


def opened(stack: LocalStack, name: str) -> httpx.Client:
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {TOKENS[name]}"}
    return httpx.Client(base_url=stack.url, headers=headers, timeout=PATIENCE)


def blamed(error: Any) -> list[str]:
    """The fields that an error blames, over either binding."""
    details = error.get("data") or error["details"]
    return [each["field"] for found in details for each in found.get("fieldViolations", ())]


# --- files of callers ------------------------------------------------


def memory_of(stack: LocalStack, function: str) -> dict[int, int]:
    """The most that each process of a function has had, by its pid."""
    found = {}
    for pid in processes(stack, function):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        found[pid] = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return found


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_file_of_25_mib_reaches_the_agent_whole_and_nobodys_memory(alice: Client, binding: str) -> None:
    alice.binding = binding
    function = "jsonrpc" if binding == "JSONRPC" else "http_json"
    alice.told("digest", alice.upload("photos/first.png", CUP))  # loads what is loaded for any file
    before = memory_of(alice.stack, function)

    part = alice.upload("photos/big one.png", BIG)
    (told,) = alice.told("digest", part)

    digest = hashlib.sha256(BIG).hexdigest()
    assert part == {
        "url": "file:///photos/big%20one.png",
        "filename": "big one.png",
        "mediaType": "image/png",
    }
    assert {name: told[name] for name in told.keys() - {"memory", "read"}} == {
        "part": 1,
        "filename": "big one.png",
        "mediaType": "image/png",
        "byteSize": len(BIG),
        "sha256": digest,
        "source": "file:///photos/big%20one.png",
        "held": "url",
    }
    assert (told["read"]["byteSize"], told["read"]["sha256"]) == (len(BIG), digest)
    assert told["read"]["largest"] <= MIB
    assert told["memory"] < SPARE
    after = memory_of(alice.stack, function)
    assert before
    assert all(after[pid] - before[pid] < SPARE for pid in before.keys() & after.keys())


def test_a_large_file_is_copied_by_the_agent_in_little_memory(alice: Client) -> None:
    alice.told("digest", alice.upload("big.bin", BIG, "application/octet-stream"))

    copied = alice.told("copy big.bin copy.bin")

    assert (copied["byteSize"], copied["sha256"]) == (len(BIG), hashlib.sha256(BIG).hexdigest())
    assert copied["memory"] < 3 * SPARE
    assert alice.told("files") == {"big.bin": len(BIG), "copy.bin": len(BIG)}


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (CUP + b"!", {"Content-Length": str(len(CUP) + 1)}),
        (CUP, {"Content-Type": "text/html"}),
        (CUP[::-1], {}),
    ],
    ids=["longer", "of another type", "other bytes"],
)
def test_nothing_is_stored_but_what_was_offered_a_place(
    alice: Client, content: bytes, headers: Mapping[str, str]
) -> None:
    offered = alice.ask("cup.png", "image/png", len(CUP), hashlib.sha256(CUP).hexdigest()).json()

    refused = put(offered, content, **headers)

    assert refused.status_code in (400, 403)
    error = alice.send("digest", offered["part"])
    assert (error["message"], blamed(error)) == (
        "A2A file URL parts must reference an existing file.",
        ["message.parts[1].url"],
    )


def test_what_is_uploaded_after_a_message_changes_nothing_of_it(alice: Client) -> None:
    part = alice.upload("cup.png", CUP)
    first = alice.told("digest", part)

    alice.upload("cup.png", b"another cup")
    second = alice.told("digest", part)

    assert [first[0]["read"]["byteSize"], second[0]["read"]["byteSize"]] == [len(CUP), 11]
    assert first[0]["held"] == "raw"


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_file_is_nobody_elses_and_of_no_other_conversation(
    alice: Client, bob: Client, binding: str
) -> None:
    part = alice.upload("cup.png", CUP)
    elsewhere = Client(alice.stack, alice.http, binding)
    his = Client(bob.stack, bob.http, binding, context=alice.context)
    tenants = Client(alice.stack, alice.http, binding, context=alice.context, tenant="acme")

    errors = [each.send("digest", part) for each in (elsewhere, his, tenants)]

    assert {error["message"] for error in errors} == {"A2A file URL parts must reference an existing file."}
    assert len(alice.told("digest", part)) == 1


def test_a_tenants_file_is_the_tenants(alice: Client) -> None:
    tenants = Client(alice.stack, alice.http, tenant="acme")

    part = tenants.upload("cup.png", CUP)

    assert tenants.told("digest", part)[0]["sha256"] == hashlib.sha256(CUP).hexdigest()


def test_strangers_are_offered_nothing(filing: LocalStack) -> None:
    answer = httpx.post(f"{filing.url}/contexts/c/files", json={"name": "x"})

    assert (answer.status_code, answer.json()) == (401, {"error": "Unauthorized"})


def test_a_file_that_is_too_large_or_of_a_type_nobody_takes_is_offered_no_place(alice: Client) -> None:
    large = alice.ask("big.bin", "application/octet-stream", 25 * MIB + 1)
    odd = alice.ask("film.mp4", "video/mp4", 10)

    assert (large.status_code, blamed(large.json()["error"])) == (400, ["byteSize"])
    assert odd.json()["error"]["details"][0]["reason"] == "CONTENT_TYPE_NOT_SUPPORTED"


# --- parts of messages ------------------------------------------------


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("binding", BINDINGS)
def test_four_mib_of_an_image_come_in_a_message(alice: Client, binding: str) -> None:
    alice.binding = binding
    image = BIG[: 4 * MIB]

    (told,) = alice.told("digest", {"raw": encoded(image), "mediaType": "image/png", "filename": "a.png"})

    assert told["held"] == told["source"] == "raw"
    assert told["read"]["sha256"] == told["sha256"] == hashlib.sha256(image).hexdigest()


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    ("part", "text", "field"),
    [
        (
            {"raw": encoded(bytes(4 * MIB + 1)), "mediaType": "image/png"},
            "A2A raw part content is too large.",
            "raw",
        ),
        ({"text": "x" * (MIB + 1)}, "A2A text part content is too large.", "text"),
        (
            {"raw": encoded(b"\xff"), "mediaType": "text/plain"},
            "A2A raw parts must contain valid UTF-8.",
            "raw",
        ),
        (
            {"url": "https://example.com/cup.png"},
            "A2A file URL parts must use local file:// URLs.",
            "url",
        ),
        (
            {"url": "file:///../cup.png"},
            "A2A file URL part is outside the allowed workspace.",
            "url",
        ),
        ({"url": "file:///cup.png"}, "A2A file URL parts must reference an existing file.", "url"),
    ],
)
def test_what_no_message_may_hold_is_refused_by_name(
    alice: Client, binding: str, part: Any, text: str, field: str
) -> None:
    alice.binding = binding

    error = alice.send("digest", part)

    assert (error["message"], blamed(error)) == (text, [f"message.parts[1].{field}"])


# --- files of the agent ------------------------------------------------


def test_what_the_agent_keeps_it_finds_again_and_its_caller_may_name(alice: Client) -> None:
    assert alice.told("keep a.txt one") == {"a.txt": "one"}
    assert alice.told("keep sub/b.txt two") == {"a.txt": "one", "sub/b.txt": "two"}
    alice.stack.replace_functions()

    assert alice.told("keep a.txt three") == {"a.txt": "three", "sub/b.txt": "two"}
    (told,) = alice.told("digest", {"url": "file:///sub/b.txt"})

    assert (told["filename"], told["mediaType"], told["byteSize"]) == ("b.txt", "text/plain", 3)
    assert Client(alice.stack, alice.http).told("files") == {}


def test_files_outlast_a_pause_of_the_turn(alice: Client) -> None:
    alice.told("keep a.txt one")
    part = alice.upload("cup.png", b"a cup")

    told = alice.told("pause b.txt", part)

    assert told == {"a.txt": "one", "b.txt": "kept through a pause", "cup.png": "a cup"}
    assert alice.told("files").keys() == {"a.txt", "b.txt", "cup.png"}


def test_a_turn_that_dies_leaves_the_files_as_they_were(alice: Client) -> None:
    alice.told("keep a.txt one")

    died = alice.send("crash b.txt")

    assert alice.until(died["id"], "FAILED")
    assert alice.told("files") == {"a.txt": "one"}


def test_a_turn_that_is_cancelled_leaves_the_files_as_they_were(alice: Client) -> None:
    alice.told("keep a.txt one")
    waiting = alice.send("wait b.txt", at_once=True)
    alice.until(waiting["id"], "WORKING", says=True)

    alice.http.post(f"/tasks/{waiting['id']}:cancel")

    assert alice.get(waiting["id"])["status"]["state"] == "TASK_STATE_CANCELED"
    assert alice.told("files") == {"a.txt": "one"}


def test_a_conversation_about_another_workspace_is_another_conversation(alice: Client) -> None:
    shop, garden = ({"urn:a2a-serverless:files:v1": {"workspace": name}} for name in ("shop", "garden"))
    alice.told("keep a.txt one", metadata=shop)

    error = alice.send("files", metadata=garden)

    assert error["message"] == "A2A context belongs to a different workspace."
    assert alice.told("files", metadata=shop) == {"a.txt": "one"}
