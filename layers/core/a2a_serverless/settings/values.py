"""How the text of one variable is read into a value, or refused in words that do not repeat it.

Knows no variable's name: what is read how is said where the fields are.
"""

import re
from datetime import timedelta
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol.extensions import Extension, PermissionMode
from a2a_serverless.tasks.log import PushKind

REFERENCE = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
KEPT_VALUE = re.compile(r"(secretsmanager|ssm|inline):(?=\S)")
TOKEN = re.compile(r"([A-Za-z0-9_.-]{1,64}):([0-9a-f]{64})")
RATE = re.compile(r"([a-z]+)=([1-9]\d{0,6})/([1-9]\d{0,4})s(?: burst ([1-9]\d{0,6}))?", re.ASCII)
KMS_KEY = re.compile(r"[A-Za-z0-9:/_-]{1,2048}")
MEDIA_TYPE = re.compile(r"\*/\*|[A-Za-z0-9!#$&^_.+-]{1,127}/([A-Za-z0-9!#$&^_.+-]{1,127}|\*)")
KEY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

TURN_EXTENSIONS = frozenset({Extension.TOOLS, Extension.USAGE, Extension.THINKING, Extension.ARTIFACTS})


class TokenHash(NamedTuple):
    """Whose bearer token it is, and the SHA-256 of the token."""

    name: str
    sha256: bytes


def wrong(text: str) -> PydanticCustomError:
    """What pydantic is told is wrong with a value."""
    return PydanticCustomError("setting", "{text}", {"text": text})


def switch(on: str, off: str) -> BeforeValidator:
    """A variable that is one of two words, and true for the first."""

    def read(value: object) -> object:
        if value not in (on, off, True, False):
            raise wrong(f"must be {on} or {off}")
        return value in (on, True)

    return BeforeValidator(read)


def reference(text: str) -> str:
    """`module:attribute`, or nothing."""
    if text and not REFERENCE.fullmatch(text):
        raise wrong("must be module:attribute")
    return text


def required(text: str) -> str:
    """Anything but nothing."""
    if not text:
        raise wrong("must not be empty")
    return text


def address(text: str) -> str:
    """An absolute URL that paths can be put behind; an empty one is left to the request's own address."""
    try:
        parts = urlsplit(text)
    except ValueError:
        raise wrong("must be a URL") from None
    whole = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    if text and (not whole or "?" in text or "#" in text):
        raise wrong("must be an absolute http or https URL without credentials, query or fragment")
    return text.rstrip("/")


def kept_value(text: str) -> str:
    """Where a value lies: a secret, a parameter, or the text itself."""
    if text and not KEPT_VALUE.match(text):
        raise wrong("must be secretsmanager:<name or ARN>, ssm:<name> or inline:<text>")
    return text


def none_when_empty(value: object) -> object:
    """A variable that is there and empty says nothing."""
    return None if value == "" else value


def tokens(text: str) -> tuple[TokenHash, ...]:
    """`name:sha256hex,...`; a name may come twice, so that a token can be replaced without a gap."""
    found_tokens = []
    for number, entry in enumerate(text.split(",") if text.strip() else (), start=1):
        found = TOKEN.fullmatch(entry.strip())
        if found is None:
            raise wrong(f"entry {number} must be name:sha256 in lower-case hexadecimal")
        found_tokens.append(TokenHash(found[1], bytes.fromhex(found[2])))
    return tuple(found_tokens)


def kms_keys(value: object) -> object:
    """`key,...`: ids, ARNs or aliases of keys in KMS."""
    if not isinstance(value, str):
        return value
    keys = tuple(key.strip() for key in value.split(",")) if value.strip() else ()
    if not all(map(KMS_KEY.fullmatch, keys)):
        raise wrong("must be a comma list of ids, ARNs or aliases of KMS keys")
    return keys


def key_name(text: str) -> str:
    """A key's name as verifiers look it up."""
    if text and not KEY_NAME.fullmatch(text):
        raise wrong("must be a name of letters, digits, dots, hyphens and underscores")
    return text


def rates(value: object) -> object:
    """`send=10/60s burst 20,read=100/60s`: how often one caller may call what; by default all at once."""
    if not isinstance(value, str):
        return value
    limits: dict[OperationClass, RateLimit] = {}
    for number, entry in enumerate(value.split(",") if value.strip() else (), start=1):
        found = RATE.fullmatch(entry.strip())
        if found is None or found[1] not in set(OperationClass):
            raise wrong(f"entry {number} must be {'|'.join(OperationClass)}=CALLS/SECONDSs[ burst CALLS]")
        operations = OperationClass(found[1])
        if operations in limits:
            raise wrong(f"entry {number} limits {operations} again")
        period = timedelta(seconds=int(found[3]))
        limits[operations] = RateLimit(int(found[2]), period, burst=int(found[4] or found[2]))
    return limits


def kinds(value: object) -> object:
    """`states,artifacts,...`: what webhooks are told of."""
    if not isinstance(value, str):
        return value
    named = [kind.strip() for kind in value.split(",")]
    if not set(named) <= set(PushKind):
        raise wrong(f"must be a comma list of {', '.join(PushKind)}")
    return frozenset(map(PushKind, named))


def media_types(value: object) -> object:
    """`image/png,audio/*,...`: media types, or all of a kind."""
    if not isinstance(value, str):
        return value
    types = tuple(each.strip() for each in value.split(",")) if value.strip() else ()
    if not all(map(MEDIA_TYPE.fullmatch, types)):
        raise wrong("must be a comma list of media types such as image/png or audio/*")
    return types


def permission_mode(value: object) -> object:
    """`ask`, `allow` or `deny`."""
    if value not in set(PermissionMode):
        raise wrong(f"must be {', '.join(PermissionMode)}")
    return PermissionMode(str(value))


def extensions(value: object) -> object:
    """`tools,usage,...`: what callers may be told beyond the specification."""
    if not isinstance(value, str):
        return value
    named = [name.strip() for name in value.split(",")] if value.strip() else []
    if not set(named) <= TURN_EXTENSIONS:
        raise wrong(f"must be a comma list of {', '.join(sorted(TURN_EXTENSIONS))}")
    return frozenset(map(Extension, named))


Required = Annotated[str, AfterValidator(required)]
Reference = Annotated[str, AfterValidator(reference)]
