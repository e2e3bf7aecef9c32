"""What of a stream is new, and where in it a reader is."""

from a2a_serverless.client.telling import REMEMBERED, Telling, Told
from a2a_serverless.client.view import TaskView
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Task
from tests.unit.client.agents_on_paper import task
from tests.unit.client.test_client_streams import chunk, status, whole


def test_a_reader_is_behind_an_event_only_when_all_that_it_brings_was_told() -> None:
    telling = Telling(view=TaskView(), sends=True, place="3")
    telling.take(StreamResponse.from_dict(whole()))
    snapshot = Task.from_dict(
        task("TASK_STATE_COMPLETED", artifacts=[{"artifactId": "a", "parts": [{"text": "x"}]}])
    )

    new = telling.new(StreamResponse(task=snapshot), "7", first=True)
    places = [(each.which(), telling.place, telling.told_all) for each in telling.one_by_one(new, "7")]

    assert places == [("artifact_update", "3", False), ("status_update", "7", True)]
    assert telling.over


def test_an_event_that_brings_nothing_new_moves_the_place_all_the_same() -> None:
    telling = Telling(view=TaskView(), sends=True, place="3")

    assert list(telling.one_by_one([], "4")) == []
    assert telling.place == "4"


def test_ids_are_remembered_for_a_while() -> None:
    told, event = Told(), StreamResponse.from_dict(chunk("a"))

    assert [told.is_new("0", event), told.is_new("0", event)] == [True, False]
    for number in range(1, REMEMBERED + 1):
        told.is_new(str(number), StreamResponse.from_dict(status("WORKING")))
    assert told.is_new("0", event)
    assert len(told.ids) == REMEMBERED
