"""Signatures over webhooks: ES256 in a compact JWS whose payload, the body, travels beside it.

The body is signed as it is, not in base64 (RFC 7515, appendix F; RFC 7797), so a receiver verifies the very
bytes it got. A private key is opened once per process. Knows no webhook: what is claimed of a body is its
caller's business, but for the time.
"""

from collections.abc import Mapping
from datetime import datetime
from threading import Lock
from typing import cast

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from jwt.api_jws import PyJWS

from a2a_serverless.operations.signing_keys import READ_AGAIN, current_ring, signer
from a2a_serverless.ports.signing_keys import KeyPorts, KeyRing, SigningKey, sealed_for
from a2a_serverless.ports.webhooks import UnopenableError

ALGORITHM = "ES256"
JWS = PyJWS([ALGORITHM])


class LockedKeyError(Exception):
    """The pair whose time it is cannot be opened: a fault of the deployment, and of no webhook.

    Once what sealed it is gone for good, only another pair helps: `rotate` with `leaked`.
    """


class JwsSignatures:
    """Signs with the pair whose time it is; safe for many threads."""

    def __init__(self, ports: KeyPorts) -> None:
        self._ports = ports
        self._lock = Lock()
        self._read: tuple[KeyRing, datetime] | None = None
        self._opened: tuple[str, EllipticCurvePrivateKey] | None = None

    def sign(self, body: bytes, claims: Mapping[str, str]) -> str:
        """A compact JWS with detached payload; the claims and `iat`, now, stand in its protected header.

        Raises:
            LockedKeyError: there is no key to sign with.
        """
        now = self._ports.clock.now()
        kid, key = self._key(now)
        header = {
            **claims,
            "iat": int(now.timestamp()),
            "alg": ALGORITHM,
            "b64": False,
            "crit": ["b64"],
            "kid": kid,
            "typ": None,  # or the library would call it a JWT
        }
        return JWS.encode(body, key, ALGORITHM, header)

    def _key(self, now: datetime) -> tuple[str, EllipticCurvePrivateKey]:
        with self._lock:
            if self._read is None or now >= self._read[1] + READ_AGAIN:
                self._read = current_ring(self._ports), now
            signing = signer(self._read[0], now)
            if self._opened is None or self._opened[0] != signing.kid:
                self._opened = signing.kid, self._open(signing)
            return self._opened

    def _open(self, signing: SigningKey) -> EllipticCurvePrivateKey:
        try:
            private = self._ports.seals.open(signing.sealed, sealed_for(signing.kid))
        except UnopenableError as error:
            raise LockedKeyError(signing.kid) from error
        return cast("EllipticCurvePrivateKey", load_der_private_key(private, password=None))
