"""The one table behind the stores' fakes: items under keys, changed one at a time, as DynamoDB does.

An item whose expiry has passed is absent, for reads and for create-once conditions alike. Values are kept
as the adapters would print them and read again, so that a test sees what a deployment would see.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

from a2a_serverless.ports import Clock

T = TypeVar("T")


@dataclass
class FakeTable:
    """Items by key; every method is atomic."""

    clock: Clock
    items: dict[Hashable, tuple[int, Any]] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def get(self, kind: type[T], *key: Hashable) -> T | None:
        """The item under the key, unless it has expired."""
        with self.lock:
            expires, item = self.items.get((kind, *key), (0, None))
            return item if expires > self.clock.now().timestamp() else None

    def change(
        self, kind: type[T], *key: Hashable, how: Callable[[T | None], tuple[int, T] | None]
    ) -> T | None:
        """Put the expiry and item that `how` makes of the standing one, if any; returns what stood before."""
        with self.lock:
            standing = self.get(kind, *key)
            changed = how(standing)
            if changed is not None:
                self.items[kind, *key] = changed
            return standing

    def delete(self, kind: type[T], *key: Hashable, when: Callable[[T], bool]) -> None:
        """Delete the item if it is there and satisfies the condition."""
        with self.lock:
            standing = self.get(kind, *key)
            if standing is not None and when(standing):
                del self.items[kind, *key]

    def all(self, kind: type[T]) -> list[tuple[tuple[Any, ...], T]]:
        """Every item of a kind that has not expired, with its key."""
        with self.lock:
            found = [(key[1:], self.get(kind, *key[1:])) for key in self.items if key[0] is kind]  # type: ignore[index]
            return [(key, item) for key, item in found if item is not None]
