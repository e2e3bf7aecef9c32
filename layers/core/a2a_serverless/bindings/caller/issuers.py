"""Trusted issuers, as an access document names them.

What makes a token weak is refused here, before there is one: no algorithm at all, a shared secret where
others hold public keys, a secret too short, nobody it must be for.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from a2a_serverless.bindings.caller.members import (
    LOOPBACK,
    Claim,
    Member,
    Text,
    WebAddress,
    refused,
)
from a2a_serverless.bindings.caller.principal import OUR_OWN
from a2a_serverless.ports.access import TrustedIssuer, is_fetchable

SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""Least length of a shared secret (RFC 7518, 3.2)."""

PUBLIC_KEY = frozenset(
    {f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)} | {"EdDSA"}
)
KEY_TYPES = frozenset({"RSA", "EC", "OKP"})
PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Members of a key that only its owner may know (RFC 7518, 6)."""

MOST_KEYS = 100


def _one_or_several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _algorithm(name: str) -> str:
    if name not in PUBLIC_KEY | SECRET_BYTES.keys():
        raise refused(f"must be one of {', '.join(sorted(PUBLIC_KEY | SECRET_BYTES.keys()))}")
    return name


def _ours(issuer: str) -> str:
    if issuer in OUR_OWN or not issuer.isprintable():
        raise refused("must be the issuer's name as it stands in its tokens, and none of our own")
    return issuer


def _public(key: Mapping[str, Any]) -> Mapping[str, Any]:
    if key.get("kty") not in KEY_TYPES:
        raise refused(f"must be a public key: kty must be one of {', '.join(sorted(KEY_TYPES))}")
    if PRIVATE & key.keys():
        raise refused("must be a public key, without private members")
    return key


PublicKey = Annotated[Mapping[str, Any], AfterValidator(_public)]


class KeySet(Member):
    """Public keys as RFC 7517 lists them."""

    keys: Annotated[tuple[PublicKey, ...], Field(min_length=1, max_length=MOST_KEYS)]


class IssuerEntry(Member):
    """An issuer whose tokens count, and where its keys come from."""

    issuer: Annotated[Text, AfterValidator(_ours)]
    audience: Annotated[tuple[Text, ...], BeforeValidator(_one_or_several), Field(min_length=1)]
    algorithms: Annotated[tuple[Annotated[str, AfterValidator(_algorithm)], ...], Field(min_length=1)]
    jwks_uri: WebAddress | None = None
    jwks: KeySet | None = None
    secret: Annotated[Text | None, Field(repr=False)] = None
    leeway_seconds: Annotated[int, Field(ge=0, le=300, strict=True)] = 60
    audience_claim: Claim = "aud"
    subject_claim: Claim = "sub"
    tenant_claim: Claim | None = None
    scope_claim: Claim = "scope"
    claims: Annotated[tuple[Claim, ...], Field(max_length=50)] = ()

    @model_validator(mode="after")
    def _one_source_of_keys(self, info: ValidationInfo) -> "IssuerEntry":
        given = [each for each in (self.jwks_uri, self.jwks, self.secret) if each is not None]
        if len(given) > 1:
            raise refused("must have one of jwksUri, jwks and secret, or none for the issuer's own")
        loopback = bool((info.context or {}).get(LOOPBACK))
        if not given and ("?" in self.issuer or not is_fetchable(self.issuer, loopback=loopback)):
            raise refused(
                "must have jwksUri, jwks or secret, unless its issuer is an https URL to find them by"
            )
        return self

    @model_validator(mode="after")
    def _one_family(self) -> "IssuerEntry":
        """A public key is never somebody's shared secret, and the other way round."""
        shared = SECRET_BYTES.keys() & set(self.algorithms)
        if self.secret is None and shared:
            raise refused("algorithms must not be HS* where keys are public")
        if self.secret is not None and shared != set(self.algorithms):
            raise refused("algorithms must be HS* where there is a secret")
        least = max((SECRET_BYTES[algorithm] for algorithm in shared), default=0)
        if self.secret is not None and len(self.secret.encode()) < least:
            raise refused(f"secret must have at least {least} bytes")
        return self

    def trusted(self) -> TrustedIssuer:
        """As tokens are held to it."""
        return TrustedIssuer(
            issuer=self.issuer,
            audiences=self.audience,
            algorithms=self.algorithms,
            jwks_uri=self.jwks_uri or "",
            jwks=None if self.jwks is None else self.jwks.keys,
            secret=(self.secret or "").encode(),
            leeway=timedelta(seconds=self.leeway_seconds),
            audience_claim=self.audience_claim,
            subject_claim=self.subject_claim,
            tenant_claim=self.tenant_claim or "",
            scope_claim=self.scope_claim,
            claims=self.claims,
        )
