"""Calls in the functions' logs: one line each, found by task, by caller, or by the id that an error gave."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.e2e.callers import Part, TaskState
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.stack import PATIENCE, LocalStack

FUNCTIONS = {"JSONRPC": "jsonrpc", "HTTP+JSON": "http_json"}


def lines(stack: LocalStack) -> Iterator[dict[str, Any]]:
    """What both bindings' functions have logged as JSON."""
    for function in FUNCTIONS.values():
        for line in stack.log_of(function).splitlines():
            if line.startswith("{") and line.endswith("}"):
                yield json.loads(line)


def calls(stack: LocalStack, number: int = 1, **about: object) -> list[dict[str, Any]]:
    """The calls that are written down with these members, once there are so many.

    They are written when the answer is out, so its reader may be here before they are.
    """
    give_up, never = time.monotonic() + PATIENCE, threading.Event()
    while time.monotonic() < give_up:
        found = [line for line in lines(stack) if line.get("message") == "A2A call"]
        named = [line for line in found if all(line.get(name) == about[name] for name in about)]
        if len(named) >= number:
            return named
        never.wait(0.05)
    raise AssertionError(f"never written down: {number} of {about}")


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_conversation_is_written_down_call_by_call(workshop: LocalStack, call: Call, binding: str) -> None:
    alice = call(workshop, binding, "alice")

    task = alice.send("echo")
    alice.get(task.id)

    written = {call["operation"]: call for call in calls(workshop, 2, task=task.id, binding=binding)}
    sent, read = written["SendMessage"], written["GetTask"]
    assert (sent["outcome"], sent["http_status"]) == ("OK", 200)
    assert (read["outcome"], read["principal"]) == ("OK", "alice")
    assert sent["context"] == task.context_id
    assert sent["duration_ms"] >= 1
    assert {each["level"] for each in (sent, read)} == {"INFO"}
    assert sent["owner"] == read["owner"] != "alice"


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_stream_is_written_down_once_with_all_it_showed(
    workshop: LocalStack, call: Call, binding: str
) -> None:
    frames = list(call(workshop, binding, "alice").stream("echo"))

    task_id = frames[0].task.id
    [written] = calls(workshop, task=task_id, binding=binding)
    assert (written["operation"], written["outcome"]) == ("SendStreamingMessage", "OK")
    assert written["frames"] == len(frames)


@pytest.mark.parametrize("binding", BINDINGS)
def test_strangers_are_written_down_and_nothing_of_what_they_showed(
    workshop: LocalStack, binding: str
) -> None:
    secret = f"guessed-{uuid4()}"
    address = "/" if binding == "JSONRPC" else "/tasks"

    response = httpx.request(
        "POST" if binding == "JSONRPC" else "GET",
        workshop.url + address,
        headers={"Authorization": f"Bearer {secret}", "A2A-Version": "1.0"},
        timeout=PATIENCE,
    )

    assert response.status_code == 401
    written = calls(workshop, outcome="UNAUTHENTICATED", binding=binding)
    assert written[-1]["credentials"] == ["authorization"]
    assert "principal" not in written[-1]
    log = workshop.log_of(FUNCTIONS[binding])
    assert secret not in log
    assert not any(token in log for token in TOKENS.values())


def test_what_was_said_is_in_no_line(workshop: LocalStack, call: Call) -> None:
    said = f"echo {uuid4()}"

    task = call(workshop, name="alice").send(Part(text=said))

    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert calls(workshop, task=task.id)
    assert not any(said in workshop.log_of(function) for function in FUNCTIONS.values())
