"""Key pairs on the curve P-256, made by the `cryptography` package."""

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from a2a_serverless.ports.public_keys import BYTES, PublicKey
from a2a_serverless.ports.signing_keys import KeyPair


class P256KeyPairs:
    """Pairs that nobody else has."""

    def new(self) -> KeyPair:
        """A fresh pair."""
        private = generate_private_key(SECP256R1())
        point = private.public_key().public_numbers()
        public = PublicKey.at(point.x.to_bytes(BYTES, "big") + point.y.to_bytes(BYTES, "big"))
        der = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        return KeyPair(kid=public.kid, x=public.x, y=public.y, private=der)
