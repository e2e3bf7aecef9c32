"""The API's functions where answers leave piece by piece: every event, and streams as they really run."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from a2a_runtime.streaming import PRELUDE_END, body_frames, chunk
from tests.fakes.event_source import Event, EventSource, events_of
from tests.integration.functions.deployment import (
    EVENTS,
    Context,
    Deployed,
    StreamingDeployed,
    api_event,
    message,
    read_event,
)
from tests.integration.functions.test_events import OUTCOMES

API_EVENTS = [file for file in EVENTS if file.name.startswith(("jsonrpc.", "http_json."))]
IMMEDIATELY = {"configuration": {"returnImmediately": True}}


@pytest.mark.parametrize("file", API_EVENTS, ids=lambda file: file.stem)
def test_an_event_gives_the_same_piece_by_piece(streaming: StreamingDeployed, file: Path) -> None:
    function = file.name.partition(".")[0]

    prelude, pieces = streaming.answer(function, read_event(file.name))

    outcome = OUTCOMES[file.name]
    assert isinstance(outcome, tuple)
    status, piece = outcome
    assert prelude["statusCode"] == status
    assert prelude["headers"]["Access-Control-Allow-Origin"] == "*"
    body = b"".join(pieces).decode()
    assert piece in body
    assert isinstance(json.loads(body), dict)


def test_the_runtime_loop_sends_a_prelude_then_each_piece(streaming: StreamingDeployed) -> None:
    event = read_event("http_json.list-tasks.json")

    answer, same = (streaming.modules["http_json"].handler(event, Context("http_json")) for _ in range(2))

    prelude, piece, end = body_frames(answer)
    assert prelude == chunk(json.dumps(answer.prelude, separators=(",", ":")).encode() + PRELUDE_END)
    assert piece == chunk(b"".join(same.chunks))
    assert end == b"0\r\n\r\n"


def states(events: list[Event]) -> list[str]:
    """The states a stream went through; other frames by their kind."""
    words = []
    for event in events:
        ((kind, said),) = event.data.get("result", event.data).items()
        words.append(said.get("status", {}).get("state", kind).removeprefix("TASK_STATE_"))
    return words


def task_of(event: Event) -> Any:
    return event.data.get("result", event.data)["task"]


def opened(pieces: Iterator[bytes]) -> tuple[Any, Iterator[Event]]:
    """The task a stream begins with, and the events that come after."""
    events = iter(EventSource(pieces))
    return task_of(next(events)), events


def test_a_stream_is_there_before_its_turn_has_run_and_shows_it_as_it_runs(
    streaming: StreamingDeployed,
) -> None:
    prelude, pieces = streaming.send("hello", "streamed-1")
    assert prelude["statusCode"] == 200
    assert prelude["headers"]["Content-Type"] == "text/event-stream"
    task, events = opened(pieces)
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"

    streaming.invoke("turn", streaming.started(task["id"]))

    seen = list(events)
    assert states(seen) == ["WORKING", "artifactUpdate", "COMPLETED"]
    assert [event.id for event in seen] == ["2", "3", "4"]


def test_another_function_goes_on_where_a_stream_was_cut(streaming: StreamingDeployed) -> None:
    _, pieces = streaming.send("hello", "streamed-2")
    task, _ = opened(pieces)
    pieces.close()  # type: ignore[attr-defined]
    streaming.invoke("turn", streaming.started(task["id"]))

    prelude, rest = streaming.subscribe(task["id"], **{"Last-Event-ID": "2"})

    events = events_of(rest)
    assert prelude["statusCode"] == 200
    assert (events[0].id, task_of(events[0])["status"]["state"]) == ("2", "TASK_STATE_WORKING")
    assert states(events[1:]) == ["artifactUpdate", "COMPLETED"]


def test_two_bindings_show_the_same_events(streaming: StreamingDeployed) -> None:
    _, pieces = streaming.send("hello", "streamed-3")
    task, sent = opened(pieces)
    same, subscribed = opened(streaming.subscribe(task["id"])[1])
    assert same == task

    streaming.invoke("turn", streaming.started(task["id"]))

    assert [(event.id, event.data["result"]) for event in sent] == [
        (event.id, event.data) for event in subscribed
    ]


def test_a_refusal_is_a_plain_answer_with_its_status(streaming: StreamingDeployed) -> None:
    prelude, pieces = streaming.subscribe("no-such-task")

    assert prelude["statusCode"] == 404
    assert prelude["headers"]["Content-Type"] == "application/json"
    assert json.loads(b"".join(pieces))["error"]["status"] == "NOT_FOUND"


def test_a_caller_has_so_many_streams_open_across_all_functions_and_no_more(
    streaming: StreamingDeployed,
) -> None:
    _, first = streaming.send("hello", "streamed-4")
    task, _ = opened(first)
    others = [streaming.subscribe(task["id"])[1] for _ in range(2)]

    prelude, _ = streaming.send("hello", "streamed-5")
    assert (prelude["statusCode"], prelude["headers"]["Retry-After"]) == (429, "5")

    for body in (first, *others):
        body.close()  # type: ignore[attr-defined]
    prelude, pieces = streaming.subscribe(task["id"])
    assert prelude["statusCode"] == 200
    pieces.close()  # type: ignore[attr-defined]


def test_a_stream_closes_itself_before_its_invocation_is_over(streaming: StreamingDeployed) -> None:
    _, pieces = streaming.send("hello", "streamed-6", remaining_ms=10_500)

    assert states(events_of(pieces)) == ["SUBMITTED"]


def test_a_blocking_call_that_outlasts_three_seconds_begins_with_white_space(
    streaming: StreamingDeployed,
) -> None:
    body = {"message": message("nobody runs this", "streamed-7")}

    prelude, pieces = streaming.answer("http_json", api_event("POST", "/message:send", body))

    assert (prelude["statusCode"], prelude["headers"]["Content-Type"]) == (200, "application/json")
    assert next(pieces) == b" "
    assert json.loads(b"".join(pieces))["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


def test_large_content_leaves_as_the_bytes_it_is(streaming: StreamingDeployed) -> None:
    content = bytes(range(256)) * 2048
    parts = [{"raw": base64.b64encode(content).decode(), "mediaType": "image/png", "filename": "a.png"}]
    body = {"message": {**message("", "streamed-8"), "parts": parts}, **IMMEDIATELY}
    _, pieces = streaming.answer("http_json", api_event("POST", "/message:send", body))
    task = json.loads(b"".join(pieces))["task"]
    streaming.invoke("turn", streaming.started(task["id"]))

    _, shown = streaming.answer("http_json", api_event("GET", f"/tasks/{task['id']}"))
    [part] = json.loads(b"".join(shown))["artifacts"][0]["parts"]
    prelude, served = streaming.answer("http_json", api_event("GET", part["url"].partition("/prod")[2]))

    assert prelude["headers"]["Content-Type"] == "image/png"
    assert b"".join(served) == content


def test_a_card_announces_streams_where_they_are_served_and_only_there(
    deployed: Deployed, streaming: StreamingDeployed
) -> None:
    def announced(by: Deployed) -> bool:
        card = json.loads(by.invoke("card", read_event("card.get.json"))["body"])
        return bool(card["capabilities"].get("streaming", False))

    assert (announced(deployed), announced(streaming)) == (False, True)
    refused = deployed.call("SendStreamingMessage", {"message": message("hello", "streamed-9")})
    assert refused["error"]["code"] == -32004
