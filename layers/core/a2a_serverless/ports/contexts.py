"""Contexts: which turn a conversation is working on, and what its agent saved."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ContextKey:
    """Which conversation of which caller."""

    tenant: str
    owner: str
    context_id: str


@dataclass(frozen=True, slots=True)
class Holder:
    """The turn a context is working on, or worked on last, and when its task expires (seconds since 1970)."""

    task_id: str
    turn: int
    expires: int


@dataclass(frozen=True, slots=True)
class ContextRow:
    """What a context remembers: its last holder, the agent's saved state, the tasks that wait in it.

    `workspace` is what the context was bound to, and `earlier` names the tasks that held it before, in
    that order.
    """

    holder: Holder | None = None
    state: str | None = None
    waiting: frozenset[str] = frozenset()
    workspace: str | None = None
    earlier: tuple[str, ...] = ()


class ContextStore(Protocol):
    """One row per context. The holder has no clock and is never cleared, only replaced."""

    def read(self, key: ContextKey) -> ContextRow:
        """The row, strongly consistent; an empty one when there is none."""

    def take(self, key: ContextKey, *, seen: ContextRow, taken: ContextRow, expires: int) -> ContextRow:
        """Replace the row if its holder is still the one seen; returns the row that stands afterwards."""

    def settle(self, key: ContextKey, holder: Holder, *, state: str | None, waits: bool) -> None:
        """Record how the holder's turn ended (None keeps the state), if it still holds; silent otherwise."""
