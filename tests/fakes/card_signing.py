"""Fakes of what signing cards needs: keys that never sign twice alike, and a place that keeps the first."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from threading import Lock
from typing import Any

from a2a_serverless.ports.card_signing import CardKey, CardSigning, Signatures
from a2a_serverless.ports.public_keys import PublicKey
from tests.fakes.world import FakeClock

KEPT = timedelta(days=90)


@dataclass
class FakeCardKey:
    """A key that counts its signatures."""

    kid: str
    algorithm: str = "ES256"
    made: "count[int]" = field(default_factory=lambda: count(1))
    signed: list[bytes] = field(default_factory=list)

    @property
    def public(self) -> PublicKey | None:
        """None of a shared secret."""
        if self.algorithm == "HS256":
            return None
        return PublicKey(self.kid, f"x-{self.kid}", f"y-{self.kid}")

    def sign(self, signing_input: bytes) -> bytes:
        """Another one each time, as with elliptic curves."""
        self.signed.append(signing_input)
        return hashlib.sha256(signing_input).digest() + next(self.made).to_bytes(32, "big")


@dataclass
class FakeCardKeys:
    """The keys, which a test changes as it likes."""

    keys: Sequence[CardKey]

    def current(self) -> Sequence[CardKey]:
        """Those of them."""
        return self.keys


class FakeCardSignatures:
    """Signatures in memory."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.kept: dict[str, tuple[Any, Signatures]] = {}
        self._lock = Lock()

    def read(self, digest: str) -> Signatures:
        """Those kept under the digest; nothing when there are none."""
        until, signatures = self.kept.get(digest, (self.clock.now(), ()))
        return signatures if until > self.clock.now() else ()

    def keep(self, digest: str, signatures: Signatures) -> Signatures:
        """Keep them unless others are kept there; returns the ones that stand."""
        with self._lock:
            if not self.read(digest):
                self.kept[digest] = self.clock.now() + KEPT, signatures
            return self.read(digest)


def fake_signing(*kids: str, **overrides: Any) -> CardSigning:
    """What signing needs, by keys of these names."""
    fakes: dict[str, Any] = {
        "keys": FakeCardKeys([FakeCardKey(kid) for kid in kids or ("key-1",)]),
        "kept": FakeCardSignatures(),
        "jku": "https://agent.example/.well-known/jwks.json",
    }
    return CardSigning(**{**fakes, **overrides})
