"""Keys that somebody trusts to sign cards: public ones of a JWK set or PEM file, and shared secrets.

A key decides itself what it verifies, by its kind and what it says of itself; a signature's header only
chooses among that. So a public key is never taken for a secret, nor a weak key for a strong one. Needs PyJWT
and `cryptography`.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, get_default_algorithms
from jwt.exceptions import InvalidKeyError

from a2a_serverless.protocol.card_signatures import MalformedSignatureError, read_base64url

CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
LEAST_RSA_BITS = 2048
LEAST_SECRET_BYTES = 32
"""RFC 7518, 3.2 and 3.3."""

READERS = {"EC": ECAlgorithm.from_jwk, "OKP": OKPAlgorithm.from_jwk, "RSA": RSAAlgorithm.from_jwk}
PUBLIC_MEMBERS = ("kty", "crv", "n", "e", "x", "y")

ALGORITHMS = RSA | {*CURVES.values(), "EdDSA", "HS256"}
"""Everything that some key here verifies."""

PublicKeyObject = EllipticCurvePublicKey | Ed25519PublicKey | RSAPublicKey


class UnusableKeyError(ValueError):
    """A key cannot be used to verify with; the text says why, and holds nothing of it."""


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key, its name, the algorithms it is for, and a fingerprint that only the same key has."""

    kid: str
    algorithms: frozenset[str]
    fingerprint: str
    key: Any = field(repr=False, compare=False)

    def verifies(self, algorithm: str, signing_input: bytes, signature: bytes) -> bool:
        """Whether the signature was made over these bytes with its other half, by one of its algorithms."""
        return get_default_algorithms()[algorithm].verify(signing_input, self.key, signature)


def trusted_pem(kid: str, pem: bytes) -> TrustedKey:
    """The key of a PEM file, public or private.

    Raises:
        UnusableKeyError: it holds none that is used here.
    """
    try:
        if b"PRIVATE KEY" in pem:
            return _trusted(kid, load_pem_private_key(pem, password=None).public_key())
        return _trusted(kid, load_pem_public_key(pem))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if isinstance(error, UnusableKeyError):
            raise
        raise UnusableKeyError("it is no PEM file of a key without a password") from None


def trusted_secret(kid: str, secret: bytes) -> TrustedKey:
    """A secret that whoever signs has too.

    Raises:
        UnusableKeyError: it is so short that others may have it.
    """
    if len(secret) < LEAST_SECRET_BYTES:
        raise UnusableKeyError(f"a secret has {LEAST_SECRET_BYTES} bytes or more")
    return TrustedKey(kid, frozenset({"HS256"}), hashlib.sha256(secret).hexdigest(), secret)


def trusted_jwks(document: object, *, secrets: bool = False) -> Sequence[TrustedKey]:
    """The keys of a JWK set that have a name and are for signatures (RFC 7517, 5); others are passed over.

    With `secrets` also shared ones; a set that everybody can read holds none.

    Raises:
        UnusableKeyError: it is no JWK set.
    """
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        raise UnusableKeyError("it is no JWK set")
    found = (_of_jwk(jwk, secrets=secrets) for jwk in keys if isinstance(jwk, Mapping))
    return [key for key in found if key is not None]


def _of_jwk(jwk: Mapping[str, Any], *, secrets: bool) -> TrustedKey | None:
    kid, algorithm, operations = jwk.get("kid"), jwk.get("alg"), jwk.get("key_ops", ["verify"])
    if not isinstance(kid, str) or not kid or jwk.get("use", "sig") != "sig":
        return None
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    try:
        key = _read(kid, jwk, secrets=secrets)
    except (InvalidKeyError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    if algorithm is None:
        return key
    if algorithm not in key.algorithms:
        return None
    return TrustedKey(kid, frozenset({algorithm}), key.fingerprint, key.key)


def _read(kid: str, jwk: Mapping[str, Any], *, secrets: bool) -> TrustedKey:
    if jwk.get("kty") == "oct" and secrets:
        try:
            return trusted_secret(kid, read_base64url(str(jwk["k"])))
        except MalformedSignatureError:
            raise UnusableKeyError("it is not base64url") from None
    public: dict[str, Any] = {name: jwk[name] for name in PUBLIC_MEMBERS if name in jwk}
    return _trusted(kid, READERS[str(jwk["kty"])](public))


def _trusted(kid: str, key: object) -> TrustedKey:
    match key:
        case EllipticCurvePublicKey() if key.curve.name in CURVES:
            algorithms = frozenset({CURVES[key.curve.name]})
        case Ed25519PublicKey():
            algorithms = frozenset({"EdDSA"})
        case RSAPublicKey() if key.key_size >= LEAST_RSA_BITS:
            algorithms = RSA
        case RSAPublicKey():
            raise UnusableKeyError(f"an RSA key has {LEAST_RSA_BITS} bits or more")
        case _:
            raise UnusableKeyError("it is neither of P-256, P-384, P-521 or Ed25519 nor of RSA")
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return TrustedKey(kid, algorithms, hashlib.sha256(spki).hexdigest(), key)
