"""Heads of logs in DynamoDB: caches that only move forwards, each written by one update on conditions.

What other features keep on a head stays: the ids of webhooks, the name of a newer snapshot. The first try is
the one that is right for most tasks; an item that refuses it tells which other way to go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from a2a_serverless.adapters.dynamodb_keys import due_shard, list_order, task_head
from a2a_serverless.adapters.dynamodb_listing import list_context, list_state
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, DynamoTable, Item, RefusedError, setting
from a2a_serverless.ports import Head
from a2a_serverless.protocol.scalars import print_timestamp
from a2a_serverless.tasks.log import TaskKey

HEAD_IS_EARLIER = f"({IS_ABSENT} OR #position < :position)"
"""The head tells of a shorter log than the one to be written."""

HEAD_MAY_BE_REPAIRED = (
    f"({IS_ABSENT} OR #position <= :position) AND (attribute_not_exists(#due_at) OR #due_at <= :moment)"
)
"""The same for a repair, which may rewrite the head of a log that has not grown, unless somebody announced
that it is to be looked at later: a canceller about to append."""

SNAPSHOT_IS_NOT_LATER = "(attribute_not_exists(#snapshot) OR #snapshot <= :snapshot OR #expires <= :now)"
"""No newer snapshot is known than the one to be named."""

HAS_NO_WEBHOOKS = "attribute_not_exists(#push_ids)"
"""Nobody need be told of the task but who asks; the empty set is no attribute."""


def write_head(table: DynamoTable, key: TaskKey, head: Head, *, repair: bool) -> None:
    """Store the head unless one as far on stands; see the port for `repair`. Silent if refused.

    One request; one more where a newer snapshot is known, and one more where nothing is outstanding but that
    the task's webhooks be told.
    """
    place = task_head(key)
    moment = print_timestamp(table.clock.now())
    writing = _HeadWriting(head, repair, names_snapshot=head.snapshot > 0)
    while True:
        change = writing.change(key)
        try:
            table.update(
                place,
                change.expression,
                when=writing.condition,
                values={**change.values, "moment": moment},
            )
        except RefusedError as refused:
            again = writing.given(refused.standing or {})
            if again == writing:
                return
            writing = again
        else:
            return


@dataclass(frozen=True, slots=True)
class _HeadWriting:
    """One way to write a head: naming its snapshot or keeping a newer one's name, with or without webhooks.

    The first try takes the likely way, for one request; what stands there tells which other way to go.
    """

    head: Head
    repair: bool
    names_snapshot: bool
    has_webhooks: bool = False

    @property
    def depends_on_webhooks(self) -> bool:
        return self.head.due_at is None and self.head.webhooks_due_at is not None

    @property
    def condition(self) -> str:
        conditions = [HEAD_MAY_BE_REPAIRED if self.repair else HEAD_IS_EARLIER]
        if self.names_snapshot:
            conditions.append(SNAPSHOT_IS_NOT_LATER)
        if self.depends_on_webhooks and not self.has_webhooks:
            conditions.append(HAS_NO_WEBHOOKS)
        return " AND ".join(conditions)

    def given(self, standing: Item) -> "_HeadWriting":
        """The way to go where this item refused; the same way when there is no other."""
        return replace(
            self,
            names_snapshot=self.names_snapshot and standing.get("snapshot", 0) <= self.head.snapshot,
            has_webhooks=self.has_webhooks or (self.depends_on_webhooks and "push_ids" in standing),
        )

    def change(self, key: TaskKey) -> "_HeadChange":
        head = self.head
        due_at = head.webhooks_due_at if self.has_webhooks else head.due_at
        values = _head_values(key, head)
        if self.names_snapshot:
            values["snapshot"] = head.snapshot
        if due_at is None:
            return _HeadChange(values, {}, ("due_shard", "due_at"))
        due = {"due_shard": due_shard(task_head(key)), "due_at": print_timestamp(due_at)}
        keeps = head.keeps_due and not self.has_webhooks
        return _HeadChange(values, due, ()) if keeps else _HeadChange({**values, **due}, {}, ())


@dataclass(frozen=True, slots=True)
class _HeadChange:
    """What a head does to its item: attributes it sets, sets only if absent, and removes."""

    set: Mapping[str, Any]
    set_if_absent: Mapping[str, Any]
    removed: tuple[str, ...]

    @property
    def values(self) -> dict[str, Any]:
        return {**self.set, **self.set_if_absent}

    @property
    def expression(self) -> str:
        return setting(self.set, unless_there=self.set_if_absent, removing=self.removed)


def _head_values(key: TaskKey, head: Head) -> dict[str, Any]:
    return {
        "position": head.position,
        "state": head.state.value,
        "status_at": print_timestamp(head.status_at),
        "context_id": head.context_id,
        "expires": head.expires,
        "list_state": list_state(key.tenant, key.owner, head.state),
        "list_context": list_context(key.tenant, key.owner, head.context_id),
        "list_order": list_order(head.status_at, key.task_id),
    }
