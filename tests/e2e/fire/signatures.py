"""Whether a request bears the deployment's signature, judged by the standards alone (RFC 7515, 7797, 7518).

Nothing of the package is used, and no library that it uses for this.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
    EllipticCurvePublicNumbers,
)
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

Keys = Mapping[str, EllipticCurvePublicKey]


def read_keys(jwks: Mapping[str, Any]) -> Keys:
    """The keys of a JWK set by their ids."""
    return {each["kid"]: _key(each) for each in jwks["keys"]}


def signed_header(keys: Keys, signature: str, body: bytes) -> dict[str, Any]:
    """What the signature claims of the body; raises InvalidSignature when it is none of these keys'."""
    header, payload, value = signature.split(".")
    claimed: dict[str, Any] = json.loads(_bytes(header))
    if payload or claimed["alg"] != "ES256" or claimed["b64"] is not False or claimed["crit"] != ["b64"]:
        raise InvalidSignature
    raw = _bytes(value)
    halves = (int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    keys[claimed["kid"]].verify(encode_dss_signature(*halves), header.encode() + b"." + body, ECDSA(SHA256()))
    return claimed


def _key(jwk: Mapping[str, str]) -> EllipticCurvePublicKey:
    x, y = (int.from_bytes(_bytes(jwk[name])) for name in ("x", "y"))
    return EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
