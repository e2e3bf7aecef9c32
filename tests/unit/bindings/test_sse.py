"""Server-sent events: what each frame is on the wire, when a comment is due, how a stream ends or breaks."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

import httpx
import httpx_sse
import pytest

from a2a_serverless.bindings.sse import COMMENT, event_stream
from a2a_serverless.operations.streams import Frame
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Message, Part, Role
from a2a_serverless.protocol.protojson import ProtoModel
from tests.fakes.event_source import Event, events_of
from tests.fakes.ports import FakeClock


def frame(position: int | None, text: str = "hi") -> Frame:
    message = Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))
    return Frame(position, StreamResponse(message=message))


def shown(text: str = "hi") -> Any:
    return {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}}


class Script:
    """A stream that does what it is told: says a frame, looks in vain for so many seconds, or breaks."""

    def __init__(self, *steps: Frame | float | Exception) -> None:
        self.clock = FakeClock()
        self.steps = steps
        self.done = 0
        self.closed = False

    def frames(self) -> Iterator[Frame | None]:
        try:
            for step in self.steps:
                self.done += 1
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, float):
                    self.clock.sleep(step)
                    yield None
                else:
                    yield step
        finally:
            self.closed = True

    def body(self) -> Iterator[bytes]:
        return event_stream(
            self.clock,
            self.frames(),
            ProtoModel.to_json,
            lambda error: f'{{"error":"{type(error).__name__}"}}',
        )

    def timed(self) -> list[tuple[datetime, bytes]]:
        """Every piece, and when it left."""
        begun = (self.clock.now(), b"")
        return [begun, *((self.clock.now(), piece) for piece in self.body())]


def gaps(timed: list[tuple[datetime, bytes]]) -> list[float]:
    return [(after - before).total_seconds() for (before, _), (after, _) in pairwise(timed)]


def test_a_frame_is_an_event_under_its_position_with_its_json_on_one_line() -> None:
    pieces = list(Script(frame(1), frame(12)).body())

    data = b'data: {"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}\n\n'
    assert pieces == [b"id: 1\n" + data, b"id: 12\n" + data]


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb\rc", "a\n\nid: 9\n\n", "\x85", "\u2028\u2029", "\x0b\x0c\x1c\x1e", "é☃"]
)
def test_no_text_ends_the_line_it_stands_on(text: str) -> None:
    (piece,) = Script(frame(3, text)).body()

    assert len(piece.decode().splitlines()) == 3
    assert events_of([piece]) == [Event(shown(text), "3")]


def test_a_message_alone_is_exactly_one_event_and_has_no_id() -> None:
    assert events_of(Script(frame(None)).body()) == [Event(shown())]


@pytest.mark.parametrize("tick", [0.04, 0.15, 0.33, 0.7, 0.97, 1.0])
def test_while_nothing_happens_a_comment_comes_at_least_every_four_seconds(tick: float) -> None:
    script = Script(frame(1), *[tick] * int(60 / tick))

    timed = script.timed()

    assert max(gaps(timed)) <= 4.0
    assert {piece for _, piece in timed[2:]} == {COMMENT}
    assert len(timed) <= 2 + 60 / 2.9, "and not much more often"


def test_a_frame_is_a_sign_of_life_too() -> None:
    steps = [step for position in range(1, 9) for step in (frame(position), 0.9, 0.9, 0.9)]

    assert [piece for _, piece in Script(*steps).timed() if piece == COMMENT] == []


def test_a_frame_after_a_long_silence_does_not_wait_for_its_comment() -> None:
    timed = Script(frame(1), 1.0, 1.0, frame(2), 1.0, 1.0, 1.0, frame(3)).timed()

    assert gaps(timed) == [0, 2, 3, 0]
    assert [piece == COMMENT for _, piece in timed[1:]] == [False, False, True, False]


def test_a_comment_is_no_event() -> None:
    assert events_of([COMMENT, COMMENT]) == []


def test_a_comment_between_events_is_none_for_httpx_sse_either() -> None:
    pieces = list(Script(frame(1), *[1.0] * 7, frame(2)).body())
    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=b"".join(pieces))

    assert pieces.count(COMMENT) == 2
    assert [(event.id, event.json()) for event in httpx_sse.EventSource(response).iter_sse()] == [
        ("1", shown()),
        ("2", shown()),
    ]


def test_a_piece_is_out_before_the_next_frame_is_asked_for() -> None:
    script = Script(frame(1), frame(2), frame(3))
    body = script.body()

    assert [script.done for _ in body] == [1, 2, 3]


def test_what_is_refused_is_refused_before_the_body_is_there() -> None:
    script = Script(TaskNotFoundError())

    with pytest.raises(TaskNotFoundError):
        script.body()

    assert script.closed


def test_a_stream_that_breaks_says_so_in_a_last_event_without_an_id_and_raises() -> None:
    script = Script(frame(1), 0.1, OSError("/var/task/secret"))
    pieces: list[bytes] = []

    with pytest.raises(OSError, match="secret"):
        pieces.extend(script.body())

    assert events_of(pieces) == [Event(shown(), "1"), Event({"error": "OSError"})]
    assert b"secret" not in b"".join(pieces)
    assert script.closed


@pytest.mark.parametrize("read", [1, 2, 3])
def test_a_reader_who_leaves_closes_the_stream(read: int) -> None:
    script = Script(frame(1), 3.0, frame(2), frame(3))
    body = script.body()
    for _ in range(read):
        next(body)
    assert not script.closed

    body.close()  # type: ignore[attr-defined]

    assert script.closed


def test_a_reader_who_leaves_while_a_break_is_told_ends_it_too() -> None:
    script = Script(frame(1), OSError("gone"))
    body = script.body()
    next(body)
    next(body)

    body.close()  # type: ignore[attr-defined]

    assert script.closed


def test_a_body_that_nobody_begins_to_read_closes_the_stream() -> None:
    script = Script(frame(1), frame(2))

    script.body().close()  # type: ignore[attr-defined]

    assert script.closed


def test_a_stream_read_to_its_end_is_closed() -> None:
    script = Script(frame(1), 0.1, frame(2))

    assert len(list(script.body())) == 2
    assert script.closed


def test_frames_that_are_there_already_are_a_stream_too() -> None:
    body = event_stream(FakeClock(), iter([frame(None)]), ProtoModel.to_json, str)

    assert events_of(body) == [Event(shown())]
