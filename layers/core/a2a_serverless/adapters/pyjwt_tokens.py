"""Tokens of trusted issuers (RFC 7515, 7519, 8725), their signatures checked by PyJWT.

Of a token only its issuer and the name of its key are taken at its word, and both only choose among what the
deployment trusts already; keys or addresses that a token brings along are not looked at. Which algorithm a
key is for is decided by the key, so that a public key is never taken for a shared secret.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from jwt.algorithms import get_default_algorithms

from a2a_serverless.adapters.issuer_keys import IssuerKeys
from a2a_serverless.adapters.verification_keys import VerificationKey, readable, shared_secret
from a2a_serverless.ports import Clock
from a2a_serverless.ports.access import (
    TrustedIssuer,
    UnbelievedTokenError,
    UnusableKeysError,
    VerifiedToken,
)
from a2a_serverless.protocol.limits import RESERVED_TENANTS, TENANT

MOST = 16 * 1024
"""Characters of a token."""

COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)", re.ASCII)
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""What a token may be called (RFC 9068, 2.1): one for another purpose says so."""

NOT_UNDERSTOOD = frozenset({"crit", "b64", "enc", "zip", "cty"})
"""Headers that change what is signed or how it is to be read; nothing here does either."""

MOST_SUBJECT = 512
ALGORITHMS = get_default_algorithms()
LAST = 10**11
"""Seconds since 1970 that no time in a token lies beyond: more is a mistake, such as milliseconds."""


@dataclass(frozen=True, slots=True)
class _Token:
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes

    @classmethod
    def read(cls, text: str) -> "_Token":
        parts = COMPACT.fullmatch(text) if len(text) <= MOST else None
        if parts is None:
            raise UnbelievedTokenError("not a signed token in compact form")
        header, claims, signature = (_decoded(part) for part in parts.groups())
        signed = text.rpartition(".")[0].encode("ascii")
        return cls(_object(header), _object(claims), signed, signature)

    def algorithm(self) -> str:
        """What it says it is signed with, once nothing else in its header stands against it."""
        typ = self.header.get("typ")
        if NOT_UNDERSTOOD & self.header.keys():
            raise UnbelievedTokenError("a header that is not understood")
        if (typ.lower() if isinstance(typ, str) else typ) not in TYPES:
            raise UnbelievedTokenError("a token for another purpose")
        algorithm = self.header.get("alg")
        if not isinstance(algorithm, str):
            raise UnbelievedTokenError("no algorithm")
        return algorithm

    def kid(self) -> str | None:
        """The name of its key, if it says it."""
        kid = self.header.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise UnbelievedTokenError("no name of a key")
        return kid


class PyjwtTokens:
    """Verifies tokens; safe for many threads.

    Raises, where it is made:
        UnusableKeysError: keys that were given for an issuer verify nothing it may sign.
    """

    def __init__(
        self,
        issuers: Sequence[TrustedIssuer],
        fetched: IssuerKeys[Sequence[VerificationKey]],
        clock: Clock,
    ) -> None:
        self._issuers = {issuer.issuer: issuer for issuer in issuers}
        self._given = {issuer.issuer: keys for issuer in issuers if (keys := _given(issuer)) is not None}
        self._fetched = fetched
        self._clock = clock

    def verify(self, token: str) -> VerifiedToken:
        """What the token proves."""
        read = _Token.read(token)
        algorithm = read.algorithm()
        named = read.claims.get("iss")
        issuer = self._issuers.get(named) if isinstance(named, str) else None
        if issuer is None or algorithm not in issuer.algorithms:
            raise UnbelievedTokenError("not an issuer, or not an algorithm, that is trusted")
        self._check_signature(read, issuer, algorithm)
        return _proven(issuer, read.claims, self._clock.now())

    def _check_signature(self, token: _Token, issuer: TrustedIssuer, algorithm: str) -> None:
        kid = token.kid()
        given = self._given.get(issuer.issuer)
        known = self._fetched.current(issuer) if given is None else given
        if _signed(token, known, kid, algorithm):
            return
        if given is None and (kid is None or kid not in {key.kid for key in known}):
            newer = self._fetched.newer(issuer, known)
            if newer is not known and _signed(token, newer, kid, algorithm):
                return
        raise UnbelievedTokenError("no key of the issuer's signed this")


def _signed(token: _Token, keys: Sequence[VerificationKey], kid: str | None, algorithm: str) -> bool:
    """Whether the key that is named signed, or any, where none is."""
    verifies = ALGORITHMS[algorithm].verify
    return any(verifies(token.signed, key.key, token.signature) for key in keys if key.may_be(kid, algorithm))


def _given(issuer: TrustedIssuer) -> Sequence[VerificationKey] | None:
    """The keys that stand in the deployment's own document; None when they are to be fetched."""
    if issuer.secret:
        keys = shared_secret(issuer.secret, issuer.algorithms)
    elif issuer.jwks is not None:
        keys = readable(issuer.jwks)
    else:
        return None
    if not any(key.algorithms & set(issuer.algorithms) for key in keys):
        raise UnusableKeysError(issuer.issuer)
    return keys


def _proven(issuer: TrustedIssuer, claims: Mapping[str, Any], now: datetime) -> VerifiedToken:
    """What claims prove whose signature holds (RFC 7519, 4.1)."""
    expires = _time(claims, "exp")
    if expires is None or now.timestamp() >= expires + issuer.leeway.total_seconds():
        raise UnbelievedTokenError("expired")
    for name in ("nbf", "iat"):
        since = _time(claims, name)
        if since is not None and now.timestamp() < since - issuer.leeway.total_seconds():
            raise UnbelievedTokenError("not valid yet")
    if not set(_texts(claims.get(issuer.audience_claim))) & set(issuer.audiences):
        raise UnbelievedTokenError("for somebody else")
    subject = _text(claims.get(issuer.subject_claim))
    if not subject or len(subject) > MOST_SUBJECT:
        raise UnbelievedTokenError("of nobody")
    told = {name: _told(claims[name]) for name in issuer.claims if name in claims}
    return VerifiedToken(
        issuer=issuer.issuer,
        subject=subject,
        expires=datetime.fromtimestamp(expires, UTC) + issuer.leeway,
        scopes=frozenset(_scopes(claims.get(issuer.scope_claim))),
        tenant=_tenant(claims.get(issuer.tenant_claim)) if issuer.tenant_claim else None,
        claims={**told, "iss": issuer.issuer, "sub": subject},
    )


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LAST:
        raise UnbelievedTokenError(f"{name} is no time")
    return float(value)


def _text(value: object) -> str:
    """A text that can be written down."""
    if not isinstance(value, str):
        raise UnbelievedTokenError("no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnbelievedTokenError("no text") from None
    return value


def _texts(value: object) -> Sequence[str]:
    return [_text(each) for each in value] if isinstance(value, list) else [_text(value)]


def _scopes(value: object) -> Sequence[str]:
    if value is None:
        return ()
    return _texts(value) if isinstance(value, list) else _text(value).split()


def _tenant(value: object) -> str:
    """The tenant of the caller; a token that must name one and does not lets nobody in anywhere."""
    tenant = _text(value)
    if not TENANT.fullmatch(tenant) or tenant in RESERVED_TENANTS:
        raise UnbelievedTokenError("of no tenant")
    return tenant


def _told(value: object) -> str:
    """A claim as an agent is told of it: text as it is, anything else as JSON."""
    return _text(value) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _decoded(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise UnbelievedTokenError("not base64url") from None


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        members = json.loads(text.decode(), object_pairs_hook=_unambiguous, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UnbelievedTokenError("not JSON") from None
    if not isinstance(members, dict):
        raise UnbelievedTokenError("not an object")
    return members


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """No two parsers may read a token differently (RFC 7515, 4; RFC 7519, 4)."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member twice")
    return members


def _no_number(_: str) -> NoReturn:
    raise ValueError("no JSON")
