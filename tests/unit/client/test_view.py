"""A task as told so far, and what another look at it tells beyond that."""

from typing import Any

import pytest

from a2a_serverless.client.view import TaskView
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task
from tests.unit.client.agents_on_paper import task
from tests.unit.client.test_client_streams import chunk, status, whole


def viewed(*frames: dict[str, Any], sent: str | None = None) -> TaskView:
    view = TaskView(sent)
    for frame in frames:
        view.apply(StreamResponse.from_dict(frame))
    return view


def standing(*parts: dict[str, Any], state: str = "WORKING", **members: Any) -> Task:
    artifacts = [{"artifactId": "a", "parts": list(parts)}] if parts else []
    return Task.from_dict(task(f"TASK_STATE_{state}", artifacts=artifacts, **members))


def missed(view: TaskView, now: Task) -> list[dict[str, Any]]:
    return [each.to_dict() for each in view.catch_up(now)]


def piece(*parts: dict[str, Any], append: bool = True) -> dict[str, Any]:
    update = chunk("", append=append)
    update["artifactUpdate"]["artifact"]["parts"] = list(parts)
    return update


URL = {"url": "https://a.example/file?signature=1", "mediaType": "image/png"}
SIGNED_ANEW = {**URL, "url": "https://a.example/file?signature=2"}


@pytest.mark.parametrize(
    ("known", "now", "told"),
    [
        ([{"text": "ab"}], [{"text": "ab"}], []),
        ([{"text": "ab"}], [{"text": "abc"}], [piece({"text": "c"})]),
        ([{"text": "a"}, {"text": "b"}], [{"text": "abc"}], [piece({"text": "c"})]),
        ([{"text": "ab"}], [{"text": "ab"}, URL], [piece(URL)]),
        ([{"text": "ab"}], [{"text": "abc"}, URL], [piece({"text": "c"}, URL)]),
        ([{"text": "ab"}], [{"text": "x"}], [piece({"text": "x"}, append=False)]),
        ([{"text": "ab"}, URL], [{"text": "ab"}], [piece({"text": "ab"}, append=False)]),
        (
            [{"text": "ab"}, {"data": 1}],
            [{"text": "x"}, {"data": 1}],
            [piece({"text": "x"}, {"data": 1}, append=False)],
        ),
        ([URL], [SIGNED_ANEW], []),
        ([URL], [SIGNED_ANEW, {"text": "a"}], [piece({"text": "a"})]),
        ([{"text": "a", "mediaType": "x/y"}], [{"text": "ab"}], [piece({"text": "ab"}, append=False)]),
        ([{"data": {"n": 1}}], [{"data": {"n": 1}}, {"data": {"n": 2}}], [piece({"data": {"n": 2}})]),
    ],
)
def test_of_an_artifact_only_what_is_new_is_told_and_all_of_it_where_it_was_replaced(
    known: list[dict[str, Any]], now: list[dict[str, Any]], told: list[dict[str, Any]]
) -> None:
    view = viewed(whole(), piece(known[0], append=False), *(piece(part) for part in known[1:]))

    assert missed(view, standing(*now)) == told
    assert missed(view, standing(*now)) == []


def test_texts_that_follow_each_other_are_put_together_and_nothing_else() -> None:
    view = viewed(
        whole(), piece({"text": "a"}, append=False), piece({"text": "b"}), piece(URL), piece({"text": "c"})
    )

    assert view.task is not None
    assert view.task.to_dict()["artifacts"][0]["parts"] == [{"text": "ab"}, URL, {"text": "c"}]


def test_what_later_pieces_say_of_their_artifact_counts() -> None:
    later = chunk("b")
    later["artifactUpdate"]["artifact"]["name"] = "Report"

    view = viewed(whole(), chunk("a", append=False), later)

    assert view.task is not None
    assert view.task.artifacts[0].name == "Report"


def test_an_artifact_that_nobody_has_heard_of_may_be_added_to() -> None:
    view = viewed(chunk("a"))

    assert view.task is not None
    assert view.task.to_dict() == {
        **task("TASK_STATE_SUBMITTED"),
        "artifacts": [{"artifactId": "a", "parts": [{"text": "a"}]}],
    }


def test_a_stream_that_began_without_its_task_is_told_what_was_said_after_its_message() -> None:
    before = {"messageId": "m0", "role": "ROLE_AGENT", "parts": [{"text": "Before"}]}
    own = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Go"}]}
    after = status("WORKING", "after")["statusUpdate"]["status"]["message"]
    now = standing(history=[before, own, after])

    assert missed(viewed(status("WORKING"), sent="m1"), now) == [status("WORKING", "after")]
    assert missed(viewed(status("WORKING"), sent="elsewhere"), now) == []


def test_what_the_task_had_in_its_history_from_the_beginning_is_not_told_as_missed() -> None:
    earlier = status("WORKING", "earlier")["statusUpdate"]["status"]["message"]

    assert missed(viewed(whole(history=[earlier])), standing(history=[earlier])) == []


def test_before_anything_was_told_there_is_no_task() -> None:
    assert TaskView().task is None
    assert TaskView().state is None
