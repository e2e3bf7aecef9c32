"""Pieces of an answer between two threads."""

import threading

import pytest

from infra.local.streams import MOST_WAITING_BYTES, Stream, StreamBroken

PATIENCE = 5


def test_pieces_come_out_as_they_went_in_and_then_the_end() -> None:
    stream = Stream()
    assert all(map(stream.put, [b"1", b"2"]))
    stream.end(broken=False)

    assert [stream.take(PATIENCE) for _ in range(3)] == [b"1", b"2", None]


def test_a_silent_stream_says_so_in_time() -> None:
    assert Stream().take(0) == b""


def test_what_was_put_before_a_break_is_still_read() -> None:
    stream = Stream()
    stream.put(b"1")
    stream.end(broken=True)
    stream.end(broken=False)

    assert stream.take(PATIENCE) == b"1"
    with pytest.raises(StreamBroken):
        stream.take(PATIENCE)


def test_a_writer_far_ahead_waits_for_its_reader() -> None:
    stream = Stream()
    stream.put(bytes(MOST_WAITING_BYTES))
    writer = threading.Thread(target=stream.put, args=(b"more",))
    writer.start()

    taken = [stream.take(PATIENCE), stream.take(PATIENCE)]
    writer.join(PATIENCE)

    assert taken == [bytes(MOST_WAITING_BYTES), b"more"]


def test_a_writer_learns_that_nobody_reads_even_while_it_waits() -> None:
    stream = Stream()
    told = threading.Event()
    stream.when_abandoned(told.set)
    stream.put(bytes(MOST_WAITING_BYTES))
    put: list[bool] = []
    writer = threading.Thread(target=lambda: put.append(stream.put(b"more")))
    writer.start()

    stream.abandon()
    writer.join(PATIENCE)

    assert (put, told.is_set(), stream.put(b"more")) == ([False], True, False)


def test_whoever_asks_late_is_told_at_once_and_an_ended_stream_is_never_abandoned() -> None:
    late, ended = Stream(), Stream()
    told: list[str] = []
    late.abandon()
    late.when_abandoned(lambda: told.append("late"))
    ended.when_abandoned(lambda: told.append("ended"))
    ended.end(broken=False)
    ended.abandon()

    assert told == ["late"]
