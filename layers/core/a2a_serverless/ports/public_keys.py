"""Public keys on the curve P-256 as others are shown them, whatever they verify (RFC 7517; RFC 7518, 6.2)."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Protocol, Self

BYTES = 32
"""Length of a coordinate, leading zeros included (RFC 7518, 6.2.1.2)."""


class Published(Protocol):
    """A public key under its name: `x` and `y` are its coordinates in base64url."""

    @property
    def kid(self) -> str: ...

    @property
    def x(self) -> str: ...

    @property
    def y(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key, named by its thumbprint."""

    kid: str
    x: str
    y: str

    @classmethod
    def at(cls, point: bytes) -> Self:
        """The key whose two coordinates these 64 bytes are."""
        x, y = _base64url(point[:BYTES]), _base64url(point[BYTES:])
        return cls(thumbprint(x, y), x, y)


def thumbprint(x: str, y: str) -> str:
    """The name of a public key: the hash of its required members, in order and without spaces (RFC 7638)."""
    members = json.dumps({"crv": "P-256", "kty": "EC", "x": x, "y": y}, separators=(",", ":"))
    return _base64url(hashlib.sha256(members.encode()).digest())


def _base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode("ascii")
