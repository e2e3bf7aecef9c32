"""The rows of contexts in DynamoDB: who holds one, what its agent saved, which tasks wait in it.

The holder is compared as `task#turn` in the condition of every write: whoever was replaced meanwhile writes
nothing. A row lives as long as the longest-lived task that ever held it.
"""

import contextlib
from dataclasses import dataclass
from typing import Any

from a2a_serverless.adapters.dynamodb_keys import context_row
from a2a_serverless.adapters.dynamodb_table import IS_PRESENT, DynamoTable, Item, RefusedError, setting
from a2a_serverless.ports import ContextKey, ContextRow, Holder

NOBODY_HOLDS = "(attribute_not_exists(#holder) OR #expires <= :now)"
"""The context was never held, or its row has expired."""

HOLDER_STANDS = f"(#holder = :standing AND {IS_PRESENT})"
"""The holder is the one the writer knows of."""

LIVES_LONGER = "(attribute_not_exists(#expires) OR #expires <= :expires OR #expires <= :now)"
"""Writing `:expires` does not shorten the row's life."""


@dataclass(frozen=True, slots=True)
class DynamoContexts:
    """One row per context."""

    table: DynamoTable

    def read(self, key: ContextKey) -> ContextRow:
        """The row, strongly consistent; an empty one when there is none."""
        item = self.table.get(context_row(key))
        return _row(item) if item else ContextRow()

    def take(self, key: ContextKey, *, seen: ContextRow, taken: ContextRow, expires: int) -> ContextRow:
        """Replace the row if its holder is still the one seen; returns the row that stands afterwards.

        Refused by its own earlier attempt, whose answer was lost, it returns the row that attempt made.
        """
        when = HOLDER_STANDS if seen.holder else NOBODY_HOLDS
        attributes, removed = _attributes(taken)
        values = {**attributes, "expires": expires, "standing": _turn(seen.holder)}
        place = context_row(key)
        change = setting([*attributes, "expires"], removing=removed)
        try:
            return _row(self.table.update(place, change, when=f"{when} AND {LIVES_LONGER}", values=values))
        except RefusedError as refused:
            standing = self._standing(refused)
        if standing.holder != seen.holder:
            return standing
        change = setting(attributes, removing=removed)
        try:
            return _row(self.table.update(place, change, when=when, values=values))
        except RefusedError as refused:
            return self._standing(refused)

    def settle(self, key: ContextKey, holder: Holder, *, state: str | None, waits: bool) -> None:
        """Record how the holder's turn ended (None keeps the state), if it still holds; silent otherwise."""
        change = f"{'ADD' if waits else 'DELETE'} #waiting :task"
        values: dict[str, Any] = {"standing": _turn(holder), "task": frozenset({holder.task_id})}
        if state is not None:
            change = f"SET #saved_state = :saved_state {change}"
            values["saved_state"] = state
        with contextlib.suppress(RefusedError):
            self.table.update(context_row(key), change, when=HOLDER_STANDS, values=values)

    def _standing(self, refused: RefusedError) -> ContextRow:
        standing = refused.standing
        return _row(standing) if standing and not self.table.has_expired(standing) else ContextRow()


def _attributes(row: ContextRow) -> tuple[dict[str, Any], list[str]]:
    """The attributes that a row sets, but for its expiry, and those it removes."""
    if row.holder is None:
        raise ValueError("a context is taken by a holder")
    optional = {
        "saved_state": row.state,
        "waiting": row.waiting,
        "workspace": row.workspace,
        "earlier": " ".join(row.earlier),
    }
    values = {name: value for name, value in optional.items() if value}
    removed = [name for name in optional if name not in values]
    return {"holder": _turn(row.holder), "holder_expires": row.holder.expires, **values}, removed


def _turn(holder: Holder | None) -> str:
    return f"{holder.task_id}#{holder.turn}" if holder else ""


def _row(item: Item) -> ContextRow:
    task_id, _, turn = item["holder"].rpartition("#")
    return ContextRow(
        holder=Holder(task_id, int(turn), item["holder_expires"]),
        state=item.get("saved_state"),
        waiting=item.get("waiting", frozenset()),
        workspace=item.get("workspace"),
        earlier=tuple(item.get("earlier", "").split()),
    )
