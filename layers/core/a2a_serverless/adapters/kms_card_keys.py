"""Keys that sign cards and never leave KMS: pairs on the curve P-256 that sign digests with ES256.

KMS writes keys and signatures in DER, JOSE their numbers one after the other. Both have one possible layout
on this curve, which is read here without a cipher at hand; anything else is refused. Knows no card.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from a2a_serverless.ports.card_signing import CardKey
from a2a_serverless.ports.public_keys import BYTES, PublicKey

if TYPE_CHECKING:
    from mypy_boto3_kms.client import KMSClient

PREFIX = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + b"\x04"
"""How the SubjectPublicKeyInfo of a point on this curve begins (RFC 5480, 2); the coordinates follow."""

REMEMBERED = 300.0
"""Seconds for which public halves are remembered: how late it is noticed that an alias means another key."""

SEQUENCE, INTEGER = b"\x30", b"\x02"


class UnusableKeyError(Exception):
    """A key of KMS does not sign with ES256, or not in the form that is known; the message names it."""


@dataclass(frozen=True)
class KmsCardKey:
    """One pair; `key_id` is its ARN."""

    client: "KMSClient"
    key_id: str
    public: PublicKey

    algorithm = "ES256"

    @cached_property
    def kid(self) -> str:
        """Its thumbprint."""
        return self.public.kid

    def sign(self, signing_input: bytes) -> bytes:
        """Sign the bytes; one request."""
        answer = self.client.sign(
            KeyId=self.key_id,
            Message=hashlib.sha256(signing_input).digest(),
            MessageType="DIGEST",
            SigningAlgorithm="ECDSA_SHA_256",
        )
        try:
            return raw_signature(answer["Signature"])
        except ValueError:
            raise UnusableKeyError(f"{self.key_id} made a signature of another form") from None


class KmsCardKeys:
    """The keys of these ids, ARNs or aliases, in this order; may be used by several threads at once.

    `now` counts seconds from anywhere.
    """

    def __init__(
        self, client: "KMSClient", key_ids: Sequence[str], now: Callable[[], float] = monotonic
    ) -> None:
        self._client = client
        self._key_ids = tuple(key_ids)
        self._now = now
        self._lock = Lock()
        self._read: tuple[float, tuple[KmsCardKey, ...]] | None = None

    def current(self) -> Sequence[CardKey]:
        """The keys, their public halves as KMS showed them less than five minutes ago; a request for each.

        Raises:
            UnusableKeyError: one of them is not such a pair.
        """
        with self._lock:
            if self._read is None or self._now() >= self._read[0]:
                keys: dict[str, KmsCardKey] = {}
                for key in (kms_card_key(self._client, key_id) for key_id in self._key_ids):
                    keys.setdefault(key.kid, key)  # two names of one key are one key
                self._read = self._now() + REMEMBERED, tuple(keys.values())
            return self._read[1]


def kms_card_key(client: "KMSClient", key_id: str, kid: str | None = None) -> KmsCardKey:
    """The key of that id, ARN or alias, under this name or its thumbprint; one request.

    Raises:
        UnusableKeyError: it is no such pair.
    """
    answer = client.get_public_key(KeyId=key_id)
    try:
        public = public_key(answer["PublicKey"])
    except ValueError:
        raise UnusableKeyError(f"{key_id} is no key of the kind ECC_NIST_P256") from None
    return KmsCardKey(client, answer["KeyId"], replace(public, kid=kid) if kid else public)


def public_key(spki: bytes) -> PublicKey:
    """The key that a SubjectPublicKeyInfo holds; raises ValueError when it is on another curve."""
    if not spki.startswith(PREFIX) or len(spki) != len(PREFIX) + 2 * BYTES:
        raise ValueError
    return PublicKey.at(spki[len(PREFIX) :])


def raw_signature(der: bytes) -> bytes:
    """The two numbers of a signature one after the other, 32 bytes each (RFC 7518, 3.4).

    Raises ValueError when it is no signature on this curve.
    """
    numbers, rest = _element(SEQUENCE, der)
    r, numbers = _element(INTEGER, numbers)
    s, numbers = _element(INTEGER, numbers)
    if rest or numbers:
        raise ValueError
    return _number(r) + _number(s)


def _element(kind: bytes, der: bytes) -> tuple[bytes, bytes]:
    """What is in the element that comes first, and what follows it; none here has 128 bytes."""
    length = int.from_bytes(der[1:2], "big")
    content, rest = der[2 : 2 + length], der[2 + length :]
    if der[:1] != kind or not content or len(content) != length:
        raise ValueError
    return content, rest


def _number(content: bytes) -> bytes:
    """A number greater than zero in its full length."""
    number = content.lstrip(b"\x00")
    if content[0] & 0x80 or not 1 <= len(number) <= BYTES:
        raise ValueError
    return number.rjust(BYTES, b"\x00")
