"""Who calls: credentials to a principal, a principal to the caller the operations know (specification 7).

Authentication happens before anything of the body is read. Whatever is wrong with a credential gives the same
answer, and comparing takes the same time for every token. Tokens are known by their SHA-256 only.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from a2a_serverless.bindings.http import HttpRequest
from a2a_serverless.ports import Caller, owner_of
from a2a_serverless.protocol.errors import UnauthenticatedError

BEARER = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*) *", re.IGNORECASE | re.ASCII)
"""Credentials of the Bearer scheme (RFC 6750, 2.1)."""

CHALLENGE = {"WWW-Authenticate": "Bearer"}

TOKEN_ISSUER = "bearer"  # noqa: S105  the name of who vouches for a principal, not a credential
LOCAL_ISSUER = "local"
ANONYMOUS_ISSUER = "anonymous"


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token: whose it is, and its SHA-256."""

    name: str
    sha256: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody verified, or verifiably nobody."""

    issuer: str
    name: str
    anonymous: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)

    def caller(self, tenant: str | None, base_url: str) -> Caller:
        """This principal calling for a tenant."""
        return Caller(
            tenant=tenant or "",
            owner=owner_of(self.issuer, self.name),
            name=self.name,
            base_url=base_url,
            anonymous=self.anonymous,
            claims=self.claims,
        )


@dataclass(frozen=True, slots=True)
class Admittance:
    """Who is let in.

    Attributes:
        tokens: the bearer tokens of named principals.
        anonymous: whether callers without credentials are served, all as one principal.
        local_principal: every caller without credentials is this one; for a machine of one's own only.
        base_url: the public address of the deployment; empty means the one a request came in by.
    """

    tokens: Sequence[Token] = ()
    anonymous: bool = False
    local_principal: str = ""
    base_url: str = ""

    def authenticate(self, request: HttpRequest) -> Principal:
        """The principal a request comes from.

        Without any token configured the deployment has no scheme of its own, so that an Authorization
        header is for whatever stands in front of it. Raises UnauthenticatedError.
        """
        given = request.headers.get("authorization", ())
        if given and self.tokens:
            return self._bearer(given)
        if self.local_principal:
            return _named(LOCAL_ISSUER, self.local_principal)
        if self.anonymous:
            return Principal(ANONYMOUS_ISSUER, "", anonymous=True)
        raise UnauthenticatedError

    def address(self, request: HttpRequest) -> str:
        """The public address of the deployment, without a trailing slash."""
        return self.base_url or request.origin

    def _bearer(self, given: Sequence[str]) -> Principal:
        credentials = BEARER.fullmatch(given[0]) if len(given) == 1 else None
        if credentials is None:
            raise UnauthenticatedError
        digest = hashlib.sha256(credentials[1].encode("ascii")).digest()
        found = [token.name for token in self.tokens if hmac.compare_digest(token.sha256, digest)]
        if not found:
            raise UnauthenticatedError
        return _named(TOKEN_ISSUER, found[0])


def _named(issuer: str, name: str) -> Principal:
    return Principal(issuer, name, claims={"iss": issuer, "sub": name})
