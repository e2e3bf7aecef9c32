"""What the stores make of refusals that no emulator gives in the ordinary course of things."""

from datetime import UTC, datetime
from typing import Any

import pytest

from a2a_serverless.adapters.dynamodb_admissions import DynamoAdmissions
from a2a_serverless.adapters.dynamodb_contexts import DynamoContexts
from a2a_serverless.adapters.dynamodb_table import RefusedError
from a2a_serverless.adapters.dynamodb_tasks import DynamoTasks
from a2a_serverless.ports import Admission, ContextKey, ContextRow, Holder
from a2a_serverless.protocol.objects import Role
from a2a_serverless.tasks.content import LoggedMessage, LoggedPart
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, Voided
from tests.fakes.ports import FakeContents, FakeIdentifiers
from tests.unit.adapters.client import refusal, table

EXPIRES = 1_796_126_400
LATER = EXPIRES + 1
CONTEXT = ContextKey("acme", "owner", "c-1")


def row(holder: str, expires: int) -> dict[str, Any]:
    """A context's item as DynamoDB shows it."""
    return {"holder": {"S": holder}, "holder_expires": {"N": str(EXPIRES)}, "expires": {"N": str(expires)}}


def test_an_append_refused_by_nothing_is_an_error_and_no_success() -> None:
    tasks = DynamoTasks(table(refusal())[0], FakeContents(), FakeIdentifiers())

    with pytest.raises(RefusedError):
        tasks.append(TaskKey("acme", "owner", "t-1"), LoggedEvent(1, "w", EXPIRES, Voided()))


def test_an_admission_refused_by_nothing_is_an_error_and_no_success() -> None:
    admissions = DynamoAdmissions(table(refusal())[0], FakeContents(), FakeIdentifiers())
    now = datetime(2026, 11, 30, tzinfo=UTC)
    record = Admission(
        tenant="acme",
        owner="owner",
        record_id="=m-1",
        body_hash="",
        message=LoggedMessage(message_id="m-1", role=Role.USER, parts=(LoggedPart(text="hello"),)),
        context_id="c-1",
        task_id="t-1",
        position=1,
        received_at=now,
        expires=EXPIRES,
        due_at=now,
    )

    with pytest.raises(RefusedError):
        admissions.open(record)


def test_a_context_that_lives_longer_is_taken_without_shortening_its_life() -> None:
    seen, mine = ContextRow(Holder("t-1", 1, EXPIRES)), ContextRow(Holder("t-2", 1, EXPIRES))
    tasks, client = table(refusal(Item=row("t-1#1", LATER)), {"Attributes": row("t-2#1", LATER)})

    assert DynamoContexts(tasks).take(CONTEXT, seen=seen, taken=mine, expires=EXPIRES) == mine
    assert ":expires" in client.asked[0]["ExpressionAttributeValues"]
    assert ":expires" not in client.asked[1]["ExpressionAttributeValues"]


def test_a_context_that_another_takes_meanwhile_is_theirs() -> None:
    seen, mine = ContextRow(Holder("t-1", 1, EXPIRES)), ContextRow(Holder("t-2", 1, EXPIRES))
    tasks, _ = table(refusal(Item=row("t-1#1", LATER)), refusal(Item=row("t-3#1", LATER)))

    standing = DynamoContexts(tasks).take(CONTEXT, seen=seen, taken=mine, expires=EXPIRES)

    assert standing == ContextRow(Holder("t-3", 1, EXPIRES))


def test_a_context_is_taken_by_somebody() -> None:
    with pytest.raises(ValueError, match="holder"):
        DynamoContexts(table()[0]).take(CONTEXT, seen=ContextRow(), taken=ContextRow(), expires=EXPIRES)
