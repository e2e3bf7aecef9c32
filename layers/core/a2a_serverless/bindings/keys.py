"""The public keys of a deployment, as receivers of its webhooks look them up (RFC 7517, 5).

A key set is printed from named public members only, so that nothing private can slip in. It is read for
every answer: a key may sign a moment after it was made, and its receiver asks for it at once.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from http import HTTPStatus

from a2a_serverless.bindings.card import MAX_AGE
from a2a_serverless.bindings.conditional import is_current
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.ports.signing_keys import SigningKey

KEYS_PATH = "/.well-known/jwks.json"
JWK_SET = "application/jwk-set+json"


class KeyDesk:
    """Answers for the public keys."""

    def __init__(self, published: Callable[[], Sequence[SigningKey]]) -> None:
        self._published = published

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer a GET or HEAD of the key set.

        Nobody may keep a set without keys: the first one signs as soon as it is there.
        """
        keys = self._published()
        body = jwk_set(keys)
        headers = {
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            "Cache-Control": f"public, max-age={MAX_AGE}" if keys else "no-store",
        }
        if is_current(request, headers["ETag"]):
            return HttpResponse(HTTPStatus.NOT_MODIFIED, headers)
        return HttpResponse(HTTPStatus.OK, {"Content-Type": JWK_SET, **headers}, body)


def jwk_set(keys: Sequence[SigningKey]) -> bytes:
    """The public halves as a JWK set."""
    return json.dumps({"keys": [_public(key) for key in keys]}, separators=(",", ":")).encode()


def _public(key: SigningKey) -> dict[str, str]:
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": key.x,
        "y": key.y,
        "kid": key.kid,
        "use": "sig",
        "alg": "ES256",
    }
