"""What somebody hears who is not let in: the same few bytes at every front door.

Neither binding's envelope is around them, for nothing was read yet that could tell which one the caller
understands, and whoever is not let in learns nothing of what is behind the door.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from math import ceil

from a2a_serverless.bindings.http import JSON, HttpResponse
from a2a_serverless.protocol.errors import (
    A2AError,
    InternalError,
    PermissionDeniedError,
    UnauthenticatedError,
)

WORDS = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.SERVICE_UNAVAILABLE: "Unavailable",
}


WITHOUT_A_SCHEME = ('Bearer realm="a2a"',)
"""A 401 needs a challenge, also where nobody is let in at all."""


class UnknownCallerError(UnauthenticatedError):
    """Credentials are missing or wrong; `challenges` says which would be taken, one for each scheme."""

    def __init__(self, challenges: Sequence[str] = ()) -> None:
        super().__init__()
        self.challenges = tuple(challenges) or WITHOUT_A_SCHEME


class MissingScopeError(PermissionDeniedError):
    """The caller is known and lacks a scope; `scopes` are all that the operation needs (RFC 6750, 3.1)."""

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__()
        self.scopes = tuple(scopes)


class CannotTellError(InternalError):
    """Nobody can say at present who calls: what would prove it is out of reach. Not a fault of ours."""

    http_status = HTTPStatus.SERVICE_UNAVAILABLE
    status = "UNAVAILABLE"
    reason = "UNAVAILABLE"
    text = "Try again later"

    def __init__(self, retry_after: float) -> None:
        super().__init__()
        self.retry_after = max(1, ceil(retry_after))


def at_the_door(error: A2AError) -> HttpResponse | None:
    """The answer to somebody who is not let in; None for any other error."""
    match error:
        case UnauthenticatedError():
            challenges = error.challenges if isinstance(error, UnknownCallerError) else WITHOUT_A_SCHEME
            said = {"WWW-Authenticate": ", ".join(challenges)}
        case MissingScopeError():
            said = {
                "WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{" ".join(error.scopes)}"'
            }
        case PermissionDeniedError():
            said = {}
        case CannotTellError():
            said = {"Retry-After": str(error.retry_after)}
        case _:
            return None
    body = json.dumps({"error": WORDS[error.http_status]}, separators=(",", ":")).encode()
    return HttpResponse(error.http_status, {"Content-Type": JSON, "Cache-Control": "no-store", **said}, body)
