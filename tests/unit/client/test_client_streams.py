"""Streams cut, stalled, repeated and garbled on real sockets: nothing is told twice, and nothing is lost."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from a2a_serverless.client import (
    Client,
    Limits,
    Options,
    Retries,
    Stream,
    StreamCutError,
    TimedOutError,
    Timeouts,
    UnexpectedAnswerError,
    UnreachableError,
    text_message,
)
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from a2a_serverless.protocol.events import StreamResponse
from tests.unit.client.agents_on_paper import card, task
from tests.unit.client.rude_server import CUT, STALL, Answer, Heard, Rude, Script, rude

Frames = Sequence[dict[str, Any]]
JSON = {"Content-Type": "application/json"}
BINDINGS = ("JSONRPC", "HTTP+JSON")


def status(state: str, text: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if text is not None:
        said["message"] = {"messageId": f"m-{text}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": said}}


def chunk(text: str, *, append: bool = True, artifact: str = "a") -> dict[str, Any]:
    update = {
        "taskId": "t1",
        "contextId": "c1",
        "artifact": {"artifactId": artifact, "parts": [{"text": text}]},
    }
    return {"artifactUpdate": {**update, **({"append": True} if append else {})}}


def whole(state: str = "WORKING", *texts: str, **members: Any) -> dict[str, Any]:
    artifacts = [{"artifactId": "a", "parts": [{"text": text} for text in texts]}] if texts else []
    return {"task": task(f"TASK_STATE_{state}", **({"artifacts": artifacts} if artifacts else {}), **members)}


def printed(heard: Heard, frame: dict[str, Any], number: int | None = None, end: str = "\n") -> bytes:
    """One frame as an event of the binding that was asked over."""
    over_rpc = heard.path == "/" and heard.body
    said = {"jsonrpc": "2.0", "id": heard.rpc["id"], "result": frame} if over_rpc else frame
    place = f"id: {number}{end}" if number is not None else ""
    return f"{place}data: {json.dumps(said)}{end}{end}".encode()


def telling(*frames: Any, ids: int | None = None, then: Any = None) -> Script:
    """Frames one by one, with ids from a number on if there are any; then cut, stall, or end."""

    def answer(heard: Heard) -> Answer:
        numbered = enumerate(frames, start=ids or 0)
        pieces = [
            frame if isinstance(frame, bytes) else printed(heard, frame, number if ids is not None else None)
            for number, frame in numbered
        ]
        return Answer([*pieces, *([then] if then is not None else [])])

    return answer


def refusing(code: int, reason: str, status_code: int = 400) -> Script:
    def answer(heard: Heard) -> Answer:
        info = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]
        if heard.path == "/":
            error = {"code": code, "message": "No", "data": info}
            body = {"jsonrpc": "2.0", "id": heard.rpc["id"], "error": error}
            return Answer([json.dumps(body).encode()], headers=JSON)
        body = {"error": {"code": status_code, "status": "X", "message": "No", "details": info}}
        return Answer([json.dumps(body).encode()], status_code, JSON)

    return answer


def answering(result: dict[str, Any]) -> Script:
    def answer(heard: Heard) -> Answer:
        over_rpc = heard.path == "/"
        body = {"jsonrpc": "2.0", "id": heard.rpc["id"], "result": result} if over_rpc else result
        return Answer([json.dumps(body).encode()], headers=JSON)

    return answer


def page(status_code: int, **headers: str) -> Script:
    return lambda _: Answer([b"<h1>Oops</h1>"], status_code, {"Content-Type": "text/html", **headers})


Following = Callable[[Client], Stream]


async def followed(stream: Stream) -> list[dict[str, Any]]:
    async with stream:
        return [event.to_dict() async for event in stream]


def run(
    *scripts: Script,
    binding: str = "JSONRPC",
    following: Following = lambda agent: agent.send_streaming_message(text_message("Go", message_id="m1")),
    use: Callable[[Stream], Awaitable[Any]] = followed,
    streaming: bool = True,
    **options: Any,
) -> tuple[Any, Rude, Stream]:
    """What a stream tells while a server plays these scripts, that server, and the stream."""

    async def play() -> tuple[Any, Rude, Stream]:
        async with rude(*scripts) as server:
            described = AgentCard.from_dict(card(url=server.url, capabilities={"streaming": streaming}))
            given = {
                "retries": Retries(first_pause=0, longest_pause=0),
                "poll_seconds": 0,
                "bindings": (binding,),
            }
            async with Client(described, Options(**{**given, **options})) as agent:
                stream = following(agent)
                return await use(stream), server, stream

    return asyncio.run(play())


def failing(error: type[BaseException], *scripts: Script, **given: Any) -> tuple[Any, list[Any], Rude]:
    """What a stream told before it failed, and how it did."""
    told: list[Any] = []

    async def use(stream: Stream) -> BaseException:
        async with stream:
            try:
                async for event in stream:
                    told.append(event.to_dict())  # noqa: PERF401  what came before the failure counts
            except error as raised:
                return raised
        pytest.fail(f"no {error.__name__}, but {told}")

    raised, server, _ = run(*scripts, use=use, **given)
    return raised, told, server


@pytest.mark.parametrize("binding", BINDINGS)
def test_nothing_is_lost_where_a_server_counts_its_events_anew_with_each_connection(binding: str) -> None:
    first = telling(whole(), ids=1, then=CUT)
    second = telling(whole("WORKING", "a"), ids=1, then=CUT)
    third = telling(whole("WORKING", "a", "b"), chunk("c"), status("COMPLETED"), ids=1)

    told, _, stream = run(first, second, third, binding=binding)

    texts = [each["artifactUpdate"]["artifact"]["parts"] for each in told if "artifactUpdate" in each]
    assert texts == [[{"text": "a"}], [{"text": "b"}], [{"text": "c"}]]
    assert stream.task is not None
    assert stream.task.to_dict()["artifacts"] == whole("COMPLETED", "abc")["task"]["artifacts"]


@pytest.mark.parametrize(
    "beat", [b"data:", b"data: ", b"event: ping\ndata: {}", b"event: keepalive\ndata: 1"]
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_an_event_that_only_says_that_the_stream_lives_is_passed_over(binding: str, beat: bytes) -> None:
    frames = [whole(), beat + b"\n\n", chunk("a", append=False), beat + b"\n\n", status("COMPLETED")]

    told, _, stream = run(telling(*frames), binding=binding)

    assert told == [frames[0], frames[2], frames[4]]
    assert stream.interruptions == 0


def test_a_stream_goes_on_past_a_last_chunk_without_parts() -> None:
    last = {"taskId": "t1", "contextId": "c1", "artifact": {"artifactId": "a", "parts": []}, "append": True}
    frames = [whole(), chunk("a", append=False), {"artifactUpdate": {**last, "lastChunk": True}}]

    _, _, stream = run(telling(*frames, status("COMPLETED")))

    assert stream.task is not None
    assert stream.task.to_dict()["artifacts"] == whole("COMPLETED", "a")["task"]["artifacts"]


def test_the_same_text_under_the_same_number_of_another_count_is_told_too() -> None:
    first = telling(whole(), chunk("ha", append=False), chunk("ha"), ids=1, then=CUT)
    second = telling(whole("WORKING", "ha", "ha"), chunk("-"), chunk("ha"), status("COMPLETED"), ids=1)

    _, _, stream = run(first, second)

    assert stream.task is not None
    assert stream.task.to_dict()["artifacts"] == whole("COMPLETED", "haha-ha")["task"]["artifacts"]


def test_a_stream_begins_with_an_agent_that_takes_only_plain_json_too() -> None:
    frames = [whole(), status("COMPLETED")]
    refused = refusing(-32005, "CONTENT_TYPE_NOT_SUPPORTED", 415)

    told, server, stream = run(refused, telling(*frames), binding="HTTP+JSON")

    assert (told, stream.interruptions) == (frames, 0)
    types = [heard.headers["content-type"] for heard in server.heard]
    assert types == ["application/a2a+json", "application/json"]


def test_a_stream_that_is_of_neither_type_is_refused() -> None:
    refused = refusing(-32005, "CONTENT_TYPE_NOT_SUPPORTED", 415)

    _, told, server = failing(ContentTypeNotSupportedError, refused, refused, binding="HTTP+JSON")

    assert (told, len(server.heard)) == ([], 2)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_stream_tells_what_happens_until_its_task_has_ended(binding: str) -> None:
    frames = [whole(), chunk("a", append=False), chunk("b"), status("COMPLETED")]

    told, server, stream = run(telling(*frames, ids=3), binding=binding)

    assert told == frames
    assert stream.last_event_id == "6"
    assert stream.interruptions == 0
    assert stream.task is not None
    assert stream.task.to_dict() == whole("COMPLETED", "ab")["task"]
    assert server.heard[0].headers["accept"].startswith("text/event-stream, ")


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_stream_with_ids_that_was_cut_goes_on_after_the_last_one(binding: str) -> None:
    first = telling(whole(), status("WORKING", "one"), chunk("a", append=False), ids=1, then=CUT)
    rest = telling(whole("WORKING", "a"), chunk("b"), status("COMPLETED"), ids=3)

    told, server, stream = run(first, rest, binding=binding)

    assert told == [
        whole(),
        status("WORKING", "one"),
        chunk("a", append=False),
        chunk("b"),
        status("COMPLETED"),
    ]
    assert server.heard[1].headers["last-event-id"] == "3"
    assert stream.interruptions == 1
    assert stream.task is not None
    assert stream.task.to_dict()["artifacts"] == [{"artifactId": "a", "parts": [{"text": "ab"}]}]


def test_an_id_that_is_not_ascii_is_brought_back_as_it_was_given() -> None:
    def first(heard: Heard) -> Answer:
        return Answer(["id: événement-1\n".encode() + printed(heard, whole(), None), CUT])

    _, server, _ = run(first, telling(whole("COMPLETED")))

    assert server.heard[1].headers["last-event-id"] == "événement-1"


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_stream_without_ids_that_was_cut_tells_what_was_missed_and_no_more(binding: str) -> None:
    history = [
        {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Go"}]},
        status("WORKING", "one")["statusUpdate"]["status"]["message"],
        status("WORKING", "two")["statusUpdate"]["status"]["message"],
    ]
    now = whole("WORKING", "abc", history=history)
    now["task"]["status"]["message"] = status("WORKING", "three")["statusUpdate"]["status"]["message"]
    now["task"]["artifacts"].append({"artifactId": "b", "parts": [{"text": "new"}]})
    first = telling(whole(), status("WORKING", "one"), chunk("a", append=False), chunk("b"), then=CUT)

    told, _, _ = run(first, telling(now, chunk("d"), status("COMPLETED")), binding=binding)

    assert told[4:] == [
        status("WORKING", "two"),
        chunk("c"),
        chunk("new", append=False, artifact="b"),
        status("WORKING", "three"),
        chunk("d"),
        status("COMPLETED"),
    ]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_task_that_ended_while_nobody_listened_is_looked_at(binding: str) -> None:
    first = telling(whole(), chunk("a", append=False), then=CUT)
    ended = whole("COMPLETED", "ab")["task"]

    told, server, _ = run(first, refusing(-32004, "UNSUPPORTED_OPERATION"), answering(ended), binding=binding)

    last = chunk("b")
    last["artifactUpdate"]["lastChunk"] = True
    assert told[2:] == [last, status("COMPLETED")]
    assert len(server.heard) == 3


def test_a_stream_that_stops_while_its_task_works_was_cut_however_politely() -> None:
    told, server, _ = run(telling(whole(), ids=1), telling(whole(), status("COMPLETED"), ids=1))

    assert told == [whole(), status("COMPLETED")]
    assert len(server.heard) == 2


def test_a_stream_may_break_after_its_task_has_ended() -> None:
    told, server, _ = run(telling(whole(), status("FAILED"), then=CUT))

    assert told == [whole(), status("FAILED")]
    assert len(server.heard) == 1


def test_a_message_is_all_there_is() -> None:
    message = {"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "Hi"}]}}

    told, server, stream = run(telling(message, then=CUT))

    assert (told, len(server.heard), stream.task) == ([message], 1, None)


def test_a_question_ends_the_stream_of_a_message() -> None:
    told, _, _ = run(telling(whole(), status("INPUT_REQUIRED", "Which?"), then=STALL))

    assert told == [whole(), status("INPUT_REQUIRED", "Which?")]


def test_the_question_that_is_being_answered_does_not() -> None:
    asked = whole("INPUT_REQUIRED")
    frames = [asked, chunk("a", append=False), status("WORKING"), status("COMPLETED")]

    told, _, _ = run(
        telling(*frames),
        following=lambda agent: agent.send_streaming_message(text_message("That", task_id="t1")),
    )

    assert told == frames


def test_nor_is_it_taken_for_the_next_one_where_the_connection_breaks_then() -> None:
    told, server, _ = run(
        telling(whole("INPUT_REQUIRED"), then=CUT),
        telling(whole("INPUT_REQUIRED"), status("COMPLETED")),
        following=lambda agent: agent.send_streaming_message(text_message("That", task_id="t1")),
    )

    assert told[-1] == status("COMPLETED")
    assert len(server.heard) == 2


def test_a_task_that_waits_for_its_caller_is_followed_by_whoever_subscribes() -> None:
    told, server, _ = run(
        telling(whole("INPUT_REQUIRED"), ids=4, then=CUT),
        telling(whole("INPUT_REQUIRED"), status("WORKING"), status("COMPLETED"), ids=4),
        following=lambda agent: agent.subscribe_to_task("t1", last_event_id="4"),
    )

    assert told == [whole("INPUT_REQUIRED"), status("WORKING"), status("COMPLETED")]
    assert [each.headers["last-event-id"] for each in server.heard] == ["4", "4"]


def test_what_comes_twice_under_one_id_is_told_once() -> None:
    def twice(heard: Heard) -> Answer:
        events = [
            printed(heard, frame, number)
            for number, frame in ((1, whole()), (2, chunk("a", append=False)), (3, chunk("b")))
        ]
        last = printed(heard, status("COMPLETED"), 4)
        return Answer([events[0], events[1], events[1], events[2], events[1], events[2], last])

    told, _, stream = run(twice)

    assert told == [whole(), chunk("a", append=False), chunk("b"), status("COMPLETED")]
    assert stream.task is not None
    assert stream.task.artifacts[0].parts[0].text == "ab"


def test_what_comes_out_of_order_is_told_all_the_same_and_so_is_what_differs_under_one_id() -> None:
    def muddled(heard: Heard) -> Answer:
        frames = ((1, whole()), (3, chunk("b")), (2, chunk("a")), (2, chunk("c")), (9, status("COMPLETED")))
        return Answer([printed(heard, frame, number) for number, frame in frames])

    told, _, _ = run(muddled)

    assert told == [whole(), chunk("b"), chunk("a"), chunk("c"), status("COMPLETED")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_end_as_they_like_and_pieces_too(end: str) -> None:
    def bytewise(heard: Heard) -> Answer:
        said = printed(heard, whole(), 1, end) + f": ping{end}{end}".encode()
        said += printed(heard, status("COMPLETED", "fertig ✓"), 2, end)
        return Answer([bytes([each]) for each in b"\xef\xbb\xbf" + said])

    told, _, _ = run(bytewise)

    assert told == [whole(), status("COMPLETED", "fertig ✓")]


def test_a_frame_of_eight_megabytes_goes_through_and_one_above_the_limit_does_not() -> None:
    huge = chunk("x" * 8_000_000, append=False)

    told, _, _ = run(telling(whole(), huge, status("COMPLETED")))
    raised, before, _ = failing(UnexpectedAnswerError, telling(whole(), huge), limits=Limits(event=1_000_000))

    assert told[1] == huge
    assert before == [whole()]
    assert "longer" in str(raised)


def test_silence_is_a_cut() -> None:
    told, server, _ = run(
        telling(whole(), ids=1, then=STALL),
        telling(whole(), status("COMPLETED"), ids=1),
        timeouts=Timeouts(idle=0.05),
    )

    assert told == [whole(), status("COMPLETED")]
    assert len(server.heard) == 2


def test_signs_of_life_are_not_silence() -> None:
    pings = [b": ping\n\n"] * 20

    told, server, _ = run(telling(whole(), *pings, status("COMPLETED")), timeouts=Timeouts(idle=5))

    assert (told, len(server.heard)) == ([whole(), status("COMPLETED")], 1)


def test_an_error_within_a_stream_is_a_cut_where_the_task_may_go_on() -> None:
    def broken(heard: Heard) -> Answer:
        error = {"jsonrpc": "2.0", "id": heard.rpc["id"], "error": {"code": -32603, "message": "Oops"}}
        return Answer([printed(heard, whole(), 1), f"event: error\ndata: {json.dumps(error)}\n\n".encode()])

    told, _, _ = run(broken, telling(whole(), status("COMPLETED"), ids=1))

    assert told == [whole(), status("COMPLETED")]


def test_an_error_within_a_stream_is_raised_where_there_is_nothing_to_go_on_with() -> None:
    raised, told, _ = failing(
        TaskNotFoundError, telling(whole(), ids=1, then=CUT), refusing(-32001, "TASK_NOT_FOUND", 404)
    )

    assert (raised.message, told) == ("No", [whole()])


def test_a_place_that_the_server_has_forgotten_is_done_without() -> None:
    told, server, _ = run(
        telling(whole(), chunk("a", append=False), ids=1, then=CUT),
        refusing(-32602, "INVALID_PARAMS"),
        telling(whole("COMPLETED", "ab")),
    )

    assert [next(iter(each)) for each in told[2:]] == ["artifactUpdate", "statusUpdate"]
    assert "last-event-id" not in server.heard[2].headers


def test_attempts_to_take_a_stream_up_again_end_and_say_where_it_was() -> None:
    raised, told, server = failing(
        StreamCutError, telling(whole(), ids=7, then=CUT), page(503), page(500), page(502), page(503)
    )

    assert (raised.task_id, raised.last_event_id, told) == ("t1", "7", [whole()])
    assert len(server.heard) == 4


def test_attempts_are_counted_from_the_last_event() -> None:
    cut = [telling(whole(), status("WORKING", str(n)), ids=n, then=CUT) for n in range(1, 9)]

    told, server, _ = run(*cut, telling(whole(), status("COMPLETED"), ids=9))

    assert len(told) == 1 + 8 + 1
    assert len(server.heard) == 9


def test_a_server_that_is_busy_for_long_is_not_waited_for() -> None:
    raised, _, server = failing(
        StreamCutError, telling(whole(), ids=1, then=CUT), page(503, **{"Retry-After": "3600"})
    )

    assert raised.task_id == "t1"
    assert len(server.heard) == 2


def test_a_message_whose_stream_broke_before_it_began_is_sent_again_under_its_id() -> None:
    told, server, _ = run(telling(then=CUT), page(503), telling(whole(), status("COMPLETED")))

    assert told == [whole(), status("COMPLETED")]
    assert {each.rpc["params"]["message"]["messageId"] for each in server.heard} == {"m1"}
    assert {each.rpc["method"] for each in server.heard} == {"SendStreamingMessage"}


def test_unless_that_is_not_wanted() -> None:
    raised, told, server = failing(
        UnreachableError, telling(then=CUT), retries=Retries(first_pause=0, resend=False)
    )

    assert (raised.request_sent, told, len(server.heard)) == (True, [], 1)


def test_a_stream_that_does_not_begin_in_time_is_not_asked_for_again() -> None:
    raised, _, server = failing(
        TimedOutError, telling(then=STALL), timeouts=Timeouts(first_byte=5, idle=0.05)
    )

    assert (raised.phase, len(server.heard)) == ("idle", 1)


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize(
    ("script", "error"),
    [
        (refusing(-32001, "TASK_NOT_FOUND", 404), TaskNotFoundError),
        (refusing(-32603, "INTERNAL_ERROR", 500), InternalError),
        (page(401), UnauthenticatedError),
        (page(200), UnexpectedAnswerError),
        (page(500), UnexpectedAnswerError),
        (answering(whole()), UnexpectedAnswerError),
    ],
)
def test_what_refuses_a_stream_is_raised_as_it_is(
    binding: str, script: Script, error: type[BaseException]
) -> None:
    _, told, server = failing(error, script, binding=binding)

    assert (told, len(server.heard)) == ([], 1)


@pytest.mark.parametrize(
    "frame",
    [
        b'data: {"jsonrpc":"2.0","id":"another","result":{}}\n\n',
        b"data: <html>\n\n",
        b'data: {"jsonrpc":"2.0"}\n\n',
        {"task": {"id": "t1"}},
        {"task": task(task_id="t2")},
        {"somethingElse": {}},
    ],
)
def test_a_frame_that_is_not_of_this_stream_is_not_believed(frame: Any) -> None:
    _, told, _ = failing(UnexpectedAnswerError, telling(whole(), frame, status("COMPLETED")))

    assert told == [whole()]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_task_of_an_agent_that_does_not_stream_is_looked_at_until_it_has_ended(binding: str) -> None:
    told, server, _ = run(
        answering(whole("SUBMITTED")),
        answering(whole("WORKING", "a")["task"]),
        answering(whole("WORKING", "a")["task"]),
        answering(whole("COMPLETED", "abc")["task"]),
        streaming=False,
        binding=binding,
    )

    last = chunk("bc")
    last["artifactUpdate"]["lastChunk"] = True
    assert told == [
        whole("SUBMITTED"),
        chunk("a", append=False),
        status("WORKING"),
        last,
        status("COMPLETED"),
    ]
    sent = json.loads(server.heard[0].body)
    assert sent.get("params", sent)["configuration"] == {"returnImmediately": True}


def test_a_reader_may_hang_up_at_any_time() -> None:
    async def once(stream: Stream) -> StreamResponse | None:
        async with stream:
            async for event in stream:
                return event
        return None

    told, _, _ = run(telling(whole(), then=STALL), use=once)

    assert told.to_dict() == whole()
