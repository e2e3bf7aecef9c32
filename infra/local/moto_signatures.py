"""Signatures as KMS makes them: moto hashes what it is given, also when that is a digest already.

Pairs on the curve P-256 only, which is what this deployment signs with.
"""

import base64
import json

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from moto.kms.models import KmsBackend
from moto.kms.responses import KmsResponse
from moto.kms.utils import ECDSAPrivateKey

AS_MOTO_SIGNS = KmsResponse.sign
AS_MOTO_SHOWS = KmsResponse.get_public_key


def sign_digests() -> None:
    """From now on a digest is signed as it is, and a public key says whose it is as on AWS."""
    KmsResponse.sign = _sign  # type: ignore[method-assign]
    KmsResponse.get_public_key = _get_public_key  # type: ignore[method-assign]


def create_pair(backend: KmsBackend, name: str) -> None:
    """Create a pair that signs, under this ARN or this alias."""
    key = backend.create_key(
        policy=None,
        key_usage="SIGN_VERIFY",
        key_spec="ECC_NIST_P256",
        description="Signs agent cards",
        tags=None,
    )
    if not name.startswith("arn:"):
        backend.create_alias(key.id, name)
        return
    made = backend.keys.pop(key.id)
    made.id, made.arn = name.rpartition("/")[2], name
    backend.keys[made.id] = made


def _get_public_key(self: KmsResponse) -> str:
    """AWS names the key by its ARN, whatever it was asked by."""
    told = json.loads(AS_MOTO_SHOWS(self))
    return json.dumps({**told, "KeyId": self.kms_backend.describe_key(told["KeyId"]).arn})


def _sign(self: KmsResponse) -> str:
    key_id, algorithm = self._get_param("KeyId"), self._get_param("SigningAlgorithm")
    digest = self._get_param("Message")
    said = self._get_param("MessageType")
    if (said, algorithm) != ("DIGEST", "ECDSA_SHA_256"):
        return AS_MOTO_SIGNS(self)
    key = self.kms_backend.describe_key(key_id)
    pair = key.private_key
    if not isinstance(pair, ECDSAPrivateKey) or len(digest) != SHA256.digest_size:
        return AS_MOTO_SIGNS(self)
    signature = pair.private_key.sign(digest, ec.ECDSA(Prehashed(SHA256())))
    return json.dumps(
        {
            "KeyId": key.arn,
            "Signature": base64.b64encode(signature).decode(),
            "SigningAlgorithm": algorithm,
        }
    )
