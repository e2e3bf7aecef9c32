"""Somebody verified, or verifiably nobody, and what that makes of a call (specification 7, 13.1).

Knows no credential: which scheme found a principal makes no difference from here on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from a2a_serverless.ports import Caller, owner_of
from a2a_serverless.protocol.errors import PermissionDeniedError

PRINCIPALS = "principals"
"""Who vouches for those whom the deployment itself names, whatever credential they show."""

LOCAL = "local"
ANONYMOUS = "anonymous"
OUR_OWN = frozenset({PRINCIPALS, LOCAL, ANONYMOUS})
"""Issuers that no token may come from."""


class ForeignTenantError(PermissionDeniedError):
    """The caller may ask for one tenant, and asks for another."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls.

    Attributes:
        issuer, name: by whose word they are who they are, and who.
        anonymous: whether they are nobody in particular.
        claims: what an agent may be told of them.
        scopes: what they may do, where a deployment asks for scopes.
        tenant: the only tenant they may ask for; None where they may ask for any.
        expires: from when on their credential proves nothing; None where that is not said.
    """

    issuer: str
    name: str
    anonymous: bool = False
    claims: Mapping[str, str] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    tenant: str | None = None
    expires: datetime | None = None

    @property
    def owner(self) -> str:
        """Whose tasks are theirs."""
        return owner_of(self.issuer, self.name)

    @property
    def belongs_to(self) -> str:
        """The tenant that they are known to be of, where what is counted of them is counted; else empty."""
        return self.tenant or ""

    def caller(self, tenant: str | None, base_url: str) -> Caller:
        """This principal calling for a tenant; one who may ask for one only need not name it.

        Raises:
            ForeignTenantError: it is not theirs to ask for.
        """
        if self.tenant is not None and tenant and tenant != self.tenant:
            raise ForeignTenantError
        return Caller(
            tenant=self.tenant or tenant or "",
            owner=self.owner,
            name=self.name,
            base_url=base_url,
            anonymous=self.anonymous,
            claims=self.claims,
            belongs_to=self.belongs_to,
        )


def named(name: str, scopes: frozenset[str] = frozenset(), issuer: str = PRINCIPALS) -> Principal:
    """Somebody whom the deployment itself names.

    All their credentials name one owner, so that replacing one, or using another scheme, keeps their tasks.
    """
    return Principal(issuer, name, claims={"iss": issuer, "sub": name}, scopes=scopes)


def nobody() -> Principal:
    """Whoever shows no credential where none is needed."""
    return Principal(ANONYMOUS, "", anonymous=True)
