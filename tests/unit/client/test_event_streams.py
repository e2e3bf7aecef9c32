"""Server-sent events, however their bytes are cut up and their lines end."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.client.event_streams import Event, EventReader, EventTooLargeError

STREAM = (
    ": hello\nid: 1\nevent: update\ndata: één\ndata:  two\n\nretry: 1500\nid\n\n:\n\ndata\n\ndata: 3 ✓\n\n"
)
EVENTS = [Event("één\n two", "update", "1"), Event(""), Event("3 ✓")]


def events(*pieces: bytes, most: int = 1000) -> list[Event]:
    reader = EventReader(most)
    return [event for piece in pieces for event in reader.feed(piece)]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_lines_may_end_in_any_of_three_ways_and_a_byte_order_mark_says_nothing(end: str, mark: bytes) -> None:
    assert events(mark + STREAM.replace("\n", end).encode()) == EVENTS


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_pieces_of_one_byte_make_the_same_events(end: str) -> None:
    whole = b"\xef\xbb\xbf" + STREAM.replace("\n", end).encode()

    assert events(*(bytes([each]) for each in whole)) == EVENTS


@given(cuts=st.lists(st.integers(0, 100)), end=st.sampled_from(["\n", "\r", "\r\n"]))
def test_where_pieces_end_makes_no_difference(cuts: list[int], end: str) -> None:
    whole = STREAM.replace("\n", end).encode()
    places = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]

    assert events(*(whole[a:b] for a, b in pairwise(places))) == EVENTS


def test_an_event_is_told_when_its_empty_line_has_ended_though_a_line_feed_may_follow() -> None:
    assert events(b"data: now\r\r") == [Event("now")]


def test_what_has_not_ended_is_no_event() -> None:
    assert events(b"data: one\n\ndata: two\n") == [Event("one")]


def test_the_last_id_is_that_of_the_last_event_that_ended_and_may_be_taken_back() -> None:
    reader = EventReader(100)
    places = []
    for piece in (b"id: 7\n\n", b"id: 8\n", b"\n", b"data: x\n\n", b"id: a\0b\n\n", b"id\n\n"):
        list(reader.feed(piece))
        places.append(reader.last_id)

    assert places == ["7", "7", "8", "8", "8", None]


@pytest.mark.parametrize("name", ["a\0b", "\x1b[31m", "a\tb", " a ", "a\x7f"])
def test_an_id_that_no_header_could_bring_back_is_none(name: str) -> None:
    assert events(f"id: {name}\ndata: x\n\n".encode()) == [Event("x")]


def test_a_server_may_say_how_long_to_wait_before_coming_back() -> None:
    reader = EventReader(100)
    list(reader.feed(b"retry: 1500\nretry: soon\nretry: -1\n"))

    assert reader.retry == 1.5


def test_other_ends_of_lines_belong_to_the_data() -> None:
    assert events("data: a\u2028b\x85c\x0bd\n\n".encode()) == [Event("a\u2028b\x85c\x0bd")]


def test_an_event_may_be_huge_up_to_the_limit_and_comments_do_not_add_up() -> None:
    reader = EventReader(10_000_000)
    pieces = [b"data: ", *[b"x" * 65536] * 150, b"\n\n"]
    (event,) = [each for piece in pieces for each in reader.feed(piece)]

    assert len(event.data) == 150 * 65536
    with pytest.raises(EventTooLargeError):
        events(b"data: " + b"x" * 100, most=50)
    assert events(*[b": ping\n"] * 100, b"data: x\n\n", most=50) == [Event("x")]
