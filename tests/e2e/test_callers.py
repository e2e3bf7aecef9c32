"""Two principals on one deployment: to each, the other's tasks are tasks that do not exist."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from a2a.utils.errors import TaskNotFoundError

from tests.e2e.callers import Part, Task, TaskState
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.stack import PATIENCE, LocalStack

PICTURE = bytes(range(256)) * 4096
"""A megabyte that is no text."""


@dataclass(frozen=True)
class Wire:
    """Bob's requests as they are, so that answers can be compared byte by byte."""

    http: httpx.Client

    def rpc(self, method: str, params: Mapping[str, Any]) -> httpx.Response:
        """One JSON-RPC request."""
        return self.http.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.fixture
def bob(workshop: LocalStack) -> Iterator[Wire]:
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {TOKENS['bob']}"}
    with httpx.Client(base_url=workshop.url, headers=headers, timeout=PATIENCE) as http:
        yield Wire(http)


def message(**ids: str) -> dict[str, Any]:
    return {"message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "echo"}], **ids}}


ASK: Mapping[str, Callable[[Wire, str], httpx.Response]] = {
    "GetTask": lambda bob, task: bob.rpc("GetTask", {"id": task}),
    "CancelTask": lambda bob, task: bob.rpc("CancelTask", {"id": task}),
    "SendMessage": lambda bob, task: bob.rpc("SendMessage", message(taskId=task)),
    "GET task": lambda bob, task: bob.http.get(f"/tasks/{task}"),
    "POST cancel": lambda bob, task: bob.http.post(f"/tasks/{task}:cancel"),
    "POST send": lambda bob, task: bob.http.post("/message:send", json=message(taskId=task)),
    "GET artifact": lambda bob, task: bob.http.get(f"/artifacts/{task}/echo/0"),
}


@pytest.mark.parametrize("way", ASK)
def test_a_foreign_task_is_answered_for_like_a_missing_one(
    workshop: LocalStack, call: Call, bob: Wire, way: str
) -> None:
    alice = call(workshop, name="alice")
    own = alice.send(Part(raw=PICTURE, media_type="image/png"))
    missing = str(uuid4())

    foreign, absent = ASK[way](bob, own.id), ASK[way](bob, missing)

    assert seen(foreign, own.id) == seen(absent, missing)
    assert foreign.status_code == (404 if way.startswith(("GET", "POST")) else 200)
    assert b"Task not found" in foreign.content
    assert alice.get(own.id) == own


def seen(answer: httpx.Response, task_id: str) -> tuple[int, dict[str, str], str]:
    """All that an answer tells, but for the id that was asked for and the gateway's names of the request."""
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("x-amzn-")}
    return answer.status_code, headers, answer.text.replace(task_id, "…")


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_listing_shows_the_callers_own_tasks_only(workshop: LocalStack, call: Call, binding: str) -> None:
    alice, bob = (call(workshop, binding, name) for name in ("alice", "bob"))
    context = str(uuid4())
    tasks = {caller: caller.send("echo", context_id=context) for caller in (alice, bob)}

    for caller, own in tasks.items():
        listed = caller.list(context_id=context)
        assert [task.id for task in listed.tasks] == [own.id]
        assert listed.total_size == 1
        assert own.id in {task.id for task in caller.list().tasks}
    assert not {task.id for task in alice.list().tasks} & {task.id for task in bob.list().tasks}


def test_one_message_id_of_two_callers_is_two_messages(workshop: LocalStack, call: Call) -> None:
    name = str(uuid4())

    tasks = [call(workshop, name=caller).send(f"echo of {caller}", message_id=name) for caller in TOKENS]

    assert [echoed(task) for task in tasks] == ["echo of alice", "echo of bob"]
    with pytest.raises(TaskNotFoundError):
        call(workshop, name="bob").get(tasks[0].id)


def echoed(task: Task) -> str:
    (artifact,) = task.artifacts
    (part,) = artifact.parts
    text: str = part.text
    return text


def test_a_context_is_not_shared_with_another_caller(workshop: LocalStack, call: Call) -> None:
    alice, bob = (call(workshop, name=name) for name in ("alice", "bob"))
    asked = alice.send("remember a secret")

    told = bob.send("remember mine, done", context_id=asked.context_id)

    assert told.id != asked.id
    assert "a secret" not in str(told)
    assert alice.get(asked.id).status.state == TaskState.TASK_STATE_INPUT_REQUIRED


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_megabyte_comes_back_by_an_address_that_opens_for_its_owner_only(
    workshop: LocalStack, call: Call, binding: str
) -> None:
    picture = Part(raw=PICTURE, media_type="image/png", filename="damage.png")

    echoed_task = call(workshop, binding, "alice").send(picture)

    assert echoed_task.status.state == TaskState.TASK_STATE_COMPLETED
    ((shown,),) = [artifact.parts for artifact in echoed_task.artifacts]
    assert (shown.WhichOneof("content"), shown.media_type, shown.filename) == (
        "url",
        "image/png",
        "damage.png",
    )
    assert shown.url.startswith(f"{workshop.url}/artifacts/{echoed_task.id}/")
    own = fetch(shown.url, TOKENS["alice"])
    assert (own.status_code, own.headers["content-type"]) == (200, "image/png")
    assert own.content == PICTURE
    assert own.headers["content-disposition"] == 'attachment; filename="damage.png"'
    assert fetch(echoed_task.history[0].parts[0].url, TOKENS["alice"]).content == PICTURE
    assert fetch(shown.url, TOKENS["bob"]).status_code == 404
    assert fetch(shown.url, "no such token").status_code == 401
    assert fetch(shown.url, None).status_code == 401


def fetch(url: str, token: str | None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(url, headers=headers, timeout=PATIENCE)
