"""A streamed answer, byte by byte and in time (AWS: custom runtimes, response streaming)."""

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from a2a_runtime.streaming import body_frames
from tests.unit.streaming.conftest import Serve
from tests.unit.streaming.platform import PATIENCE, Platform

PRELUDE = {"statusCode": 200, "headers": {"Content-Type": "text/event-stream"}}
PRELUDE_BYTES = b'{"statusCode":200,"headers":{"Content-Type":"text/event-stream"}}' + b"\0" * 8
PRELUDE_CHUNK = b"%x\r\n%b\r\n" % (len(PRELUDE_BYTES), PRELUDE_BYTES)


@dataclass
class Streamed:
    prelude: dict[str, Any]
    chunks: Iterator[bytes]


def test_a_streamed_answer_is_announced_and_framed_as_lambda_wants_it(
    platform: Platform, serving: Serve
) -> None:
    serving(lambda event, context: Streamed(PRELUDE, iter([b"data: 1\n\n", b"", b"data: 2\n\n"])))

    line, headers = platform.read_head()
    body = platform.read_until(b"0\r\n\r\n")
    platform.reply(202)

    assert line == "POST /2018-06-01/runtime/invocation/request-1/response HTTP/1.1"
    assert headers["content-type"] == "application/vnd.awslambda.http-integration-response"
    assert headers["lambda-runtime-function-response-mode"] == "streaming"
    assert headers["transfer-encoding"] == "chunked"
    assert "content-length" not in headers
    assert headers["trailer"] == "Lambda-Runtime-Function-Error-Type, Lambda-Runtime-Function-Error-Body"
    assert body == PRELUDE_CHUNK + b"9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"


def test_each_piece_is_on_the_wire_before_the_next_is_produced(platform: Platform, serving: Serve) -> None:
    produced: list[int] = []
    go_on = [threading.Event() for _ in range(3)]

    def pieces() -> Iterator[bytes]:
        for number, permission in enumerate(go_on):
            assert permission.wait(PATIENCE)
            produced.append(number)
            yield b"%d" % number

    serving(lambda event, context: Streamed(PRELUDE, pieces()))

    platform.read_head()
    assert platform.read_until(PRELUDE_CHUNK) == PRELUDE_CHUNK
    assert produced == []
    for number, permission in enumerate(go_on):
        permission.set()
        frame = b"1\r\n%d\r\n" % number
        assert platform.read_until(frame) == frame
        assert produced == list(range(number + 1))
    assert platform.read_until(b"0\r\n\r\n") == b"0\r\n\r\n"
    platform.reply(202)


def test_an_error_between_pieces_is_told_in_the_trailers(platform: Platform, serving: Serve) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"first"
        raise LookupError("the log\r\nis gone")

    serving(lambda event, context: Streamed(PRELUDE, pieces()))

    platform.read_head()
    assert platform.read_until(b"first\r\n") == PRELUDE_CHUNK + b"5\r\nfirst\r\n"
    trailers = platform.read_until(b"\r\n\r\n")
    platform.reply(202)

    end, error_type, error_body = trailers.decode().strip().split("\r\n")
    assert (end, error_type) == ("0", "Lambda-Runtime-Function-Error-Type: LookupError")
    described = json.loads(base64.b64decode(error_body.removeprefix("Lambda-Runtime-Function-Error-Body: ")))
    assert (described["errorType"], described["errorMessage"]) == ("LookupError", "the log\r\nis gone")


def test_a_reader_that_leaves_ends_the_production_and_not_the_loop(
    platform: Platform, serving: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    closed = threading.Event()

    def pieces() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 65536
        finally:
            closed.set()

    thread = serving(lambda event, context: Streamed(PRELUDE, pieces()))
    platform.read_head()
    platform.hang_up()

    assert closed.wait(PATIENCE)
    thread.join(PATIENCE)
    assert "[INFO] Runtime.StreamBroken" in capsys.readouterr().out


class Closable:
    """Pieces that say when they are closed."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = iter(pieces)
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        self.closed += 1


def test_pieces_are_closed_when_the_end_of_the_answer_is_out_and_not_before() -> None:
    pieces = Closable(b"a", b"b")
    frames = body_frames(Streamed(PRELUDE, pieces))

    sent = [next(frames) for _ in range(4)]

    assert sent[1:] == [b"1\r\na\r\n", b"1\r\nb\r\n", b"0\r\n\r\n"]
    assert pieces.closed == 0
    assert list(frames) == []
    assert pieces.closed == 1


@pytest.mark.parametrize("read", [1, 2, 3])
def test_pieces_are_closed_when_nobody_reads_on_wherever_they_stop(read: int) -> None:
    pieces = Closable(b"a", b"b")
    frames = body_frames(Streamed(PRELUDE, pieces))
    for _ in range(read):
        next(frames)

    frames.close()

    assert pieces.closed == 1


@pytest.mark.parametrize(
    "prelude", [{"statusCode": 200, "headers": {"X": "x" * 16384}}, {"statusCode": object()}]
)
def test_a_prelude_that_lambda_would_not_take_fails_the_invocation_before_anything_is_sent(
    platform: Platform, serving: Serve, prelude: dict[str, Any]
) -> None:
    serving(lambda event, context: Streamed(prelude, iter([b"never"])))

    line, _, described = platform.accept_failure()

    assert line == "POST /2018-06-01/runtime/invocation/request-1/error HTTP/1.1"
    assert described["errorType"] in {"ValueError", "TypeError"}
