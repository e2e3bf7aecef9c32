"""The key pairs that sign webhooks: what is kept of each, who keeps them, how long each is used.

A ring holds the pair that signs, perhaps one that will, and those that signed before and are still published.
Knows no cipher: private halves are bytes here, and sealed wherever they lie.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from a2a_serverless.ports.webhooks import Seals
from a2a_serverless.ports.world import Clock
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Int32, Timestamp


class SigningKey(ProtoModel):
    """One pair on the curve P-256.

    `kid` is its thumbprint (RFC 7638), `x` and `y` are its public half (RFC 7518, 6.2.1), `sealed` is its
    private half, empty once it will never sign again. It is published from `created` until it `retires`, and
    signs from `signs_from` until the next one does.
    """

    kid: str
    x: str
    y: str
    created: Timestamp
    signs_from: Timestamp
    retires: Timestamp | None = None
    sealed: str = ""


class KeyRing(ProtoModel):
    """The pairs by the time from which they sign; `version` counts the changes, for none to be lost."""

    version: Int32
    keys: tuple[SigningKey, ...]


class SigningKeys(Protocol):
    """Where the ring lies."""

    def read(self) -> KeyRing | None:
        """The ring, strongly consistent; None before the first."""

    def keep(self, ring: KeyRing, *, seen: KeyRing | None) -> KeyRing | None:
        """Put the ring in place of the one seen, if that stands; returns the one that stands afterwards."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A fresh pair; `private` is PKCS #8 in DER and leaves only sealed."""

    kid: str
    x: str
    y: str
    private: bytes = field(repr=False)


class KeyPairs(Protocol):
    """The maker of pairs."""

    def new(self) -> KeyPair:
        """A pair that nobody else has."""


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """How long a pair is used.

    Attributes:
        lasts: how long one signs before the next is made.
        publish_ahead: how long one is published before it signs, so that no receiver meets an unknown key;
        longer than receivers keep the published keys.
        publish_after: how long one stays published after it signed last, for whoever verifies late.
    """

    lasts: timedelta = timedelta(days=90)
    publish_ahead: timedelta = timedelta(hours=1)
    publish_after: timedelta = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class KeyPorts:
    """Everything that making and changing the pairs needs."""

    keys: SigningKeys
    pairs: KeyPairs
    seals: Seals
    clock: Clock
    policy: KeyPolicy = field(default_factory=KeyPolicy)


def sealed_for(kid: str) -> Mapping[str, str]:
    """What a private half is sealed for."""
    return {"purpose": "webhook-signing", "kid": kid}
