"""The members of an access document: what each may be, and what it makes.

A member is refused in words that say what it must be and never what it was.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from a2a_serverless.bindings.caller.basic import HashedPassword, Login, ScryptPassword
from a2a_serverless.bindings.caller.schemes import Token
from a2a_serverless.ports.access import is_fetchable

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
HASH = re.compile(r"[0-9a-f]{64}")
HASH_OF_NOTHING = sha256(b"").digest()
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,128}")
CLAIM = re.compile(r"[^\x00-\x20\x7f]{1,128}")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
MEANT_FOR_ELSE = re.compile(
    r"a2a-.*|x-a2a-.*|x-forwarded-.*|x-amz.*|accept.*|authorization|connection|content-.*|cookie|expect"
    r"|forwarded|host|if-.*|keep-alive|last-event-id|origin|referer|te|trailer|transfer-encoding|upgrade"
    r"|user-agent|via",
    re.IGNORECASE,
)
"""Headers that mean something already, or that others add on the way."""

LOOPBACK = "loopback"
"""Of the validation's context: whether addresses on this machine will do."""

T = TypeVar("T")


def refused(text: str) -> PydanticCustomError:
    """A member that cannot be, and why."""
    return PydanticCustomError("access", "{text}", {"text": text})


def _matching(pattern: re.Pattern[str], text: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise refused(text)
        return value

    return AfterValidator(check)


def _from_text(read: Callable[[str], T]) -> Callable[[object], T]:
    """Read a text by `read`, whose ValueError says what it must be."""

    def check(value: object) -> T:
        if not isinstance(value, str):
            raise refused("must be text")
        try:
            return read(value)
        except ValueError as error:
            raise refused(str(error)) from None

    return check


def _hash(text: str) -> bytes:
    if not HASH.fullmatch(text):
        raise ValueError("must be a SHA-256 as 64 digits of lower-case hexadecimal")
    digest = bytes.fromhex(text)
    if digest == HASH_OF_NOTHING:
        raise ValueError("is the hash of nothing")
    return digest


def _header(text: str) -> str:
    if MEANT_FOR_ELSE.fullmatch(text):
        raise refused("is a header that has another meaning")
    return text


def _web_address(text: str, info: ValidationInfo) -> str:
    if not is_fetchable(text, loopback=bool((info.context or {}).get(LOOPBACK))):
        raise refused("must be an https URL without credentials or fragment")
    return text


Text = Annotated[str, Field(min_length=1, max_length=2048)]
Switch = Annotated[bool, Field(strict=True)]
Name = Annotated[str, _matching(NAME, "must be 1 to 64 characters of A-Z a-z 0-9 _ . -")]
Hash = Annotated[bytes, BeforeValidator(_from_text(_hash))]
Scrypt = Annotated[ScryptPassword, PlainValidator(_from_text(ScryptPassword.read))]
Scope = Annotated[str, _matching(SCOPE, "must be a scope: visible ASCII without quotes and backslashes")]
Scopes = frozenset[Scope]
Claim = Annotated[str, _matching(CLAIM, "must be the name of a claim")]
Header = Annotated[str, _matching(HEADER, "must be the name of a header"), AfterValidator(_header)]
WebAddress = Annotated[Text, AfterValidator(_web_address)]


class Member(BaseModel):
    """An object of the document; what it does not know it refuses."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, alias_generator=to_camel
    )


class TokenEntry(Member):
    """A bearer token or an API key: whose it is, its SHA-256, what it opens."""

    name: Name
    sha256: Annotated[Hash, Field(repr=False)]
    scopes: Scopes = frozenset()

    def token(self) -> Token:
        """As schemes compare it."""
        return Token(self.name, self.sha256, self.scopes)


class LoginEntry(Member):
    """A user name and what is known of its password."""

    name: Name
    username: Annotated[
        str, _matching(re.compile(r"[^:\x00-\x1f\x7f]{1,128}"), "must be a name without colons")
    ]
    scrypt: Annotated[Scrypt | None, Field(repr=False)] = None
    sha256: Annotated[Hash | None, Field(repr=False)] = None
    scopes: Scopes = frozenset()

    @model_validator(mode="after")
    def _one_password(self) -> "LoginEntry":
        if (self.scrypt is None) == (self.sha256 is None):
            raise refused("must have either scrypt or sha256")
        return self

    def login(self) -> Login:
        """As the scheme compares it."""
        if self.scrypt is not None:
            return Login(self.name, self.username, self.scrypt, self.scopes)
        return Login(self.name, self.username, HashedPassword(self.sha256 or b""), self.scopes)


class ApiKeyEntries(Member):
    """The header that keys come in, and the keys."""

    header: Header = "X-API-Key"
    keys: Annotated[tuple[TokenEntry, ...], Field(min_length=1)]
