"""How much a caller may send: the limits on requests, each refused under the name of its field.

The specification asks for limits and gives no numbers (13.4); these are ours. They bind requests only: what
an agent produces is not limited here. Knows no operation.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from a2a_serverless.protocol.objects import Message, Role
from a2a_serverless.protocol.scalars import Int32, OptionalText, RequiredText, Struct, refused

MAX_PARTS = 100
MAX_NAMED = 100
"""Extensions, and other tasks, that a message may name; media types that a client may want."""
MAX_METADATA_BYTES = 64 * 1024
MAX_TEXT_BYTES = 1024 * 1024
"""Of one part that is text: a text, any JSON, or raw bytes of a type of text."""
MAX_RAW_BYTES = 4 * 1024 * 1024
"""Of one part of raw bytes that are no text. In base64 they just fit into what a function may be sent."""
MAX_MESSAGE_ID = 256
MAX_PAGE_SIZE = 100

ID = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9_.:-]{1,128}")
"""Ids are steps of addresses, where a dot or two would mean another place."""

TENANT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
RESERVED_TENANTS = frozenset(
    {"tasks", "artifacts", "contexts", "extendedAgentCard", "health", ".well-known", ".", ".."}
)
"""First segments of our own routes, which a tenant's prefix could be mistaken for, and path steps."""

LISTS = (
    (("parts",), MAX_PARTS),
    (("extensions",), MAX_NAMED),
    (("referenceTaskIds", "reference_task_ids"), MAX_NAMED),
)
"""The lists of a message, by their spellings, and how many elements they may have."""

T = TypeVar("T")
Problems = Iterator[tuple[tuple[int | str, ...], PydanticCustomError]]


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        raise refused("must be 1 to 128 characters of A-Z a-z 0-9 _ . : - and no path step such as ..")
    return text


def _tenant(text: str) -> str:
    if not TENANT.fullmatch(text):
        raise refused("must be 1 to 64 characters of A-Z a-z 0-9 _ . -")
    if text in RESERVED_TENANTS:
        raise refused("is a reserved name")
    return text


def _metadata(struct: Mapping[str, Any]) -> Mapping[str, Any]:
    if struct and len(_compact(struct).encode()) > MAX_METADATA_BYTES:
        raise refused(f"must not exceed {MAX_METADATA_BYTES} bytes of JSON")
    return struct


def _compact(struct: Mapping[str, Any]) -> str:
    return json.dumps(struct, ensure_ascii=False, separators=(",", ":"))


def _between(low: int, high: int) -> Callable[[int], int]:
    def check(number: int) -> int:
        if not low <= number <= high:
            raise refused(f"must be between {low} and {high}")
        return number

    return check


def _not_negative(number: int) -> int:
    if number < 0:
        raise refused("must not be negative")
    return number


def at_most(number: int) -> BeforeValidator:
    """Refuse a longer list at once: reading its elements first would take as long as there are of them."""

    def check(value: object) -> object:
        if isinstance(value, list | tuple) and len(value) > number:
            raise refused(f"must have at most {number} elements")
        return value

    return BeforeValidator(check)


def _short_message(value: object) -> object:
    """Hold the lists of a client's message to their limits before any element is read."""
    if not isinstance(value, Mapping):
        return value
    problems = [
        InitErrorDetails(type=refused(f"must have at most {most} elements"), loc=(name,), input=None)
        for names, most in LISTS
        for name in names
        if isinstance(value.get(name), list) and len(value[name]) > most
    ]
    if problems:
        raise ValidationError.from_exception_data("Message", problems)
    return value


def _client_message(message: Message) -> Message:
    """Hold a client's message to the limits, naming every field that breaks one."""
    problems = [InitErrorDetails(type=what, loc=at, input=None) for at, what in _problems(message)]
    if problems:
        raise ValidationError.from_exception_data("Message", problems)
    return message


def _problems(message: Message) -> Problems:
    if not message.message_id.strip() or len(message.message_id) > MAX_MESSAGE_ID:
        yield ("messageId",), refused(f"must be 1 to {MAX_MESSAGE_ID} characters, not all blank")
    if message.role is not Role.USER:
        yield ("role",), refused("must be ROLE_USER in a client's message")
    yield from _checked(_id, ("contextId",), message.context_id)
    yield from _checked(_id, ("taskId",), message.task_id)
    for index, task_id in enumerate(message.reference_task_ids):
        yield from _checked(_id, ("referenceTaskIds", index), task_id)
    yield from _checked(_metadata, ("metadata",), message.metadata)
    for index, part in enumerate(message.parts):
        yield from _checked(_metadata, ("parts", index, "metadata"), part.metadata)


def _checked(check: Callable[[T], T], at: tuple[int | str, ...], value: T | None) -> Problems:
    try:
        if value is not None:
            check(value)
    except PydanticCustomError as problem:
        yield at, problem


def _unless_none(check: Callable[[T], T]) -> AfterValidator:
    return AfterValidator(lambda value: value if value is None else check(value))


Id = Annotated[RequiredText, AfterValidator(_id)]
OptionalId = Annotated[OptionalText, _unless_none(_id)]
Tenant = Annotated[OptionalText, _unless_none(_tenant)]
Metadata = Annotated[Struct, AfterValidator(_metadata)]
HistoryLength = Annotated[Int32 | None, _unless_none(_not_negative)]
PageSize = Annotated[Int32 | None, _unless_none(_between(1, MAX_PAGE_SIZE))]
PageSizeOrZero = Annotated[
    Int32 | None, AfterValidator(lambda size: size or None), _unless_none(_between(1, MAX_PAGE_SIZE))
]
"""Where the proto gives the page size no presence, zero is unset."""

ClientMessage = Annotated[Message, BeforeValidator(_short_message), AfterValidator(_client_message)]
