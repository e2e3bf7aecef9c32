"""Conditional requests (RFC 9110, 13.1.2 and 13.1.3)."""

from datetime import UTC, datetime

import pytest

from a2a_serverless.bindings.conditional import http_date, is_current
from a2a_serverless.bindings.http import HttpRequest

ETAG = '"abc"'
MODIFIED = datetime(2026, 11, 30, 12, 0, 0, 999_000, tzinfo=UTC)
SAME, EARLIER = "Mon, 30 Nov 2026 12:00:00 GMT", "Mon, 30 Nov 2026 11:59:59 GMT"


def asking(**headers: str) -> HttpRequest:
    return HttpRequest("GET", "/", {name.replace("_", "-"): (value,) for name, value in headers.items()})


@pytest.mark.parametrize(
    "tags", ['"abc"', 'W/"abc"', '"x","abc"', '"x" , W/"abc" ,"y"', "*", " * ", '"a,b", "abc"', '"", "abc"']
)
def test_a_tag_that_matches_weakly_is_current(tags: str) -> None:
    assert is_current(asking(if_none_match=tags), ETAG)


@pytest.mark.parametrize("tags", ['"abd"', "abc", "", '"ABC"', '"x, abc"', "W/abc", '"abc', '"*"'])
def test_any_other_tag_is_not(tags: str) -> None:
    assert not is_current(asking(if_none_match=tags), ETAG)


def test_tags_in_several_headers_are_one_list() -> None:
    assert is_current(HttpRequest("GET", "/", {"if-none-match": ('"x"', ETAG)}), ETAG)


@pytest.mark.parametrize(
    ("since", "current"),
    [
        (SAME, True),
        ("Tue, 01 Dec 2026 00:00:00 GMT", True),
        (EARLIER, False),
        ("yesterday", False),
        ("", False),
        ("Mon, 30 Nov 2026 12:00:00", False),
        ("Mon, 99 Nov 2026 12:00:00 GMT", False),
        ("Mon, 30 Nov 99999999999999999999 12:00:00 GMT", False),
    ],
)
def test_a_copy_is_current_since_the_second_it_was_made(since: str, *, current: bool) -> None:
    assert is_current(asking(if_modified_since=since), ETAG, MODIFIED) is current


def test_a_tag_makes_the_date_not_count() -> None:
    assert not is_current(asking(if_none_match='"x"', if_modified_since=SAME), ETAG, MODIFIED)
    assert is_current(asking(if_none_match=ETAG, if_modified_since=EARLIER), ETAG, MODIFIED)


def test_a_date_means_nothing_for_what_has_none() -> None:
    assert not is_current(asking(if_modified_since=SAME), ETAG)
    assert not is_current(asking(), ETAG, MODIFIED)


def test_a_moment_is_printed_as_http_does() -> None:
    assert http_date(MODIFIED) == SAME
