"""Whom to believe: what checking credentials needs of the world beyond a comparison of hashes.

Tokens that somebody else issued, and the documents that say whom a deployment lets in. Knows no algorithm,
no request and no AWS.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit


class UnbelievedTokenError(Exception):
    """A token that proves nothing here. Why is for a developer's eyes; a caller is not told."""


class KeysOutOfReachError(Exception):
    """The keys of an issuer cannot be had at present, so that nobody can say what its tokens prove.

    `retry_after` is how many seconds it will be before they are asked for again.
    """

    def __init__(self, retry_after: float) -> None:
        super().__init__("the keys of an issuer are out of reach")
        self.retry_after = retry_after


class UnreadableValueError(Exception):
    """A value kept elsewhere cannot be read; the text says which, and never what it is."""


class UnusableKeysError(Exception):
    """Keys that were given for an issuer verify nothing it may sign; `issuer` is the claim `iss`."""

    def __init__(self, issuer: str) -> None:
        super().__init__("keys that verify nothing")
        self.issuer = issuer


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """Somebody whose tokens count, and for what (RFC 7519, 8725).

    Its keys come from one of four places: `jwks` (public keys, as in RFC 7517), `secret` (for HS*),
    `jwks_uri`, or, where none is given, what the issuer's own OpenID configuration names.

    Attributes:
        issuer: the claim `iss`, to the letter.
        audiences: a token must be for one of these.
        algorithms: what its tokens may be signed with; all of one family, so that no key serves two.
        leeway: how far clocks may be apart.
        audience_claim: which claim says whom a token is for.
        subject_claim: which claim says who calls; of one person never two, and never anybody else's.
        tenant_claim: which claim says for which tenant; empty where tokens say nothing of tenants.
        scope_claim: which claim lists scopes, as words in a text or as a list.
        claims: which further claims an agent may be told.
    """

    issuer: str
    audiences: tuple[str, ...]
    algorithms: tuple[str, ...]
    jwks_uri: str = ""
    jwks: Sequence[Mapping[str, Any]] | None = None
    secret: bytes = field(default=b"", repr=False)
    leeway: timedelta = timedelta(seconds=60)
    audience_claim: str = "aud"
    subject_claim: str = "sub"
    tenant_claim: str = ""
    scope_claim: str = "scope"
    claims: tuple[str, ...] = ()

    @property
    def discovered(self) -> bool:
        """Whether its keys are found by its OpenID configuration."""
        return not (self.jwks_uri or self.secret or self.jwks is not None)

    @property
    def configuration_url(self) -> str:
        """Where its OpenID configuration lies (OpenID Connect Discovery 1.0, 4)."""
        return f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """What a token proves.

    Attributes:
        issuer, subject: who calls, by whose word.
        expires: from when on it proves nothing; leeway included.
        scopes: what the caller may do, by the issuer's word.
        tenant: the only tenant the caller may ask for; None where tokens say nothing of tenants.
        claims: what an agent may be told, `iss` and `sub` included.
    """

    issuer: str
    subject: str
    expires: datetime
    scopes: frozenset[str] = frozenset()
    tenant: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict)


class IssuedTokens(Protocol):
    """Tokens of trusted issuers."""

    def verify(self, token: str) -> VerifiedToken:
        """What the token proves.

        Raises:
            UnbelievedTokenError: nothing.
            KeysOutOfReachError: nobody can say at present.
        """


class SecretValue(Protocol):
    """One value that is kept elsewhere, and may be changed there."""

    def read(self) -> str:
        """The value as it is now.

        Raises:
            UnreadableValueError: it is not there, not text, or not for this deployment to read.
        """


def is_fetchable(url: str, *, loopback: bool) -> bool:
    """Whether keys may be fetched there: by https, or on this machine, where `loopback` lets them be."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or "#" in url or not (url.isascii() and url.isprintable()):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and loopback and _is_this_machine(host))


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
