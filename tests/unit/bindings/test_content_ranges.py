"""Ranges of content (RFC 9110, 13 and 14): which bytes are answered, and to which conditions."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from a2a_serverless.agent import Part
from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.content import MAX_CONTENT, MAX_STREAMED_CONTENT
from a2a_serverless.bindings.gateway import event_of
from a2a_serverless.bindings.http import HttpResponse, StreamedResponse
from a2a_serverless.ports import ContentLinks, LinkPolicy, Ports, TaskStore
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import TaskKey
from tests.unit.bindings.asking import endpoint, parsed, plain, request, streamed
from tests.unit.bindings.delivered import delivered

CONTENT = bytes(range(256)) * 400
SIZE = len(CONTENT)
ETAG = f'"{hashlib.sha256(CONTENT).hexdigest()}"'
NEVER = LinkPolicy(given=ContentLinks.NEVER)


def asked(
    ports: Ports, task_id: str, method: str = "GET", *, streaming: bool = False, **headers: str
) -> HttpResponse | StreamedResponse:
    """The answer to a request for the content, with headers in Python's spelling."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    at = replace(endpoint(ports), streaming=streaming)
    return http_json.answer(at, request(method, f"/artifacts/{task_id}/report:1/0", headers=named))


@pytest.fixture(params=["in the log", "stored"])
def kept(request: pytest.FixtureRequest) -> tuple[Ports, str]:
    """A task that delivered the content, wherever it lies."""
    logged = SIZE if request.param == "in the log" else 1
    return delivered(Part(raw=CONTENT, media_type="a/b"), logged=logged)


@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=0-9", 0, 9),
        ("bytes=256-511", 256, 511),
        ("bytes=100-", 100, SIZE - 1),
        ("bytes=0-", 0, SIZE - 1),
        ("bytes=-10", SIZE - 10, SIZE - 1),
        (f"bytes=-{SIZE * 2}", 0, SIZE - 1),
        (f"bytes={SIZE - 1}-", SIZE - 1, SIZE - 1),
        (f"bytes=5-{10**17}", 5, SIZE - 1),
        ("Bytes = 5-6 ", 5, 6),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_range_is_answered(
    kept: tuple[Ports, str], wanted: str, first: int, last: int, *, streaming: bool
) -> None:
    response = asked(*kept, streaming=streaming, range=wanted)

    body = response.body if isinstance(response, HttpResponse) else b"".join(response.chunks)
    assert (response.status, body) == (206, CONTENT[first : last + 1])
    assert response.headers["Content-Range"] == f"bytes {first}-{last}/{SIZE}"
    assert response.headers["ETag"] == ETAG
    assert response.headers["Accept-Ranges"] == "bytes"
    assert response.headers["Content-Disposition"] == "attachment"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=5-4",
        "bytes=0-1,5-6",
        "bytes=a-b",
        "bytes=-",
        "bytes=",
        "bytes",
        "lines=1-2",
        "bytes=1-2x",
        f"bytes={'9' * 40}-",
        "bytes=٣-٤",
    ],
)
def test_what_is_no_single_range_of_bytes_is_answered_with_all_of_it(
    kept: tuple[Ports, str], wanted: str
) -> None:
    response = plain(asked(*kept, range=wanted))

    assert (response.status, response.body) == (200, CONTENT)
    assert "Content-Range" not in response.headers


@pytest.mark.parametrize("wanted", [f"bytes={SIZE}-", f"bytes={SIZE}-{SIZE + 5}", "bytes=-0"])
def test_a_range_without_bytes_is_refused_with_the_size(kept: tuple[Ports, str], wanted: str) -> None:
    response = plain(asked(*kept, range=wanted))

    assert response.status == 416
    assert response.headers["Content-Range"] == f"bytes */{SIZE}"
    assert parsed(response)["error"]["details"][0]["reason"] == "RANGE_NOT_SATISFIABLE"


def test_a_range_of_nothing_is_nothing() -> None:
    response = plain(asked(*delivered(Part(raw=b"", media_type="a/b")), range="bytes=0-5"))

    assert (response.status, response.body) == (200, b"")


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        (ETAG, 206),
        (f"W/{ETAG}", 200),
        ('"another"', 200),
        ("Mon, 30 Nov 2026 12:00:00 GMT", 200),
    ],
)
def test_a_range_of_something_that_was_replaced_is_all_of_the_new(
    kept: tuple[Ports, str], condition: str, status: int
) -> None:
    assert asked(*kept, range="bytes=0-9", if_range=condition).status == status


@pytest.mark.parametrize(
    ("condition", "status"),
    [(ETAG, 206), ("*", 206), (f'"x", {ETAG}', 206), (f"W/{ETAG}", 412), ('"x"', 412), ("x", 412)],
)
def test_who_wants_what_it_knows_is_told_when_that_is_gone(
    kept: tuple[Ports, str], condition: str, status: int
) -> None:
    response = plain(asked(*kept, range="bytes=0-9", if_match=condition))

    assert response.status == status
    if status == 412:
        assert parsed(response)["error"]["details"][0]["reason"] == "PRECONDITION_FAILED"


def test_who_has_it_all_is_told_so_whatever_the_range(kept: tuple[Ports, str]) -> None:
    response = plain(asked(*kept, range="bytes=0-9", if_none_match=ETAG))

    assert (response.status, response.body) == (304, b"")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_head_tells_the_length_and_takes_no_range(kept: tuple[Ports, str], *, streaming: bool) -> None:
    response = plain(asked(*kept, "HEAD", streaming=streaming, range="bytes=0-9"))

    assert (response.status, response.body) == (200, b"")
    assert response.headers["Content-Length"] == str(SIZE)
    assert response.headers["Accept-Ranges"] == "bytes"
    assert "Content-Range" not in response.headers


def test_what_is_stored_leaves_piece_by_piece() -> None:
    ports, task_id = delivered(Part(raw=CONTENT * 3, media_type="a/b"))

    response = streamed(asked(ports, task_id, streaming=True))

    pieces = list(response.chunks)
    assert b"".join(pieces) == CONTENT * 3
    assert max(map(len, pieces)) <= 65536
    assert response.status == 200


def test_what_is_gone_is_found_out_before_the_status_is_out() -> None:
    ports, task_id = delivered(Part(raw=CONTENT, media_type="a/b"))
    contents: Any = ports.contents
    contents.stored.clear()

    response = plain(asked(ports, task_id, streaming=True))

    assert response.status == 500
    [(error, _)] = ports.incidents.reported  # type: ignore[attr-defined]
    assert isinstance(error, KeyError)


def test_a_reader_who_leaves_lets_go_of_what_is_stored() -> None:
    ports, task_id = delivered(Part(raw=CONTENT * 3, media_type="a/b"))
    contents: Any = ports.contents
    real, closed = contents.pieces, []

    def watched(*place: Any) -> Any:
        try:
            yield from real(*place)
        finally:
            closed.append(True)

    contents.pieces = watched
    response = streamed(asked(ports, task_id, streaming=True))
    chunks: Any = response.chunks
    next(chunks)
    chunks.close()

    assert closed == [True]


# --- what does not fit into one answer ------------------------------------------------


@pytest.mark.parametrize(("streaming", "most"), [(False, MAX_CONTENT), (True, MAX_STREAMED_CONTENT)])
def test_content_beyond_one_answer_is_refused_in_words_and_given_in_ranges(
    *, streaming: bool, most: int
) -> None:
    ports, task_id = delivered(Part(raw=CONTENT), links=NEVER)
    ports = replace(ports, tasks=cast("TaskStore", Longer(ports.tasks, most + 100)))

    whole = plain(asked(ports, task_id, streaming=streaming))
    part = asked(ports, task_id, streaming=streaming, range="bytes=50-")

    assert whole.status == 500
    assert parsed(whole)["error"]["details"][0]["reason"] == "RESPONSE_TOO_LARGE"
    assert str(most) in parsed(whole)["error"]["message"]
    assert part.status == 206
    assert part.headers["Content-Range"] == f"bytes 50-{most + 49}/{most + 100}"
    assert asked(ports, task_id, "HEAD", streaming=streaming).status == 200


@dataclass
class Longer:
    """A store whose log says that the content has this many bytes."""

    tasks: TaskStore
    size: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tasks, name)

    def load(self, key: TaskKey) -> LoggedTask:
        """The task, which says so."""
        task = self.tasks.load(key)
        [artifact] = task.artifacts
        [part] = artifact.parts
        assert part.stored is not None
        stored = part.stored.model_copy(update={"byte_size": self.size})
        parts = (part.model_copy(update={"stored": stored}),)
        return task.model_copy(update={"artifacts": (artifact.model_copy(update={"parts": parts}),)})


@pytest.mark.parametrize("body", ['{"a":"é"}'.encode()[:7], b"\xff", b'{"a":1}'])
def test_a_piece_of_a_text_is_no_text(body: bytes) -> None:
    event = event_of(HttpResponse(206, {"Content-Type": "application/json"}, body), {})

    assert event["isBase64Encoded"] is (body != b'{"a":1}')
