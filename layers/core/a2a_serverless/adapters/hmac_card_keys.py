"""A secret that signs cards with HS256: whoever verifies has it too, and could sign as well.

For callers that hold a secret of the deployment's anyway; a pair of keys proves more. Knows no card.
"""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from a2a_serverless.ports.access import SecretValue
from a2a_serverless.ports.card_signing import CardKey

SHORTEST = 32
"""Bytes that a secret has at least (RFC 7518, 3.2)."""

REMEMBERED = 300.0
"""Seconds for which the secret is remembered: how late another one may be noticed."""


class ShortSecretError(Exception):
    """The secret could be guessed. Its length is not said either."""


@dataclass(frozen=True, slots=True)
class HmacCardKey:
    """A secret under the name by which verifiers find it."""

    kid: str
    secret: bytes = field(repr=False)

    algorithm = "HS256"
    public = None

    def __post_init__(self) -> None:
        if len(self.secret) < SHORTEST:
            raise ShortSecretError(f"the secret that signs cards must have {SHORTEST} bytes or more")

    def sign(self, signing_input: bytes) -> bytes:
        """The same signature each time."""
        return hmac.digest(self.secret, signing_input, hashlib.sha256)


class HmacCardKeys:
    """The one secret, read where it is kept; may be used by several threads at once.

    `now` counts seconds from anywhere.
    """

    def __init__(self, kid: str, secret: SecretValue, now: Callable[[], float] = monotonic) -> None:
        self._kid = kid
        self._secret = secret
        self._now = now
        self._lock = Lock()
        self._read: tuple[float, HmacCardKey] | None = None

    def current(self) -> Sequence[CardKey]:
        """The secret as it was less than five minutes ago.

        Raises:
            UnreadableValueError: it cannot be read.
            ShortSecretError: it is too short.
        """
        with self._lock:
            if self._read is None or self._now() >= self._read[0]:
                key = HmacCardKey(self._kid, self._secret.read().encode())
                self._read = self._now() + REMEMBERED, key
            return (self._read[1],)
