"""Keys in files that sign cards, for whoever signs one by hand; no deployment holds such a key.

What a key signs with follows from its kind. Needs PyJWT and `cryptography`.
"""

from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import get_default_algorithms

from a2a_serverless.ports.public_keys import BYTES, PublicKey

CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
LEAST_RSA_BITS = 2048


class UnusablePemError(ValueError):
    """A file holds no private key that signs cards; the text says why, and nothing of it."""


@dataclass(frozen=True, slots=True)
class PemCardKey:
    """A private key. `public` is known of pairs on P-256 only, which it names where nothing else does."""

    kid: str
    algorithm: str
    public: PublicKey | None
    key: Any = field(repr=False)

    def sign(self, signing_input: bytes) -> bytes:
        """Sign the bytes."""
        made: bytes = get_default_algorithms()[self.algorithm].sign(signing_input, self.key)
        return made


def pem_card_key(pem: bytes, kid: str | None = None) -> PemCardKey:
    """The key of a PEM file, under this name or, of a pair on P-256, its thumbprint.

    Raises:
        UnusablePemError: there is none, it is weak or of a kind that is not used here, or it needs a name.
    """
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusablePemError("it is no PEM file of a private key without a password") from None
    algorithm, public = _algorithm(key), _public(key)
    name = kid or (public.kid if public else None)
    if name is None:
        raise UnusablePemError("a key that is not on the curve P-256 needs a name")
    return PemCardKey(name, algorithm, public, key)


def _algorithm(key: object) -> str:
    match key:
        case EllipticCurvePrivateKey() if key.curve.name in CURVES:
            return CURVES[key.curve.name]
        case Ed25519PrivateKey():
            return "EdDSA"
        case RSAPrivateKey() if key.key_size >= LEAST_RSA_BITS:
            return "RS256"
        case RSAPrivateKey():
            raise UnusablePemError(f"an RSA key has {LEAST_RSA_BITS} bits or more")
    raise UnusablePemError("its key is neither of P-256, P-384, P-521 or Ed25519 nor of RSA")


def _public(key: object) -> PublicKey | None:
    if not isinstance(key, EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
        return None
    point = key.public_key().public_numbers()
    return PublicKey.at(point.x.to_bytes(BYTES, "big") + point.y.to_bytes(BYTES, "big"))
