"""The access document: who may call, by which scheme, and what for, as a deployer writes it in JSON.

Everything about it is refused that is unknown, contradicts itself or is weak, by the name of the member and
never with its value: most values are secrets, or of use to somebody who wants to guess one.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Annotated, Any, NoReturn, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from a2a_serverless.bindings.caller.access import EVERY_OPERATION, Access
from a2a_serverless.bindings.caller.basic import Basic
from a2a_serverless.bindings.caller.issuers import IssuerEntry
from a2a_serverless.bindings.caller.members import (
    LOOPBACK,
    ApiKeyEntries,
    LoginEntry,
    Member,
    Scopes,
    Switch,
    TokenEntry,
    refused,
)
from a2a_serverless.bindings.caller.schemes import ApiKeys, Bearer, Scheme, Token
from a2a_serverless.ports.access import IssuedTokens, TrustedIssuer
from a2a_serverless.protocol.operations import OPERATION_OF_METHOD

MOST_BYTES = 256 * 1024
SHOWN = re.compile(r"[A-Za-z0-9_*]{1,40}")
"""Names of members that are repeated when they are refused."""

Verifier = Callable[[Sequence[TrustedIssuer]], IssuedTokens]
"""Makes what verifies the tokens of these issuers."""


class AccessDocumentError(Exception):
    """The document cannot be gone by; the message names every member at fault, and no value."""


def _operation(method: str) -> str:
    if method != EVERY_OPERATION and method not in OPERATION_OF_METHOD:
        raise refused("must be an operation of the protocol, such as SendMessage, or *")
    return method


class AccessDocument(Member):
    """The whole document."""

    bearer: tuple[TokenEntry, ...] = ()
    basic: tuple[LoginEntry, ...] = ()
    api_key: ApiKeyEntries | None = None
    jwt: tuple[IssuerEntry, ...] = ()
    required_scopes: dict[Annotated[str, AfterValidator(_operation)], Scopes] = Field(default_factory=dict)
    public_card: Switch = True
    public_health: Switch = True

    @classmethod
    def read(cls, text: str, *, loopback: bool = False) -> Self:
        """Read the JSON of a document; `loopback` lets issuers be on this machine.

        Raises:
            AccessDocumentError: it cannot be gone by.
        """
        try:
            return cls.model_validate(_parsed(text), context={LOOPBACK: loopback})
        except ValidationError as error:
            raise AccessDocumentError(_faults(error)) from None

    @model_validator(mode="after")
    def _credentials_name_one_principal(self) -> Self:
        lists = {
            "bearer": [(each.sha256, each.name) for each in self.bearer],
            "apiKey.keys": [(each.sha256, each.name) for each in (self.api_key.keys if self.api_key else ())],
        }
        for member, entries in lists.items():
            if any(count > 1 for count in Counter(sha256 for sha256, _ in set(entries)).values()):
                raise refused(f"{member} must not give one sha256 to two names")
        return self

    @model_validator(mode="after")
    def _issuers_are_different(self) -> Self:
        if len({each.issuer for each in self.jwt}) < len(self.jwt):
            raise refused("jwt must not name an issuer twice")
        return self

    def access(self, tokens: Iterable[Token], verifier: Verifier) -> Access:
        """Who may come in; `tokens` are bearer tokens that were named elsewhere."""
        return Access(
            schemes=tuple(self._schemes(tuple(tokens), verifier)),
            required_scopes=self.required_scopes,
            public_card=self.public_card,
            public_health=self.public_health,
        )

    def _schemes(self, tokens: Sequence[Token], verifier: Verifier) -> Iterable[Scheme]:
        bearer = (*tokens, *(each.token() for each in self.bearer))
        issuers = tuple(each.trusted() for each in self.jwt)
        if bearer or issuers:
            yield Bearer(bearer, issuers, verifier(issuers) if issuers else None)
        if self.basic:
            yield Basic([each.login() for each in self.basic])
        if self.api_key is not None:
            yield ApiKeys(self.api_key.header, [each.token() for each in self.api_key.keys])


def _parsed(text: str) -> Any:  # noqa: ANN401  whatever JSON holds
    if len(text.encode(errors="replace")) > MOST_BYTES:
        raise AccessDocumentError(f"it must not exceed {MOST_BYTES} bytes")
    try:
        document = json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_no_number)
        json.dumps(document, ensure_ascii=False).encode()  # half characters can be escaped, and never written
    except (ValueError, RecursionError):
        raise AccessDocumentError("it must be JSON, in which no member stands twice") from None
    return document


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member twice")
    return members


def _no_number(_: str) -> NoReturn:
    raise ValueError("no JSON")


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{_path(each['loc'])} {_why(each['type'], each['msg'])}".strip() for each in found)


def _path(location: Sequence[int | str]) -> str:
    """Where in the document: `bearer[0].sha256`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in location)
    return "".join(chain(steps)).removeprefix(".")


def _shown(step: str) -> str:
    return step if SHOWN.fullmatch(step) else "…"


def _why(kind: str, message: str) -> str:
    return {"missing": "is missing", "extra_forbidden": "is not known"}.get(kind, message)
