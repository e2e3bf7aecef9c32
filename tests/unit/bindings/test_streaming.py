"""Both bindings' streams (specification 9.4.2, 11.7): what each event is, from where, and how they end."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from a2a_serverless.bindings import jsonrpc
from a2a_serverless.bindings.service import CLOSING_TIME, Endpoint
from a2a_serverless.protocol.card import AgentExtension
from tests.fakes.event_source import Event, EventSource, events_of
from tests.unit.bindings.asking import LOCAL, request, streamed
from tests.unit.bindings.wires import EXTENSION, MINUTE, STREAMING, Connect, Wire, message, told
from tests.unit.operations.world import World

# --- what a stream is on the wire --------------------------------


def test_a_stream_is_a_task_and_its_events_each_under_its_position(wire: Wire) -> None:
    response = wire.send()
    events = events_of(response.chunks)

    assert response.status == 200
    assert response.headers == {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "A2A-Version": "1.0",
    }
    assert [event.id for event in events] == ["1", "2", "3", "4", "5"]
    frames = [wire.frame(event) for event in events]
    assert told(frames) == ["task SUBMITTED", "WORKING", "WORKING", "artifactUpdate", "COMPLETED"]
    task = frames[0]["task"]
    for frame in frames[1:]:
        (update,) = frame.values()
        assert (update["taskId"], update["contextId"]) == (task["id"], task["contextId"])


def test_a_piece_is_out_before_the_next_thing_happens(wire: Wire) -> None:
    body = iter(EventSource(wire.send().chunks))

    assert told([wire.frame(next(body))]) == ["task SUBMITTED"]
    assert wire.world.runs == []


def test_an_instant_reply_is_one_event_without_an_id(connect: Connect) -> None:
    wire = connect()
    wire.world.ports = replace(wire.world.ports, answer=lambda given: given)

    (event,) = events_of(wire.send().chunks)

    assert event.id is None
    assert told([wire.frame(event)]) == ["message"]
    assert wire.places() == 0


@pytest.mark.parametrize("request_id", [1, 0, -5, 1.5, "a", "", None, "ä\u2028"])
def test_every_json_rpc_event_carries_the_id_it_was_asked_under(request_id: object) -> None:
    world = World(policy=STREAMING)
    body = {"jsonrpc": "2.0", "id": request_id, "method": "SendStreamingMessage", "params": message()}

    response = jsonrpc.answer(Endpoint(world.ports, LOCAL, streaming=True), request("POST", "/", body))
    world.run_turns()

    events = events_of(streamed(response).chunks)
    assert len(events) == 5
    assert [event.data["id"] for event in events] == [request_id] * 5


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_subscription_is_asked_for_with_either_verb(verb: str) -> None:
    wire = Wire("HTTP+JSON", World(policy=STREAMING))
    task = wire.frame(next(iter(EventSource(wire.send().chunks))))["task"]

    response = wire.answer(request(verb, f"/tasks/{task['id']}:subscribe"))

    assert next(iter(EventSource(streamed(response).chunks))) == Event({"task": task}, "1")


def test_extensions_that_apply_are_named_on_a_stream_too(connect: Connect) -> None:
    wire = connect(extensions=(AgentExtension(uri=EXTENSION),))

    response = wire.send(headers={"A2A-Extensions": f"https://nobody.example/x, {EXTENSION}"})

    assert response.headers["A2A-Extensions"] == EXTENSION
    assert response.headers["A2A-Version"] == "1.0"


def test_while_nothing_happens_comments_keep_the_stream_alive(idle: Wire) -> None:
    begun = idle.world.clock.now()

    moments = [begun, *(idle.world.clock.now() for _ in idle.send().chunks)]

    apart = [(after - before).total_seconds() for before, after in pairwise(moments)]
    assert max(apart) <= 4.0
    assert idle.world.clock.now() - begun == timedelta(seconds=300)


# --- going on from a position --------------------------------


@pytest.mark.parametrize("where", ["headers", "query"])
@pytest.mark.parametrize("last", [1, 3, 5])
def test_a_stream_goes_on_right_after_the_last_event_a_client_saw(wire: Wire, where: str, last: int) -> None:
    whole = events_of(wire.send().chunks)
    task = wire.frame(whole[0])["task"]
    asked: dict[str, Any] = (
        {"headers": {"Last-Event-ID": str(last)}}
        if where == "headers"
        else {"query": {"lastEventId": [str(last)]}}
    )

    replay = events_of(wire.subscribe(task["id"], **asked).chunks)

    assert replay[0].id == str(last)
    assert list(wire.frame(replay[0])) == ["task"]
    assert replay[1:] == whole[last:]


def test_the_header_is_newer_than_the_address_of_an_event_source(wire: Wire) -> None:
    """An EventSource connects again to the address it was given, and says in the header where it is now."""
    whole = events_of(wire.send().chunks)
    task = wire.frame(whole[0])["task"]

    replay = events_of(
        wire.subscribe(task["id"], headers={"Last-Event-ID": "4"}, query={"lastEventId": ["1"]}).chunks
    )

    assert [event.id for event in replay] == ["4", "5"]


def test_a_stream_that_closed_itself_is_gone_on_with_from_where_it_was(connect: Connect) -> None:
    wire = connect(turns=False, stream_time=timedelta(seconds=20))
    seen = events_of(wire.send().chunks)
    wire.world.run_turns()
    task = wire.frame(seen[0])["task"]

    rest = events_of(wire.subscribe(task["id"], headers={"Last-Event-ID": str(seen[-1].id)}).chunks)

    assert told([wire.frame(event) for event in rest][1:]) == [
        "WORKING",
        "WORKING",
        "artifactUpdate",
        "COMPLETED",
    ]


# --- how a stream ends --------------------------------


@pytest.mark.parametrize(
    ("lasting", "expected"),
    [
        (None, timedelta(seconds=300)),
        (timedelta(seconds=900), timedelta(seconds=300)),
        (MINUTE, MINUTE - CLOSING_TIME),
        (CLOSING_TIME / 2, timedelta(0)),
    ],
)
def test_a_stream_closes_itself_in_time_and_before_its_invocation_ends(
    idle: Wire, lasting: timedelta | None, expected: timedelta
) -> None:
    begun = idle.world.clock.now()

    events = events_of(idle.send(lasting=lasting).chunks)

    assert told([idle.frame(event) for event in events]) == ["task SUBMITTED"]
    assert idle.world.clock.now() - begun == expected
    assert idle.places() == 0


def test_a_client_that_leaves_gives_its_place_back_and_changes_nothing_else(idle: Wire) -> None:
    response = idle.send()
    first = next(iter(EventSource(response.chunks)))
    assert idle.places() == 1

    response.chunks.close()  # type: ignore[attr-defined]
    idle.world.run_turns()

    assert idle.places() == 0
    task_id = idle.frame(first)["task"]["id"]
    (key,) = idle.world.logs()
    assert (key.task_id, idle.world.ports.tasks.load(key).current.state.name) == (task_id, "COMPLETED")


def test_an_answer_that_nobody_begins_to_read_keeps_no_place(idle: Wire) -> None:
    response = idle.send()
    assert idle.places() == 1

    response.chunks.close()  # type: ignore[attr-defined]

    assert idle.places() == 0


def test_a_stream_that_breaks_says_so_as_an_error_and_nothing_of_why(idle: Wire) -> None:
    fault = OSError("/var/task/secret")
    pieces: list[bytes] = []
    body = idle.send().chunks
    idle.breaks_after(1, fault)

    with pytest.raises(OSError, match="secret"):
        pieces.extend(body)

    assert b"secret" not in b"".join(pieces)
    last = events_of(pieces)[-1]
    assert last.id is None
    code, reason, facts = idle.error(last.data)
    assert (code, reason) == (-32603 if idle.binding == "JSONRPC" else 500, "INTERNAL_ERROR")
    assert facts == {"errorId": "incident-1"}
    assert idle.world.incidents.reported == [(fault, {"request": "request-1"})]
    assert idle.places() == 0
