"""Keys and signed cards for those who verify: made by libraries, not by what is under test."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, get_default_algorithms

from a2a_serverless.ports.public_keys import PublicKey
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.card_signatures import canonical

CARD: dict[str, Any] = {
    "name": "Agent",
    "description": "Does things.",
    "supportedInterfaces": [
        {"url": "https://agent.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "version": "1",
    "capabilities": {"streaming": True, "pushNotifications": False},
    "securityRequirements": [{"schemes": {"bearer": {}}}],
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "a", "name": "A", "description": "Does A", "tags": ["a"]}],
}

SECRET = b"a secret of at least thirty-two bytes"
P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()
RSA = rsa.generate_private_key(65537, 2048)
KEYS: Mapping[str, Any] = {"ES256": P256, "ES384": P384, "EdDSA": ED25519, "RS256": RSA, "PS512": RSA}
WRITERS: Mapping[str, Any] = {
    "ES256": ECAlgorithm.to_jwk,
    "ES384": ECAlgorithm.to_jwk,
    "EdDSA": OKPAlgorithm.to_jwk,
    "RS256": RSAAlgorithm.to_jwk,
    "PS512": RSAAlgorithm.to_jwk,
}


def signature(
    card: Mapping[str, Any], key: Any, payload: bytes | None = None, **header: Any
) -> dict[str, str]:
    """A signature over the card, or over another payload, with this protected header."""
    said = {"alg": "ES256", "typ": "JOSE", "kid": "key-1", **header}
    signed = canonical(AgentCard.from_dict({**card, "signatures": []})) if payload is None else payload
    token = jwt.PyJWS().encode(signed, key, said["alg"], {k: v for k, v in said.items() if v is not None})
    protected, _, made = token.split(".")
    return {"protected": protected, "signature": made}


def signed(*signatures: Mapping[str, str], **changed: Any) -> bytes:
    """The card as it is received, with these signatures and perhaps changed since."""
    return json.dumps({**CARD, **changed, "signatures": list(signatures)}).encode()


def jwk(algorithm: str, kid: Any = "key-1", **members: Any) -> dict[str, Any]:
    """The public half of the key for an algorithm; a member that is None is left out."""
    written = WRITERS[algorithm](KEYS[algorithm].public_key(), as_dict=True)
    return {name: value for name, value in {**written, "kid": kid, **members}.items() if value is not None}


@dataclass(frozen=True)
class PemCardKey:
    """A key that signs cards, by a library."""

    kid: str
    key: Any
    algorithm: str = "ES256"

    @property
    def public(self) -> PublicKey | None:
        """Something that may be shown."""
        return PublicKey(self.kid, "", "")

    def sign(self, signing_input: bytes) -> bytes:
        """Sign the bytes."""
        made: bytes = get_default_algorithms()[self.algorithm].sign(signing_input, self.key)
        return made


def pem(key: Any) -> bytes:
    """A public key as a PEM file."""
    written: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return written


def private_pem(key: Any) -> bytes:
    """A private key as a PEM file."""
    written: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return written
