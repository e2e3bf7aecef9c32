"""Server-sent events (specification 9.4.2, 11.7): frames of a stream as `text/event-stream`.

`id:` is the position a reader is at, so that an EventSource, or whoever sends `Last-Event-ID`, goes on
exactly there. While nothing happens a comment says that the stream lives: the official client gives up
after 5 seconds of silence.
"""

from collections.abc import Callable, Generator, Iterator
from datetime import timedelta
from itertools import chain

from a2a_serverless.operations.streams import Frame, Frames
from a2a_serverless.ports import Clock
from a2a_serverless.protocol.events import StreamResponse

EVENT_STREAM = "text/event-stream"

HEADERS = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Whatever stands in between must neither keep a stream nor hold it back."""

SILENCE = timedelta(seconds=2.9)
"""How long nothing is said before a comment is due: looking in vain takes a second at most, so 4 in all."""

COMMENT = b": nothing yet\n"
"""A line, and none that is blank: after an event with an id, httpx-sse takes that for one without data."""

ESCAPED = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
"""What ends a line for Unicode but not for event streams: many a client splits at these, httpx among them."""

Printed = Callable[[StreamResponse], str]
"""A frame's JSON as a binding puts it into an event, on one line."""


def event_stream(
    clock: Clock, frames: Frames, printed: Printed, broken: Callable[[Exception], str]
) -> Iterator[bytes]:
    """The body of a stream. What can be refused is refused here, before its first piece is asked for.

    A stream that breaks says so in a last event without an id, made by `broken`, and raises.
    """
    first = next(frames)
    return _body(clock, first, frames, printed, broken)


def _body(
    clock: Clock,
    first: Frame | None,
    frames: Frames,
    printed: Printed,
    broken: Callable[[Exception], str],
) -> Generator[bytes, None, None]:
    said_at = clock.now()
    try:
        for frame in chain([first], frames):
            if frame is not None:
                yield _event(frame, printed)
            elif clock.now() - said_at < SILENCE:
                continue
            else:
                yield COMMENT
            said_at = clock.now()
    except Exception as error:
        yield _written("", broken(error))
        raise
    finally:
        if isinstance(frames, Generator):
            frames.close()


def _event(frame: Frame, printed: Printed) -> bytes:
    position = "" if frame.position is None else f"id: {frame.position}\n"
    return _written(position, printed(frame.response))


def _written(position: str, json: str) -> bytes:
    return f"{position}data: {json if json.isascii() else json.translate(ESCAPED)}\n\n".encode()
