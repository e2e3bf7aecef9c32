"""What is asked of EventBridge, and what happens when it takes only some events."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.adapters.eventbridge_events import EventBridgeEvents, EventBusRefusedError
from a2a_serverless.ports.webhooks import StateChange
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import TaskKey

MOMENT = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


@dataclass
class RecordedBus:
    """A bus that remembers what it was given and refuses the events at some places of each batch."""

    refused: tuple[int, ...] = ()
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def put_events(self, **request: Any) -> Mapping[str, Any]:
        self.asked.append(request)
        return {
            "FailedEntryCount": len(self.refused),
            "Entries": [
                {"ErrorCode": "ThrottlingException"} if number in self.refused else {"EventId": "e"}
                for number in range(len(request["Entries"]))
            ],
        }


def change(position: int = 7) -> StateChange:
    """A task completes."""
    key = TaskKey("acme", "owner", "t-1")
    return StateChange(key, "c-é", position, TaskState.COMPLETED, MOMENT)


def test_a_change_of_state_is_told_under_the_name_that_rules_look_for() -> None:
    bus = RecordedBus()

    EventBridgeEvents(bus, "tasks").put([change()])

    ((entry,),) = [request["Entries"] for request in bus.asked]
    detail = json.loads(entry.pop("Detail"))
    assert entry == {
        "EventBusName": "tasks",
        "Source": "a2a-serverless",
        "DetailType": "A2A Task State Changed",
        "Time": MOMENT,
    }
    assert detail == {
        "eventId": "t-1-7",
        "tenant": "acme",
        "owner": "owner",
        "taskId": "t-1",
        "contextId": "c-é",
        "state": "TASK_STATE_COMPLETED",
        "position": 7,
        "timestamp": "2026-11-30T12:00:00.123Z",
    }


@pytest.mark.parametrize(("number", "batches"), [(0, []), (1, [1]), (10, [10]), (21, [10, 10, 1])])
def test_changes_go_ten_at_a_time(number: int, batches: list[int]) -> None:
    bus = RecordedBus()

    EventBridgeEvents(bus, "tasks", source="other").put([change(each) for each in range(number)])

    assert [len(request["Entries"]) for request in bus.asked] == batches
    assert {each["Source"] for request in bus.asked for each in request["Entries"]} <= {"other"}


def test_changes_that_were_not_taken_are_an_error_after_the_others_were_told() -> None:
    bus = RecordedBus(refused=(2,))

    with pytest.raises(EventBusRefusedError, match="ThrottlingException, ThrottlingException"):
        EventBridgeEvents(bus, "tasks").put([change(each) for each in range(13)])

    assert [len(request["Entries"]) for request in bus.asked] == [10, 3]
