"""The scalar types of ProtoJSON: what each accepts from JSON and how each is printed.

Strict where a lenient reading would change a value (a number for a string, bad base64, epoch seconds for a
timestamp), generous only where ProtoJSON is (enums by name or number, integers as decimal strings). Knows no
message type.
"""

import binascii
import math
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from annotated_types import MinLen
from pydantic import AfterValidator, BeforeValidator, PlainSerializer, PlainValidator, Strict
from pydantic_core import PydanticCustomError

MAX_DEPTH = 100
"""Levels of nesting in a Struct or Value, so that no reader of ours is made to recurse deeper."""

EXACT_INTEGER = 2**53
"""Up to here every integer is a double, so it can be kept as an int and printed without an exponent."""

DECIMAL = re.compile(r"-?[0-9]{1,10}")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT[0-2]\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:[0-5]\d)", re.ASCII)


def refused(description: str) -> PydanticCustomError:
    """The reason why a field is refused, in words for the caller."""
    return PydanticCustomError("protojson", "{description}", {"description": description})


def _int32(value: object) -> int:
    number = int(value) if isinstance(value, str) and DECIMAL.fullmatch(value) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise refused("must be a 32-bit integer")
    if not -(2**31) <= number < 2**31 or number != int(number):
        raise refused("must be a 32-bit integer")
    return int(number)


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or not value.isascii() or _mixes_alphabets(value):
        raise refused("must be base64")
    padding = "" if value.endswith("=") else "=" * (-len(value) % 4)
    try:
        return binascii.a2b_base64(value.replace("-", "+").replace("_", "/") + padding, strict_mode=True)
    except binascii.Error:
        raise refused("must be base64") from None


def _mixes_alphabets(text: str) -> bool:
    return ("+" in text or "/" in text) and ("-" in text or "_" in text)


def _timestamp(value: object) -> datetime:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) and RFC3339.fullmatch(value) else value
        if isinstance(at, datetime) and at.tzinfo is not None:
            return at.astimezone(UTC).replace(microsecond=at.microsecond // 1000 * 1000)
    except (ValueError, OverflowError):
        pass  # no such day, or outside the years of a datetime
    raise refused("must be an RFC 3339 timestamp with an offset, such as 2026-01-31T10:30:00.000Z")


def print_timestamp(at: datetime) -> str:
    """UTC with exactly three decimals, `YYYY-MM-DDTHH:mm:ss.sssZ` (5.6.1)."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(value: object, depth: int = 0) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return _number(value)
    if depth == MAX_DEPTH:
        raise refused(f"must not be nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list | tuple):
        return [_value(each, depth + 1) for each in value]
    return _struct(value, depth)


def _struct(value: object, depth: int = 0) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise refused("must be a JSON object" if depth == 0 else "must be JSON")
    return {_text(name): _value(each, depth + 1) for name, each in value.items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise refused("must be JSON, whose names are strings")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise refused("must be valid Unicode, without lone surrogates") from None
    return value


def _number(value: float) -> float:
    if isinstance(value, int) and abs(value) <= EXACT_INTEGER:
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise refused("must hold only numbers that are finite doubles")
    return int(number) if abs(number) <= EXACT_INTEGER and number.is_integer() else number


T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def enum_reader(numbers: Mapping[E, int]) -> Callable[[object], E]:
    """Read an enum by its name or its proto number; an unknown one is refused with the names it could be."""
    by_name = {member.value: member for member in numbers}
    by_number = {number: member for member, number in numbers.items()}

    def read(value: object) -> E:
        if isinstance(value, str) and value in by_name:
            return by_name[value]
        if isinstance(value, int | float) and not isinstance(value, bool) and value in by_number:
            return by_number[int(value)]
        raise refused("must be one of " + ", ".join(by_name))

    return read


def _not_empty(elements: tuple[T, ...]) -> tuple[T, ...]:
    if not elements:
        raise refused("must have at least one element")
    return elements


Text = Annotated[str, Strict(), MinLen(0)]
"""A string. Without a constraint on its length pydantic would not look inside: lone surrogates would pass."""

RequiredText = Annotated[Text, MinLen(1)]
OptionalText = Annotated[Text | None, AfterValidator(lambda text: text or None)]
"""A proto3 string without presence: empty on the wire means absent."""

NotEmpty = AfterValidator(_not_empty)
"""For a repeated field that must have an element."""

Boolean = Annotated[bool, Strict()]
Int32 = Annotated[int, BeforeValidator(_int32)]
Bytes = Annotated[
    bytes, BeforeValidator(_bytes), PlainSerializer(lambda raw: b64encode(raw).decode(), when_used="json")
]
Timestamp = Annotated[
    datetime, BeforeValidator(_timestamp), PlainSerializer(print_timestamp, when_used="json")
]
"""UTC, cut to the milliseconds that are printed, so that a value survives the wire unchanged."""

Value = Annotated[Any, PlainValidator(_value)]
Struct = Annotated[Mapping[str, Any], PlainValidator(_struct)]
