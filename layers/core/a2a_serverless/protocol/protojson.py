"""ProtoJSON for pydantic models: how a message is read from and printed as JSON (specification 1.4, 5.5).

Two rules carry everything. A field without a default is always printed; any other is printed when it differs
from its default, which is protobuf's "unset". And a JSON null is an absent field, except where null is itself
a value. Knows no A2A object, only the scalars they are made of, which live in `scalars`.
"""

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from a2a_serverless.protocol.errors import FieldViolation, InvalidParamsError, JSONParseError
from a2a_serverless.protocol.scalars import refused

MAX_VIOLATIONS = 20

MAX_NUMBER = 400
"""Characters of a number. The largest double has 309 digits; converting more would take ever longer."""

NO_DOUBLE = "A number of the JSON is not a finite double"

# What a caller reads for pydantic's own findings; the texts of `refused` are used as they are.
DESCRIPTIONS: Mapping[str, str] = {
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "missing": "is required",
    "model_type": "must be an object",
    "string_too_short": "is required",
    "string_type": "must be a string",
    "string_unicode": "must be valid Unicode, without lone surrogates",
    "tuple_type": "must be an array",
}


@cache
def json_name(name: str) -> str:
    """The lowerCamelCase spelling of a field."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


class ProtoModel(BaseModel):
    """An immutable protobuf message.

    Reading takes lowerCamelCase and snake_case names and ignores unknown fields. Constructing one in Python
    checks the same rules but raises pydantic's ValidationError: what a caller sent goes through `from_json`
    or `from_dict`.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=json_name,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
        hide_input_in_errors=True,
        polymorphic_serialization=True,
    )

    null_is_a_value: ClassVar[frozenset[str]] = frozenset()
    """Fields of type google.protobuf.Value, for which null is not absence."""

    empty_when_absent: ClassVar[Mapping[str, object]] = {}
    """Required fields that may be empty, with their empty value: other printers leave those out."""

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        """Read a message from JSON text.

        Raises JSONParseError for what is not JSON, InvalidParamsError for what is not this message.
        """
        return cls.from_dict(parse_json(text))

    @classmethod
    def from_dict(cls, value: object) -> Self:
        """Read a message from parsed JSON; raises InvalidParamsError, which names each offending field."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise InvalidParamsError(violations=_violations(error)) from None

    def to_json(self) -> str:
        """Print the message as ProtoJSON text."""
        return self.model_dump_json(exclude_defaults=True)

    def to_dict(self) -> dict[str, Any]:
        """Print the message as ProtoJSON, not yet text."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        present: dict[str, object] = {}
        for name, member in value.items():  # names are strings: JSON has no others
            if member is None and name not in cls.null_is_a_value:
                continue
            spelled = json_name(name) if "_" in name and name in cls.__pydantic_fields__ else name
            if spelled in present:
                raise refused(f"must have {spelled} once, in one spelling")
            present[spelled] = member
        for name, empty in cls.empty_when_absent.items():
            present.setdefault(json_name(name), empty)
        return present


class OneOf(ProtoModel):
    """A message of which exactly one alternative is set."""

    alternatives: ClassVar[tuple[str, ...]]

    def which(self) -> str:
        """The name of the alternative that is set."""
        return self._set_alternatives()[0]

    def _set_alternatives(self) -> list[str]:
        nulls = self.null_is_a_value & self.model_fields_set
        return [name for name in self.alternatives if name in nulls or getattr(self, name) is not None]

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self._set_alternatives()) != 1:
            raise refused("must have exactly one of " + ", ".join(map(json_name, self.alternatives)))
        return self


def parse_json(text: bytes | str) -> Any:  # noqa: ANN401  JSON is any of six types
    """Parse JSON text, strictly: UTF-8, no duplicate names, no NaN or Infinity, no number beyond a double.

    A repeated name is refused because two readers of one body could see two different requests. Raises
    JSONParseError, which says so where the text is JSON.
    """
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        return json.loads(
            decoded,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except (ValueError, RecursionError):
        raise JSONParseError from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JSONParseError("An object of the JSON has two members of one name")
    return members


def _constant(_: str) -> NoReturn:
    raise JSONParseError(NO_DOUBLE)


def _float(text: str) -> float:
    number = float(_number(text))
    if math.isinf(number):
        raise JSONParseError(NO_DOUBLE)
    return number


def _integer(text: str) -> int:
    return int(_number(text))


def _number(text: str) -> str:
    if len(text) > MAX_NUMBER:
        raise JSONParseError(f"A number of the JSON has more than {MAX_NUMBER} characters")
    return text


def _violations(error: ValidationError) -> list[FieldViolation]:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [FieldViolation(_path(each["loc"]), _description(each)) for each in found[:MAX_VIOLATIONS]]


def _path(location: tuple[int | str, ...]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def _description(details: ErrorDetails) -> str:
    return DESCRIPTIONS.get(details["type"], details["msg"])
