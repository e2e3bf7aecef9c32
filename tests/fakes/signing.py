"""Fakes of what signing keys need: the ring on a `FakeTable`, and pairs that are only names."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from a2a_serverless.ports.signing_keys import KeyPair, KeyPorts, KeyRing
from tests.fakes.table import FakeTable
from tests.fakes.webhooks import FakeSeals
from tests.fakes.world import FakeClock

NEVER = 253_402_300_799


@dataclass(frozen=True)
class FakeSigningKeys:
    """The ring under its purpose."""

    table: FakeTable
    purpose: Hashable = "webhooks"

    def read(self) -> KeyRing | None:
        """The ring; None before the first."""
        return self.table.get(KeyRing, self.purpose)

    def keep(self, ring: KeyRing, *, seen: KeyRing | None) -> KeyRing | None:
        """Put the ring in place of the one seen, if that stands; returns the one that stands afterwards."""
        kept = KeyRing.model_validate_json(ring.to_json())

        def replaced(standing: KeyRing | None) -> tuple[int, KeyRing] | None:
            stands = standing.version if standing else None
            return (NEVER, kept) if stands == (seen.version if seen else None) else None

        with self.table.lock:
            self.table.change(KeyRing, self.purpose, how=replaced)
            return self.read()


@dataclass
class FakeKeyPairs:
    """Pairs that count, and sign nothing."""

    counter: "count[int]" = field(default_factory=lambda: count(1))

    def new(self) -> KeyPair:
        """The next one."""
        number = next(self.counter)
        return KeyPair(f"kid-{number}", f"x-{number}", f"y-{number}", f"private-{number}".encode())


def fake_keys(**overrides: Any) -> KeyPorts:
    """Everything keys need, each replaceable by name."""
    clock = overrides.pop("clock", None) or FakeClock()
    fakes: dict[str, Any] = {
        "keys": FakeSigningKeys(FakeTable(clock)),
        "pairs": FakeKeyPairs(),
        "seals": FakeSeals(),
        "clock": clock,
    }
    return KeyPorts(**{**fakes, **overrides})
