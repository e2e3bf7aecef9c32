"""Streams over the whole deployment: the official client follows a task, and nobody misses anything."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from a2a.types import StreamResponse

from tests.e2e.callers import TaskState
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, LocalStack
from tests.e2e.test_conversations import DECISION, ORDER, PHOTO, QUESTION

HEADERS = {"A2A-Version": "1.0", "Authorization": f"Bearer {TOKENS['alice']}"}

SILENCE = 7
"""Seconds an agent says nothing: longer than the official client bears by itself."""


def states(frames: Sequence[StreamResponse]) -> list[str]:
    """The states a stream tells of, artifacts by name."""
    found = []
    for frame in frames:
        if frame.HasField("task"):
            found.append(TaskState.Name(frame.task.status.state))
        elif frame.HasField("status_update"):
            found.append(TaskState.Name(frame.status_update.status.state))
        else:
            found.append(frame.artifact_update.artifact.artifact_id)
    return [name.removeprefix("TASK_STATE_") for name in found]


@dataclass(frozen=True)
class Event:
    """One event of a stream as it came over the wire; `id` is None for a message without a task."""

    id: int | None
    data: Any


@contextmanager
def events(stack: LocalStack, path: str, body: Any = None, **headers: str) -> Iterator[Iterator[Event]]:
    """The events of a stream of HTTP+JSON, read one by one; leaving the block cuts the connection."""
    with (
        httpx.Client(base_url=stack.url, headers={**HEADERS, **headers}, timeout=PATIENCE) as client,
        client.stream("POST", path, json=body) as response,
    ):
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["access-control-allow-origin"] == "*"
        yield _parsed(response.iter_lines())


def _parsed(lines: Iterator[str]) -> Iterator[Event]:
    position: int | None = None
    for line in lines:
        field, _, value = line.partition(": ")
        if field == "id":
            position = int(value)
        elif field == "data":
            yield Event(position, json.loads(value))


def message(text: str, message_id: str) -> Any:
    return {"message": {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}}


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_damaged_order_is_followed_from_its_message_to_its_decision(
    fulfilment: LocalStack, call: Call, binding: str
) -> None:
    caller = call(fulfilment, binding)

    asked = caller.stream(ORDER)
    assert states(asked) == ["SUBMITTED", "WORKING", "WORKING", "INPUT_REQUIRED"]
    assert asked[-1].status_update.status.message.parts[0].text == QUESTION

    decided = caller.stream(PHOTO, task_id=asked[0].task.id)
    assert states(decided) == ["WORKING", "WORKING", "WORKING", "replacement-decision-1042", "COMPLETED"]
    assert decided[-2].artifact_update.artifact.parts[0].text == DECISION
    assert decided[-2].artifact_update.last_chunk


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_official_client_with_its_own_patience_waits_through_a_long_silence(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, binding: str
) -> None:
    streaming, blocking = (call(workshop, binding, "alice", patience=None) for _ in range(2))

    streamed = background.submit(streaming.stream, f"think {SILENCE}")
    waited = background.submit(blocking.send, f"think {SILENCE}")

    assert states(streamed.result(PATIENCE)) == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert waited.result(PATIENCE).status.state == TaskState.TASK_STATE_COMPLETED


def test_whoever_lost_the_connection_goes_on_exactly_where_it_broke(workshop: LocalStack) -> None:
    with events(workshop, "/message:stream", message("count 30", "cut off")) as stream:
        seen = [next(stream) for _ in range(5)]
    task_id = seen[0].data["task"]["id"]
    workshop.replace_functions()

    resumed = {"Last-Event-ID": str(seen[-1].id)}
    with events(workshop, f"/tasks/{task_id}:subscribe", **resumed) as stream:
        first, *rest = stream
    with events(workshop, f"/tasks/{task_id}:subscribe", **{"Last-Event-ID": "1"}) as stream:
        whole = list(stream)

    assert first.id == seen[-1].id
    assert [*seen[1:], *rest] == whole[1:]
    numbers = [event.data["artifactUpdate"] for event in whole if "artifactUpdate" in event.data]
    texts = [part["text"] for update in numbers for part in update["artifact"]["parts"]]
    assert texts == [str(number) for number in range(30)]
    assert whole[-1].data["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_everybody_who_follows_a_task_sees_the_same_until_it_is_canceled_once(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk
) -> None:
    sender = background.submit(call(workshop, name="alice").stream, desk.order)
    desk.wait_until_working()
    boss = call(workshop, "HTTP+JSON", "alice")
    (task,) = list(boss.list(status=TaskState.TASK_STATE_WORKING).tasks)
    with events(workshop, f"/tasks/{task.id}:subscribe", **{"Last-Event-ID": "1"}) as stream:
        assert next(stream).data["task"]["id"] == task.id
        followers = [
            background.submit(call(workshop, binding, "alice").subscribe, task.id) for binding in BINDINGS
        ]

        boss.cancel(task.id)

        ends = [states(follower.result(PATIENCE))[-1] for follower in followers]
        seen = [event.data["statusUpdate"]["status"]["state"] for event in stream]
    assert set(ends) <= {"CANCELED"}
    assert seen.count("TASK_STATE_CANCELED") == 1
    assert seen[-1] == "TASK_STATE_CANCELED"
    assert states(sender.result(PATIENCE))[1:] == [state.removeprefix("TASK_STATE_") for state in seen]


def test_what_is_wrong_with_a_request_is_said_before_a_stream_begins(workshop: LocalStack) -> None:
    with httpx.Client(base_url=workshop.url, headers=HEADERS) as client:
        unknown = client.post("/tasks/nobody:subscribe")
        empty = client.post("/message:stream", json={"message": {"messageId": "m", "role": "ROLE_USER"}})

    assert (unknown.status_code, unknown.json()["error"]["status"]) == (404, "NOT_FOUND")
    assert (empty.status_code, empty.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
