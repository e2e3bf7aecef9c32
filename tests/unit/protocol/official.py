"""The official protobuf types, and random messages of them that any server has to accept.

A message is drawn from its descriptor, so a field that the proto gains is tested without a line here. What is
drawn keeps to our limits on requests and to what our values can tell apart: a Struct is absent or not empty,
minus zero is zero.
"""

import math
from functools import cache
from typing import Any

from a2a.types import a2a_pb2
from google.api.field_behavior_pb2 import FieldBehavior, field_behavior
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message as OfficialMessage
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import strategies as st

from a2a_serverless.protocol import card, events, objects, requests
from a2a_serverless.protocol.operations import OPERATIONS
from a2a_serverless.protocol.protojson import ProtoModel

MESSAGES = tuple(sorted(a2a_pb2.DESCRIPTOR.message_types_by_name))
EXCHANGED = tuple(
    dict.fromkeys(each.__name__ for row in OPERATIONS for each in (row.request, row.response) if each)
)
"""The messages that are sent as such; they contain all the others."""

ROOMS = (objects, events, requests, card)

IDS = st.from_regex(r"(?!\.{1,2}\Z)[A-Za-z0-9_.:-]{1,128}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip)
NUMBERS = st.integers(-(2**53), 2**53).map(float) | st.floats(allow_nan=False, allow_infinity=False).map(
    lambda number: number + 0.0
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TIMESTAMPS = st.integers(-62_135_596_800_000, 253_402_300_799_999)  # milliseconds of the years 1 to 9999

# Fields whose values are narrower than their proto type, by message and field, else by field.
NARROWER: dict[str, st.SearchStrategy[Any]] = {
    "APIKeySecurityScheme.location": st.sampled_from(["query", "header", "cookie"]),
    "tenant": st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True).filter(lambda text: text != "tasks"),
    "id": IDS,
    "task_id": IDS,
    "context_id": IDS,
    "reference_task_ids": IDS,
    "page_size": st.integers(1, 100),
    "history_length": st.integers(0, 2**31 - 1),
}


def our_type(name: str) -> type[ProtoModel]:
    """Our class for the official message of that name."""
    found: type[ProtoModel] = next(vars(room)[name] for room in ROOMS if name in vars(room))
    return found


def official_type(name: str) -> type[OfficialMessage]:
    found: type[OfficialMessage] = getattr(a2a_pb2, name)
    return found


def is_required(field: FieldDescriptor) -> bool:
    return FieldBehavior.REQUIRED in field.GetOptions().Extensions[field_behavior]


def read_officially(name: str, printed: dict[str, Any]) -> OfficialMessage:
    return ParseDict(printed, official_type(name)())


def print_officially(message: OfficialMessage, **options: Any) -> dict[str, Any]:
    return MessageToDict(message, **options)


@cache
def official_messages(name: str) -> st.SearchStrategy[OfficialMessage]:
    """Messages with their required fields, some of the others, and one of each oneof."""
    return _official_messages(name)


@st.composite
def _official_messages(draw: st.DrawFn, name: str) -> OfficialMessage:
    descriptor: Descriptor = a2a_pb2.DESCRIPTOR.message_types_by_name[name]
    message = official_type(name)()
    chosen = {draw(st.sampled_from(tuple(each.fields))).name for each in _oneofs(descriptor)}
    for field in descriptor.fields:
        if field.containing_oneof in _oneofs(descriptor):
            if field.name in chosen:
                _fill(draw, message, field)
        elif is_required(field) or draw(st.booleans()):
            _fill(draw, message, field)
    if name == "SendMessageRequest":
        message.message.role = a2a_pb2.ROLE_USER
    return message


@cache
def _oneofs(descriptor: Descriptor) -> list[Any]:
    return [each for each in descriptor.oneofs if len(each.fields) > 1]


def _fill(draw: st.DrawFn, message: OfficialMessage, field: FieldDescriptor) -> None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _fill_map(draw, getattr(message, field.name), field)
    values = _values(field)
    if field.is_repeated:
        least = int(is_required(field))
        getattr(message, field.name).extend(draw(st.lists(values, min_size=least, max_size=2)))
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(draw(values))
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, draw(values))
    return None


def _fill_map(draw: st.DrawFn, entries: Any, field: FieldDescriptor) -> None:
    value = field.message_type.fields_by_name["value"]
    for key in draw(st.lists(NAMES, max_size=2, unique=True)):
        if value.message_type is None:
            entries[key] = draw(TEXTS)
        else:
            entries[key].CopyFrom(draw(_values(value)))


@cache
def _values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    narrower = NARROWER.get(f"{field.containing_type.name}.{field.name}", NARROWER.get(field.name))
    if field.message_type is not None:
        known = WELL_KNOWN.get(field.message_type.full_name)
        return official_messages(field.message_type.name) if known is None else known
    if narrower is not None:
        return narrower
    if field.enum_type is not None:
        return st.sampled_from([each.number for each in field.enum_type.values if each.number])
    return {
        FieldDescriptor.TYPE_STRING: NAMES,
        FieldDescriptor.TYPE_BYTES: st.binary(max_size=8),
        FieldDescriptor.TYPE_BOOL: st.booleans(),
        FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    }[field.type]


def _struct(json: dict[str, Any]) -> Struct:
    return ParseDict(json, Struct())


def _timestamp(milliseconds: int) -> Timestamp:
    return Timestamp(seconds=math.floor(milliseconds / 1000), nanos=milliseconds % 1000 * 1_000_000)


WELL_KNOWN: dict[str, st.SearchStrategy[Any]] = {
    "google.protobuf.Struct": st.dictionaries(TEXTS, JSON, min_size=1, max_size=3).map(_struct),
    "google.protobuf.Value": JSON.map(lambda json: ParseDict(json, Value())),
    "google.protobuf.Timestamp": TIMESTAMPS.map(_timestamp),
}
