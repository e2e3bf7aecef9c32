"""Records of the table's stream: events that webhooks may want are recognized by their items."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.adapters.dynamodb_changes import appended
from a2a_serverless.adapters.dynamodb_tasks import DynamoTasks
from a2a_serverless.ports.webhooks import Appended
from a2a_serverless.protocol.objects import Role, TaskState
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedPart, LoggedStatus
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    Entry,
    LoggedEvent,
    PushKind,
    StatusChanged,
    TaskKey,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
    Voided,
)
from tests.fakes.ports import FakeContents, FakeIdentifiers
from tests.unit.adapters.client import table

MOMENT = datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC)
KEY = TaskKey("a#b", "owner é", "t#1")


def written(entry: Entry) -> Mapping[str, Any]:
    """The item of an event, as DynamoDB stores and streams it."""
    stored, client = table({})
    DynamoTasks(stored, FakeContents(), FakeIdentifiers()).append(KEY, LoggedEvent(7, "w", 10**10, entry))
    item: Mapping[str, Any] = client.asked[0]["Item"]
    return item


def record(image: Mapping[str, Any] | None, name: str = "INSERT") -> Mapping[str, Any]:
    """A record of the stream as Lambda passes it on."""
    change = {"StreamViewType": "NEW_IMAGE", **({"NewImage": image} if image is not None else {})}
    return {"eventID": "1", "eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change}


def status(state: TaskState, text: str | None = None) -> LoggedStatus:
    if text is None:
        return LoggedStatus(state=state, timestamp=MOMENT)
    message = LoggedMessage(message_id="m", role=Role.AGENT, parts=(LoggedPart(text=text),))
    return LoggedStatus(state=state, timestamp=MOMENT, message=message)


def artifact(*, last_chunk: bool) -> ArtifactUpdated:
    part = LoggedPart(text="text")
    return ArtifactUpdated(
        turn=1, artifact=LoggedArtifact(artifact_id="a", parts=(part,)), last_chunk=last_chunk
    )


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            TurnStarted(turn=1, segment=1, status=status(TaskState.WORKING)),
            Appended(KEY, 7, PushKind.STATES, MOMENT, TaskState.WORKING),
        ),
        (
            TurnSettled(turn=1, status=status(TaskState.INPUT_REQUIRED, "Which one?")),
            Appended(KEY, 7, PushKind.STATES, MOMENT, TaskState.INPUT_REQUIRED),
        ),
        (artifact(last_chunk=True), Appended(KEY, 7, PushKind.ARTIFACTS)),
        (
            StatusChanged(turn=1, status=status(TaskState.WORKING, "on it")),
            Appended(KEY, 7, PushKind.PROGRESS),
        ),
    ],
)
def test_an_event_that_is_pushed_is_told_by_its_place_and_kind(entry: Entry, expected: Appended) -> None:
    assert appended(record(written(entry))) == expected


@pytest.mark.parametrize(
    "entry",
    [
        artifact(last_chunk=False),
        TurnStarted(turn=1, segment=2, status=status(TaskState.WORKING)),
        StatusChanged(turn=1, status=status(TaskState.WORKING)),
        TurnCheckpointed(turn=1, segment=1),
        Voided(),
    ],
)
def test_an_event_that_is_never_pushed_is_nothing(entry: Entry) -> None:
    assert appended(record(written(entry))) is None


@pytest.mark.parametrize("name", ["MODIFY", "REMOVE"])
def test_only_what_was_inserted_is_news(name: str) -> None:
    assert appended(record(written(artifact(last_chunk=True)), name)) is None


def test_a_record_without_an_image_is_nothing() -> None:
    assert appended(record(None)) is None
    assert appended({"eventName": "INSERT"}) is None


def test_other_items_are_nothing_whatever_they_hold() -> None:
    item = {"pk": {"S": "TASK#a#b#c"}, "sk": {"S": "HEAD"}, "push_ids": {"SS": ["a"]}, "raw": {"B": "AA=="}}

    assert appended(record(item)) is None


def test_an_event_of_a_kind_from_the_future_is_not_passed_over_in_silence() -> None:
    image = {**written(artifact(last_chunk=True)), "pushes": {"S": "dreams"}}

    with pytest.raises(ValueError, match="dreams"):
        appended(record(image))
