"""The records of admitted messages in DynamoDB, one item each, due for a look while pending."""

import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from a2a_serverless.adapters import dynamodb_keys as keys
from a2a_serverless.adapters.dynamodb_bodies import Bodies
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, DynamoTable, Item, RefusedError, setting
from a2a_serverless.ports import Admission, AdmissionKey, AdmissionStatus, Contents, Identifiers
from a2a_serverless.protocol.scalars import print_timestamp

GOES_THERE = "#task_id = :task_id AND #position = :position"
"""The record still sends its message to the task and position that the writer knows of."""

IS_PENDING = "#status = :status"

RECORD_LIMIT = 300 * 1024


@dataclass(frozen=True)
class DynamoAdmissions:
    """One record per admitted message."""

    table: DynamoTable
    contents: Contents
    identifiers: Identifiers
    bodies: Bodies = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", Bodies(self.contents, self.identifiers, RECORD_LIMIT))

    def open(self, admission: Admission) -> Admission:
        """Store the record unless one stands under its key; returns the one that stands."""
        item = self._item(admission)
        try:
            self.table.put(item, when=IS_ABSENT)
        except RefusedError as refused:
            if refused.standing is None:
                raise
            return self._record(refused.standing)
        return admission

    def read(self, key: AdmissionKey) -> Admission | None:
        """The record that stands, strongly consistent."""
        item = self.table.get(keys.admission(key))
        return self._record(item) if item else None

    def close(self, admission: Admission) -> None:
        """Mark the record done, if it still names this task and position; silent otherwise."""
        with contextlib.suppress(RefusedError):
            self.table.update(
                keys.admission(_key(admission)),
                setting(("status",), removing=("due_shard", "due_at")),
                when=GOES_THERE,
                values={**_place(admission), "status": AdmissionStatus.DONE.value},
            )

    def withdraw(self, admission: Admission) -> None:
        """Delete the record, if it is pending with this task and position; silent otherwise."""
        with contextlib.suppress(RefusedError):
            self.table.delete(
                keys.admission(_key(admission)),
                when=f"{GOES_THERE} AND {IS_PENDING}",
                values={**_place(admission), "status": AdmissionStatus.PENDING.value},
            )

    def _item(self, admission: Admission) -> Item:
        place = keys.admission(_key(admission))
        return {
            **place._asdict(),
            **_place(admission),
            "status": admission.status.value,
            "expires": admission.expires,
            "due_shard": keys.due_shard(place),
            "due_at": print_timestamp(admission.due_at),
            **self.bodies.stowed(place, admission.to_json()),
        }

    def _record(self, item: Item) -> Admission:
        record = Admission.model_validate(json.loads(self.bodies.read(item)))
        return record.model_copy(update={"status": AdmissionStatus(item["status"])})


def _key(admission: Admission) -> AdmissionKey:
    return AdmissionKey(admission.tenant, admission.owner, admission.record_id)


def _place(admission: Admission) -> dict[str, Any]:
    return {"task_id": admission.task_id, "position": admission.position}
