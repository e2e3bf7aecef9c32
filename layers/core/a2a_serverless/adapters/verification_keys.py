"""What signatures are verified with, read from JWKs (RFC 7517, 7518) by PyJWT and `cryptography`.

A key says itself what it is for: its type and curve decide the algorithms, and its own `alg`, `use` and
`key_ops` narrow them. What is weak, private or not for signatures is not read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidKeyError

from a2a_serverless.adapters.https_keys import UnfetchedError
from a2a_serverless.ports.access import TrustedIssuer

LEAST_RSA_BITS = 2048
MOST_RSA_BITS = 8192

RSA = frozenset({f"{family}{bits}" for family in ("RS", "PS") for bits in (256, 384, 512)})
CURVES: Mapping[tuple[str, str], frozenset[str]] = {
    ("EC", "P-256"): frozenset({"ES256"}),
    ("EC", "P-384"): frozenset({"ES384"}),
    ("EC", "P-521"): frozenset({"ES512"}),
    ("OKP", "Ed25519"): frozenset({"EdDSA"}),
    ("OKP", "Ed448"): frozenset({"EdDSA"}),
}
PUBLIC_MEMBERS = ("kty", "crv", "n", "e", "x", "y")


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """One key, its name if it has one, and the algorithms it is for."""

    kid: str | None
    algorithms: frozenset[str]
    key: Any = field(repr=False)

    def may_be(self, kid: str | None, algorithm: str) -> bool:
        """Whether this may be the key of a signature that names a key, or none."""
        return algorithm in self.algorithms and (kid is None or self.kid in (None, kid))


def shared_secret(secret: bytes, algorithms: Sequence[str]) -> Sequence[VerificationKey]:
    """A secret that its issuer shares with us; nothing, where it is a public key taken for one."""
    try:
        key = HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(secret)
    except InvalidKeyError:
        return ()
    return [VerificationKey(None, frozenset(algorithms), key)]


def readable(keys: Sequence[Mapping[str, Any]]) -> Sequence[VerificationKey]:
    """The keys that can be read and are for verifying signatures."""
    return [key for key in map(_read, keys) if key is not None]


def fetched_from(
    fetch: Callable[[TrustedIssuer], Sequence[Mapping[str, Any]]],
) -> Callable[[TrustedIssuer], Sequence[VerificationKey]]:
    """The keys of whatever is fetched; a set without any is none."""

    def keys(issuer: TrustedIssuer) -> Sequence[VerificationKey]:
        found = readable(fetch(issuer))
        if not found:
            raise UnfetchedError("no key that can be used")
        return found

    return keys


def _read(jwk: Mapping[str, Any]) -> VerificationKey | None:
    algorithms = _algorithms(jwk)
    if not algorithms:
        return None
    public: dict[str, Any] = {name: jwk[name] for name in PUBLIC_MEMBERS if name in jwk}
    makers = {"RSA": RSAAlgorithm.from_jwk, "EC": ECAlgorithm.from_jwk, "OKP": OKPAlgorithm.from_jwk}
    try:
        key = makers[jwk["kty"]](public)
    except (InvalidKeyError, UnsupportedAlgorithm, ValueError, TypeError, KeyError):
        return None
    if isinstance(key, RSAPublicKey) and not LEAST_RSA_BITS <= key.key_size <= MOST_RSA_BITS:
        return None
    kid = jwk.get("kid")
    return VerificationKey(kid if isinstance(kid, str) else None, algorithms, key)


def _algorithms(jwk: Mapping[str, Any]) -> frozenset[str]:
    """What the key may verify; nothing, where it is for something else."""
    operations = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig" or not isinstance(operations, list) or "verify" not in operations:
        return frozenset()
    kind = jwk.get("kty")
    allowed = RSA if kind == "RSA" else CURVES.get((str(kind), str(jwk.get("crv"))), frozenset())
    return allowed & {jwk["alg"]} if isinstance(jwk.get("alg"), str) else allowed
