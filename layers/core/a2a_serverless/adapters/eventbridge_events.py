"""Changes of state as events of EventBridge, for other AWS services of the account to act upon."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from a2a_serverless.adapters.sqs_pokes import batches
from a2a_serverless.ports.webhooks import StateChange
from a2a_serverless.protocol.scalars import print_timestamp

SOURCE = "a2a-serverless"
DETAIL_TYPE = "A2A Task State Changed"
BATCH = 10
"""Events in one request (AWS limit)."""


class EventBusRefusedError(Exception):
    """EventBridge did not take some events; the text names its codes."""


class EventsClient(Protocol):
    """The one operation of botocore's client that is used."""

    def put_events(self, *, Entries: Sequence[Any]) -> Any:  # noqa: N803, ANN401  AWS's own names and types
        """Put up to ten events on buses."""


@dataclass(frozen=True, slots=True)
class EventBridgeEvents:
    """One bus, by name or ARN."""

    client: EventsClient
    bus: str
    source: str = SOURCE

    def put(self, changes: Sequence[StateChange]) -> None:
        """Announce the changes, ten a request.

        Raises:
            EventBusRefusedError: some were not taken; the others are announced.
        """
        refused: list[str] = []
        for batch in batches(changes, BATCH):
            answer = self.client.put_events(Entries=[self._entry(change) for change in batch])
            refused += [each["ErrorCode"] for each in answer["Entries"] if "ErrorCode" in each]
        if refused:
            raise EventBusRefusedError(", ".join(refused))

    def _entry(self, change: StateChange) -> dict[str, Any]:
        return {
            "EventBusName": self.bus,
            "Source": self.source,
            "DetailType": DETAIL_TYPE,
            "Time": change.at,
            "Detail": json.dumps(_detail(change), separators=(",", ":")),
        }


def _detail(change: StateChange) -> dict[str, Any]:
    key = change.key
    return {
        "eventId": f"{key.task_id}-{change.position}",
        "tenant": key.tenant,
        "owner": key.owner,
        "taskId": key.task_id,
        "contextId": change.context_id,
        "state": change.state.value,
        "position": change.position,
        "timestamp": print_timestamp(change.at),
    }
