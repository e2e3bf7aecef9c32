"""The public keys of a deployment: whoever verifies its card or its webhooks looks them up (RFC 7517, 5).

A key set is printed from named public members only, so that nothing private can slip in. It is read for
every answer: a key may sign webhooks a moment after it was made, and its receiver asks for it at once.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from http import HTTPStatus

from a2a_serverless.bindings.card import MAX_AGE
from a2a_serverless.bindings.conditional import is_current
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.ports.public_keys import Published

KEYS_PATH = "/.well-known/jwks.json"
JWK_SET = "application/jwk-set+json"


Keys = Callable[[], Sequence[Published]]


def no_keys() -> Sequence[Published]:
    """None at all."""
    return ()


class KeyDesk:
    """Answers for the public keys: of webhooks, whose first may come at any moment, and of the card.

    Without `webhooks` none of those will come.
    """

    def __init__(self, webhooks: Keys | None, card: Keys = no_keys) -> None:
        self._webhooks = webhooks
        self._card = card

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer a GET or HEAD of the key set.

        Nobody may keep a set before the first key of webhooks: it signs as soon as it is there.
        """
        signing = self._webhooks() if self._webhooks else ()
        body = jwk_set((*self._card(), *signing))
        lasts = bool(signing) or self._webhooks is None
        headers = {
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            "Cache-Control": f"public, max-age={MAX_AGE}" if lasts else "no-store",
        }
        if is_current(request, headers["ETag"]):
            return HttpResponse(HTTPStatus.NOT_MODIFIED, headers)
        return HttpResponse(HTTPStatus.OK, {"Content-Type": JWK_SET, **headers}, body)


def jwk_set(keys: Sequence[Published]) -> bytes:
    """The public halves as a JWK set."""
    return json.dumps({"keys": [_public(key) for key in keys]}, separators=(",", ":")).encode()


def _public(key: Published) -> dict[str, str]:
    return {
        "kty": "EC",
        "crv": "P-256",
        "x": key.x,
        "y": key.y,
        "kid": key.kid,
        "use": "sig",
        "alg": "ES256",
    }
