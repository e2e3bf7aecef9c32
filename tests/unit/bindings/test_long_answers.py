"""Both bindings' calls that outlast three seconds, and what leaves in one piece however long it takes."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.agent import Completed, Turn, Update
from a2a_serverless.bindings.http import MAX_ANSWER, MAX_STREAMED, HttpResponse
from a2a_serverless.bindings.service import ANSWERING_TIME
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.requests import ListTasksResponse
from tests.unit.bindings.asking import parsed, plain, streamed
from tests.unit.bindings.wires import MINUTE, Connect, Wire, message


def test_a_blocking_call_that_is_answered_soon_is_answered_in_one_piece(idle: Wire) -> None:
    idle.turns_take(2.5)

    response = plain(idle.ask("SendMessage", message()))

    assert response.status == 200
    assert response.headers.keys() - {"Cache-Control"} == {"Content-Type", "A2A-Version"}
    assert idle.task_of(parsed(response))["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_blocking_call_waits_as_long_as_the_turn_takes(idle: Wire) -> None:
    idle.turns_take(40)
    begun = idle.world.clock.now()

    response = streamed(idle.ask("SendMessage", message()))
    pieces = list(response.chunks)

    assert response.status == 200
    assert response.headers["A2A-Version"] == "1.0"
    assert "json" in response.headers["Content-Type"]
    assert pieces[0] == b" "
    assert idle.task_of(as_json(pieces))["status"]["state"] == "TASK_STATE_COMPLETED"
    assert idle.world.clock.now() - begun <= timedelta(seconds=41)


def as_json(pieces: list[bytes]) -> Any:
    return parsed(HttpResponse(200, {}, b"".join(pieces)))


def test_a_blocking_call_returns_the_task_as_it_stands_before_its_invocation_ends(idle: Wire) -> None:
    begun = idle.world.clock.now()

    response = streamed(idle.ask("SendMessage", message(), lasting=MINUTE))

    assert idle.task_of(as_json(list(response.chunks)))["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert idle.world.clock.now() - begun == MINUTE - ANSWERING_TIME


def test_a_blocking_call_in_an_invocation_that_is_as_good_as_over_is_answered_at_once(idle: Wire) -> None:
    begun = idle.world.clock.now()

    response = plain(idle.ask("SendMessage", message(), lasting=timedelta(seconds=1)))

    assert idle.task_of(parsed(response))["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert idle.world.clock.now() == begun


def test_a_blocking_call_that_fails_soon_fails_with_its_true_status(idle: Wire) -> None:
    idle.breaks_after(1, OSError("/var/task/secret"))

    response = plain(idle.ask("SendMessage", message()))

    assert response.status == (200 if idle.binding == "JSONRPC" else 500)
    assert idle.error(parsed(response))[1:] == ("INTERNAL_ERROR", {"errorId": "incident-1"})


def test_a_blocking_call_that_fails_late_is_an_error_object_or_is_cut_off(idle: Wire) -> None:
    fault = OSError("/var/task/secret")
    idle.breaks_after(10, fault)
    response = streamed(idle.ask("SendMessage", message()))
    pieces: list[bytes] = []

    if idle.binding == "JSONRPC":
        pieces.extend(response.chunks)
        assert idle.error(as_json(pieces)) == (-32603, "INTERNAL_ERROR", {"errorId": "incident-1"})
    else:
        with pytest.raises(Exception, match="Internal error"):
            pieces.extend(response.chunks)
        assert b"".join(pieces).strip() == b"", "half an answer is none"

    assert b"secret" not in b"".join(pieces)
    assert idle.world.incidents.reported == [(fault, {"request": "request-1"})]


async def talkative(turn: Turn) -> AsyncIterator[Update]:
    """Says nothing worth mentioning."""
    yield Completed("x" * 1000)


def test_a_late_answer_that_is_too_large_is_an_error_too(idle: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    idle.turns_take(10)
    idle.world.agent = talkative
    monkeypatch.setattr("a2a_serverless.bindings.service.MAX_STREAMED", 500)
    response = streamed(idle.ask("SendMessage", message()))

    if idle.binding == "JSONRPC":
        assert idle.error(as_json(list(response.chunks)))[:2] == (-32603, "RESPONSE_TOO_LARGE")
    else:
        with pytest.raises(Exception, match="too large"):
            list(response.chunks)
    assert idle.world.incidents.reported == []


def test_a_client_that_leaves_a_blocking_call_changes_nothing_for_the_task(idle: Wire) -> None:
    body = streamed(idle.ask("SendMessage", message())).chunks
    next(body)

    body.close()  # type: ignore[attr-defined]
    idle.world.run_turns()

    (key,) = idle.world.logs()
    assert idle.world.ports.tasks.load(key).current.state.name == "COMPLETED"


def test_where_nothing_streams_a_blocking_call_is_answered_in_one_piece_however_late(
    connect: Connect,
) -> None:
    wire = connect(Policy(blocking_wait=timedelta(seconds=25)), turns=False, streaming=False)
    wire.turns_take(20)

    response = plain(wire.ask("SendMessage", message()))

    assert response.body.lstrip() == response.body
    assert wire.task_of(parsed(response))["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("streaming", [True, False])
def test_an_answer_may_be_as_large_as_its_way_out_allows(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, *, streaming: bool
) -> None:
    def page(*_: object) -> ListTasksResponse:
        return ListTasksResponse(tasks=(), next_page_token="x" * MAX_ANSWER, page_size=1, total_size=1)

    monkeypatch.setattr("a2a_serverless.bindings.service.HANDLERS", {"ListTasks": page})
    wire = connect(streaming=streaming)

    response = plain(wire.ask("ListTasks", {}))

    assert wire.endpoint.most == (MAX_STREAMED if streaming else MAX_ANSWER)
    if streaming:
        assert len(response.body) > MAX_ANSWER
    else:
        assert wire.error(parsed(response))[1] == "RESPONSE_TOO_LARGE"
