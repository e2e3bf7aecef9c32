"""The keys that sign an agent card, and where signatures lie once they were made (specification 8.4).

Knows no cipher: a key signs bytes, wherever it is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from a2a_serverless.ports.public_keys import PublicKey
from a2a_serverless.protocol.card import AgentCardSignature

Signatures = tuple[AgentCardSignature, ...]


class CardKey(Protocol):
    """A key that signs cards."""

    @property
    def kid(self) -> str:
        """The name under which whoever verifies finds it."""

    @property
    def algorithm(self) -> str:
        """How it signs, in the words of RFC 7518."""

    @property
    def public(self) -> PublicKey | None:
        """What everybody may know of it; None of a secret that signer and verifier share."""

    def sign(self, signing_input: bytes) -> bytes:
        """A signature over the bytes, as JWS holds it (RFC 7518, 3)."""


class CardKeys(Protocol):
    """The keys that sign at present."""

    def current(self) -> Sequence[CardKey]:
        """Those of them, at least one; the one that is to stay comes first."""


class CardSignatures(Protocol):
    """Signatures that were made, kept under the digest of what they were made over and by which keys."""

    def read(self, digest: str) -> Signatures:
        """Those kept under the digest; nothing when there are none."""

    def keep(self, digest: str, signatures: Signatures) -> Signatures:
        """Keep them unless others are kept there; returns the ones that stand."""


@dataclass(frozen=True, slots=True)
class CardSigning:
    """What signing cards needs.

    Attributes:
        keys: the keys that sign.
        kept: where signatures lie; None where a key makes the same one each time.
        jku: the address of the public keys, said in the signatures; empty where there are none.
    """

    keys: CardKeys
    kept: CardSignatures | None = None
    jku: str = ""
