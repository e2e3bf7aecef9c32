"""Admission records: that a message was admitted, and everything this entails."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from a2a_serverless.ports.contexts import ContextKey
from a2a_serverless.ports.webhooks import Registration
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Timestamp
from a2a_serverless.tasks.content import LoggedMessage
from a2a_serverless.tasks.log import TaskKey


class AdmissionStatus(StrEnum):
    """Whether everything a message's admission entails has been done."""

    PENDING = "pending"
    DONE = "done"


class Admission(ProtoModel):
    """The record that a message was admitted: where it goes, and all it takes to put it there.

    `record_id` is the message id, or a random one when the deployment or the caller gets no deduplication.
    """

    tenant: str
    owner: str
    record_id: str
    body_hash: str
    message: LoggedMessage = Field(repr=False)
    context_id: str
    task_id: str
    position: int
    received_at: Timestamp
    expires: int
    due_at: Timestamp
    claims: dict[str, str] = Field(default_factory=dict)
    accepted_output_modes: tuple[str, ...] = ()
    webhook: Registration | None = None
    status: AdmissionStatus = AdmissionStatus.PENDING

    @property
    def task(self) -> TaskKey:
        """The key of the task the message goes to."""
        return TaskKey(self.tenant, self.owner, self.task_id)

    @property
    def context(self) -> ContextKey:
        """The key of the context the message belongs to."""
        return ContextKey(self.tenant, self.owner, self.context_id)


@dataclass(frozen=True, slots=True)
class AdmissionKey:
    """Which message of which caller."""

    tenant: str
    owner: str
    record_id: str


class AdmissionStore(Protocol):
    """One record per admitted message."""

    def open(self, admission: Admission) -> Admission:
        """Store the record unless one stands under its key; returns the one that stands."""

    def read(self, key: AdmissionKey) -> Admission | None:
        """The record that stands, strongly consistent."""

    def close(self, admission: Admission) -> None:
        """Mark the record done, if it still names this task and position; silent otherwise."""

    def withdraw(self, admission: Admission) -> None:
        """Delete the record, if it is pending with this task and position; silent otherwise."""
