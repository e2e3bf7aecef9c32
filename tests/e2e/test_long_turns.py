"""Turns that outlast their function: three seconds an invocation, twenty of work, and seen as one."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.e2e.callers import Caller, Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.receiver import receiving
from tests.e2e.stack import PATIENCE, LocalStack, running
from tests.e2e.test_streams import events, message, states
from tests.e2e.test_webhooks import config

LIMIT = 3
"""Seconds that one invocation may take."""

LONG = 20
"""Seconds that a turn takes."""

WAKING = (5, 12)
"""Seconds for which a turn asks to sleep."""

LONGEST = (
    *((binding, f"poll {LONG}") for binding in BINDINGS),
    *(("JSONRPC", f"wake {seconds}") for seconds in WAKING),
)
"""Messages whose turns take longest, and the binding that each is sent over."""

COMPLETED = TaskState.TASK_STATE_COMPLETED


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """An agent that takes its time, in a function that is killed after three seconds."""
    agent = ("--agent", "tests.e2e.patient:agent", "--turn-timeout", str(LIMIT), "--loopback-webhooks")
    told = ("--parameter", "TurnExtensions=tools,usage,thinking", "--token", f"alice={TOKENS['alice']}")
    with running(tmp_path_factory.mktemp("patient"), *agent, *told) as stack:
        yield stack


@dataclass(frozen=True)
class Waited:
    """A task that has ended, and how many seconds its caller was kept waiting."""

    task: Task
    seconds: float


@pytest.fixture(scope="module")
def waited(patient: LocalStack) -> Iterator[Callable[[str, str], Waited]]:
    """What became of the turns that take longest, which all go on at the same time."""

    def wait(binding: str, text: str) -> Waited:
        with Caller(patient, binding, TOKENS["alice"]) as caller:
            began = time.monotonic()
            task = caller.send(text)
            return Waited(task, time.monotonic() - began)

    with ThreadPoolExecutor(len(LONGEST)) as threads:
        under_way = {each: threads.submit(wait, *each) for each in LONGEST}
        yield lambda binding, text: under_way[binding, text].result(PATIENCE)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_turn_of_twenty_seconds_goes_on_through_functions_that_live_for_three(
    waited: Callable[[str, str], Waited], binding: str
) -> None:
    ended = waited(binding, f"poll {LONG}")

    task = ended.task
    assert task.status.state == COMPLETED, task.status
    assert LONG <= ended.seconds < 3 * LONG
    (said,) = texts(task.status.message)
    polls, segments = (int(word) for word in said.split() if word.isdigit())
    assert segments > LONG / LIMIT / 2
    reported = "".join(f"{number} " for number in range(4, polls + 1, 4))
    assert [[part.text for part in artifact.parts] for artifact in task.artifacts] == [[reported]]
    assert len(task.history) == 1


def test_a_stream_shows_one_turn_and_nothing_of_its_segments(patient: LocalStack, call: Call) -> None:
    caller = call(patient, name="alice")

    frames = caller.stream(f"poll {LONG / 2}")

    polled = [
        text
        for frame in frames
        if frame.HasField("status_update")
        for text in texts(frame.status_update.status.message)
    ]
    *progress, last = polled
    assert progress == [f"Polled {number} times" for number in range(4, 4 * len(progress) + 1, 4)]
    assert int(last.split()[4]) > 2
    kinds = states(frames)
    assert kinds[:2] == ["SUBMITTED", "WORKING"]
    assert kinds[2:-1] == ["WORKING", "polls"] * len(progress)
    assert kinds[-1] == "COMPLETED"
    chunks = [frame.artifact_update for frame in frames if frame.HasField("artifact_update")]
    assert [chunk.append for chunk in chunks] == [False, *[True] * (len(chunks) - 1)]


def test_a_stream_that_comes_late_or_again_shows_the_same_events(patient: LocalStack, call: Call) -> None:
    with events(patient, "/message:stream", message(f"poll {LONG / 2}", "late")) as stream:
        first = [next(stream) for _ in range(3)]
        task_id = first[0].data["task"]["id"]
        with events(patient, f"/tasks/{task_id}:subscribe", **{"Last-Event-ID": str(first[0].id)}) as again:
            _, *repeated = list(again)
        whole = [*first, *stream]

    assert [(each.id, each.data) for each in repeated] == [(each.id, each.data) for each in whole[1:]]
    ids = [each.id for each in whole]
    assert ids == sorted(set(ids), key=lambda number: number or 0)


def test_a_cancel_inside_a_step_or_between_two_is_prompt_and_final(patient: LocalStack, call: Call) -> None:
    caller = call(patient, name="alice")
    with events(patient, "/message:stream", message(f"poll {LONG}", "cancel me")) as stream:
        task_id = next(stream).data["task"]["id"]
        told = (each.data["statusUpdate"]["status"] for each in stream if "statusUpdate" in each.data)
        assert any("Polled 12" in json.dumps(status) for status in told)
        canceled_at = time.monotonic()
        canceled = caller.cancel(task_id)
        *_, last = (status["state"] for status in told)
        assert time.monotonic() - canceled_at < LIMIT

    assert last == "TASK_STATE_CANCELED"
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    threading.Event().wait(2 * LIMIT)
    assert caller.get(task_id) == canceled


def test_a_cancel_while_nothing_runs_is_final(patient: LocalStack, call: Call) -> None:
    caller = call(patient, name="alice")
    with events(patient, "/message:stream", message("wake 6", "cancel asleep")) as stream:
        task_id = next(stream).data["task"]["id"]
        asleep = next(event for event in stream if "Asleep" in json.dumps(event.data))
        threading.Event().wait(2)
        canceled = caller.cancel(task_id)
        told = [event.data["statusUpdate"]["status"]["state"] for event in stream]

    assert asleep.id
    assert told == ["TASK_STATE_CANCELED"]
    threading.Event().wait(2 * LIMIT)
    assert caller.get(task_id) == canceled


def test_a_webhook_hears_of_a_long_turn_once(patient: LocalStack, call: Call) -> None:
    caller = call(patient, name="alice")
    with receiving() as receiver:
        task = caller.send(f"poll {LONG / 2}", webhook=config(receiver))
        arrivals = receiver.until("COMPLETED")

    assert task.status.state == COMPLETED
    told = [arrival.told for arrival in arrivals]
    assert told[0] == "WORKING"
    assert told[1].startswith("polls: 4 8 ")
    assert told[2:] == ["COMPLETED"]


@pytest.mark.parametrize("seconds", WAKING)
def test_a_turn_that_asks_to_be_woken_is_woken_then_and_not_before(
    waited: Callable[[str, str], Waited], seconds: int
) -> None:
    task = waited("JSONRPC", f"wake {seconds}").task

    (slept,) = texts(task.status.message)
    # The state machine knows waits of one second and of thirty.
    assert seconds <= float(slept) < (seconds + 4 if seconds <= 10 else 40)


TOOLS, USAGE, THINKING = (f"urn:a2a-serverless:{name}:v1" for name in ("tools", "usage", "thinking"))


def test_what_tools_and_models_do_is_told_to_who_activates_it(patient: LocalStack, call: Call) -> None:
    caller = call(patient, name="alice")
    announced = {each.uri for each in caller.card.capabilities.extensions}
    assert {TOOLS, USAGE, THINKING} <= announced

    plain = states(caller.stream("tell"))
    wanted = {"A2A-Extensions": f"{TOOLS}, {USAGE}"}
    with events(patient, "/message:stream", message("tell", "told"), **wanted) as stream:
        updates = [each.data["statusUpdate"] for each in stream if "statusUpdate" in each.data]

    assert plain == ["SUBMITTED", "WORKING", "answer", "COMPLETED"]
    said = [update["metadata"] for update in updates if "metadata" in update]
    calls = [each for frame in said for each in frame.get(TOOLS, {}).get("calls", ())]
    assert [each["phase"] for each in calls] == ["started", "input", "completed", "failed"]
    assert calls[1]["input"] == {"query": "shoes", "api_key": "[redacted]"}
    assert [len(text) for text in calls[2]["output"]] == [3, 4000]
    assert [frame[USAGE]["totalTokens"] for frame in said if USAGE in frame] == [12]
    assert not any(THINKING in frame for frame in said)
    assert "hunter2" not in str(updates)
