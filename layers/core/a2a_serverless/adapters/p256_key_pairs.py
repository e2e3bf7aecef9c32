"""Key pairs on the curve P-256, made by the `cryptography` package."""

import json
from base64 import urlsafe_b64encode
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from a2a_serverless.ports.signing_keys import KeyPair

BYTES = 32
"""Length of a coordinate, leading zeros included (RFC 7518, 6.2.1.2)."""


class P256KeyPairs:
    """Pairs that nobody else has."""

    def new(self) -> KeyPair:
        """A fresh pair."""
        private = generate_private_key(SECP256R1())
        point = private.public_key().public_numbers()
        x, y = (_base64url(number.to_bytes(BYTES, "big")) for number in (point.x, point.y))
        der = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return KeyPair(kid=thumbprint(x, y), x=x, y=y, private=der)


def thumbprint(x: str, y: str) -> str:
    """The name of a public key: the hash of its required members, in order and without spaces (RFC 7638)."""
    members = json.dumps({"crv": "P-256", "kty": "EC", "x": x, "y": y}, separators=(",", ":"))
    return _base64url(sha256(members.encode()).digest())


def _base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
