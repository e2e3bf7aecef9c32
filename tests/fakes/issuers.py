"""An issuer of tokens whose keys are real, and who signs whatever it is told to."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from a2a_serverless.adapters.https_keys import UnfetchedError
from a2a_serverless.ports.access import TrustedIssuer
from tests.fakes.world import FakeClock

ALGORITHMS = get_default_algorithms()
ISSUER = "https://issuer.example"
AUDIENCE = "https://agent.example"
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


@cache
def private_key(algorithm: str, name: str = "") -> Any:
    """A key for that algorithm; one of each name."""
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm])
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(key: Any, algorithm: str, **members: Any) -> dict[str, Any]:
    """The public half of a key, as an issuer publishes it; a member that is None is left out."""
    jwk = ALGORITHMS[algorithm].to_jwk(key.public_key(), as_dict=True)
    jwk.pop("key_ops", None)
    whole = {**jwk, "alg": algorithm, "use": "sig", **members}
    return {name: value for name, value in whole.items() if value is not None}


def base64url(value: bytes) -> str:
    """Without padding, as tokens have it."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def compact(header: bytes, claims: bytes, algorithm: str, key: Any) -> str:
    """A token of these very bytes."""
    signed = f"{base64url(header)}.{base64url(claims)}"
    return f"{signed}.{base64url(ALGORITHMS[algorithm].sign(signed.encode(), key))}"


@dataclass
class FakeIssuer:
    """Somebody with a key under one name, who may publish another set than the one it signs with."""

    clock: FakeClock = field(default_factory=FakeClock)
    algorithm: str = "RS256"
    kid: str | None = "one"
    name: str = ISSUER
    published: list[dict[str, Any]] = field(default_factory=list)
    fetches: int = 0
    down: bool = False

    def __post_init__(self) -> None:
        self.published = self.published or [self.jwk()]

    @property
    def key(self) -> Any:
        """What it signs with."""
        return private_key(self.algorithm, self.kid or "")

    def jwk(self, **members: Any) -> dict[str, Any]:
        """The public half of that."""
        return public_jwk(self.key, self.algorithm, **{"kid": self.kid, **members})

    def fetch(self, _: TrustedIssuer) -> Sequence[Mapping[str, Any]]:
        """What it publishes, unless it is down."""
        self.fetches += 1
        if self.down:
            raise UnfetchedError("down")
        return list(self.published)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """What a token says that is good for an hour; a claim that is None is left out."""
        now = int(self.clock.now().timestamp())
        said = {"iss": self.name, "sub": "alice", "aud": AUDIENCE, "iat": now, "exp": now + 3600, **changed}
        return {name: value for name, value in said.items() if value is not None}

    def header(self, **changed: Any) -> dict[str, Any]:
        """What stands before it."""
        said = {"alg": self.algorithm, "typ": "JWT", "kid": self.kid, **changed}
        return {name: value for name, value in said.items() if value is not None}

    def token(self, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """A token of these claims."""
        return compact(
            json.dumps(self.header(**(header or {}))).encode(),
            json.dumps(self.claims(**claims)).encode(),
            self.algorithm,
            self.key,
        )
