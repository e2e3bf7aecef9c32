"""Events that a snapshot held already, where nothing but their content tells."""

from typing import Any

from a2a_serverless.client.overlap import Overlap
from a2a_serverless.client.view import texts_of
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task
from tests.unit.client.agents_on_paper import task
from tests.unit.client.test_client_streams import chunk, status

HISTORY = [status("WORKING", "one")["statusUpdate"]["status"]["message"]]
SNAPSHOT = Task.from_dict(
    task(
        "TASK_STATE_WORKING",
        artifacts=[{"artifactId": "a", "parts": [{"text": "1 2 3 "}]}],
        history=HISTORY,
    )
)


def sifted(*frames: dict[str, Any], missed: str = "2 3 ", snapshot: Task = SNAPSHOT) -> list[dict[str, Any]]:
    overlap = Overlap(snapshot, {"a": missed})
    return [each.to_dict() for frame in frames for each in overlap.sifted(StreamResponse.from_dict(frame))]


def test_what_the_snapshot_told_anew_is_not_told_again() -> None:
    new = [chunk("4 "), status("COMPLETED")]

    assert sifted(chunk("2 "), chunk("3 "), *new) == new
    assert sifted(chunk("3 "), *new) == new
    assert sifted(*new) == new


def test_what_was_known_before_the_snapshot_cannot_come_again() -> None:
    assert sifted(chunk("1 ")) == [chunk("1 ")]
    assert sifted(chunk("3 "), missed="") == [chunk("3 ")]


def test_what_turns_out_to_be_no_repetition_is_told_with_what_shows_it() -> None:
    frames = [chunk("2 "), chunk("4 "), status("COMPLETED")]

    assert sifted(*frames) == frames


def test_after_the_first_new_event_everything_is() -> None:
    frames = [status("COMPLETED"), chunk("3 ")]

    assert sifted(*frames) == frames


def test_a_message_is_known_by_its_id_and_a_bare_status_by_its_time() -> None:
    earlier, later = status("WORKING"), status("WORKING")
    earlier["statusUpdate"]["status"]["timestamp"] = "2026-01-31T10:30:00.000Z"
    later["statusUpdate"]["status"]["timestamp"] = "2026-01-31T10:30:00.002Z"
    members = {"status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-31T10:30:00.001Z"}}
    at = Task.from_dict({**SNAPSHOT.to_dict(), **members})

    assert sifted(status("WORKING", "one"), status("WORKING")) == []
    assert sifted(earlier, later, snapshot=at) == [later]


def test_parts_that_are_no_text_are_known_where_the_artifact_ends_with_them() -> None:
    piece: dict[str, Any] = chunk("")
    piece["artifactUpdate"]["artifact"]["parts"] = [{"data": {"n": 2}}]
    other: dict[str, Any] = chunk("")
    other["artifactUpdate"]["artifact"]["parts"] = [{"data": {"n": 3}}]
    snapshot = Task.from_dict(
        task(artifacts=[{"artifactId": "a", "parts": [{"data": {"n": 1}}, {"data": {"n": 2}}]}])
    )

    assert sifted(piece, other, missed="", snapshot=snapshot) == [other]
    assert texts_of(snapshot) == {"a": ""}
