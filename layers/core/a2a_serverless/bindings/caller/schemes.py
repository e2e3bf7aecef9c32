"""Ways to show who one is, each reading one credential (specification 7.3, RFC 6750, RFC 9110 11).

Whatever is wrong with a credential is one answer: it names nobody. Comparing takes the same time whichever
entry is right. Credentials are known by their SHA-256 only, which is enough for what is long and random;
passwords, which are not, are in `basic`.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from a2a_serverless.bindings.caller.principal import Principal, named
from a2a_serverless.ports.access import IssuedTokens, TrustedIssuer, UnbelievedTokenError
from a2a_serverless.protocol.card import (
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)

AUTHORIZATION = "authorization"
REALM = "a2a"
"""What all credentials of a deployment open (RFC 9110, 11.5)."""

MAX_CREDENTIAL = 16 * 1024
"""Characters of a header that holds a credential. API Gateway takes 10 KB of headers in all."""

TOKEN68 = re.compile(r"[A-Za-z0-9\-._~+/]+=*", re.ASCII)
"""Credentials of the Bearer scheme (RFC 6750, 2.1)."""

VISIBLE = re.compile(r"[\x21-\x7e]+")


class NobodyError(Exception):
    """The credential names nobody."""


class Scheme(Protocol):
    """One way to show who one is."""

    @property
    def header(self) -> str:
        """The header that holds the credential, in lower case."""

    @property
    def word(self) -> str:
        """What stands before it in there, in lower case; empty where nothing does."""

    @property
    def challenge(self) -> str:
        """What a caller without it is told (RFC 9110, 11.6.1)."""

    @property
    def announced(self) -> Mapping[str, SecurityScheme]:
        """What the card says of it, by name."""

    def principal(self, credential: str) -> Principal:
        """Who shows this credential.

        Raises:
            NobodyError: nobody whom this deployment knows.
            KeysOutOfReachError: that cannot be said at present.
        """


@dataclass(frozen=True, slots=True)
class Token:
    """A credential that is all random: whose it is, its SHA-256, and what it opens."""

    name: str
    sha256: bytes = field(repr=False)
    scopes: frozenset[str] = frozenset()


def found(tokens: Sequence[Token], credential: str) -> Token:
    """The token that this is; all of them are looked at, wherever it stands.

    Raises:
        NobodyError: none, or those of several.
    """
    digest = hashlib.sha256(credential.encode("ascii")).digest()
    matching = [token for token in tokens if hmac.compare_digest(token.sha256, digest)]
    if len({token.name for token in matching}) != 1:
        raise NobodyError
    return matching[0]


class Bearer:
    """Tokens in the Authorization header: of principals of our own, and of issuers we trust."""

    header = AUTHORIZATION
    word = "bearer"
    challenge = f'Bearer realm="{REALM}"'

    def __init__(
        self,
        tokens: Sequence[Token] = (),
        issuers: Sequence[TrustedIssuer] = (),
        issued: IssuedTokens | None = None,
    ) -> None:
        self._tokens = tokens
        self._issuers = issuers
        self._issued = issued

    @property
    def announced(self) -> Mapping[str, SecurityScheme]:
        """Tokens of our own, each issuer that is discovered, and all other issuers as one."""
        schemes: dict[str, SecurityScheme] = {}
        if self._tokens:
            schemes["bearer"] = _http("Bearer", "A token given to you by whoever runs the agent.")
        discovered = [issuer for issuer in self._issuers if issuer.discovered]
        for number, issuer in enumerate(discovered, start=1):
            oidc = OpenIdConnectSecurityScheme(open_id_connect_url=issuer.configuration_url)
            schemes["oidc" if number == 1 else f"oidc{number}"] = SecurityScheme(
                open_id_connect_security_scheme=oidc
            )
        if len(discovered) < len(self._issuers):
            schemes["jwt"] = _http("Bearer", "A token of an issuer that the agent trusts.", "JWT")
        return schemes

    def principal(self, credential: str) -> Principal:
        """Who bears this token."""
        if not TOKEN68.fullmatch(credential):
            raise NobodyError
        try:
            token = found(self._tokens, credential)
        except NobodyError:
            if self._issued is None:
                raise
            return self._of_an_issuer(self._issued, credential)
        return named(token.name, token.scopes)

    @staticmethod
    def _of_an_issuer(issued: IssuedTokens, credential: str) -> Principal:
        try:
            proven = issued.verify(credential)
        except UnbelievedTokenError as error:
            raise NobodyError from error
        return Principal(
            proven.issuer,
            proven.subject,
            claims=proven.claims,
            scopes=proven.scopes,
            tenant=proven.tenant,
            expires=proven.expires,
        )


class ApiKeys:
    """Keys in a header of their own. No scheme is registered for that: a challenge says where a key goes."""

    word = ""

    def __init__(self, name: str, keys: Sequence[Token]) -> None:
        self.header = name.lower()
        self.challenge = f'ApiKey realm="{REALM}", header="{name}"'
        self._name = name
        self._keys = keys

    @property
    def announced(self) -> Mapping[str, SecurityScheme]:
        """A key in a header."""
        scheme = APIKeySecurityScheme(
            location="header", name=self._name, description="A key given to you by whoever runs the agent."
        )
        return {"apiKey": SecurityScheme(api_key_security_scheme=scheme)}

    def principal(self, credential: str) -> Principal:
        """Who has this key."""
        if not VISIBLE.fullmatch(credential):
            raise NobodyError
        key = found(self._keys, credential)
        return named(key.name, key.scopes)


def _http(scheme: str, description: str, bearer_format: str | None = None) -> SecurityScheme:
    return SecurityScheme(
        http_auth_security_scheme=HTTPAuthSecurityScheme(
            scheme=scheme, description=description, bearer_format=bearer_format
        )
    )
