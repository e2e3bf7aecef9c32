"""Our types against the official protobuf types and their ProtoJSON, both ways."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_serverless.protocol.errors import A2AError
from a2a_serverless.protocol.objects import Part
from a2a_serverless.protocol.protojson import ProtoModel
from tests.unit.protocol.official import (
    EXCHANGED,
    MESSAGES,
    a2a_pb2,
    is_required,
    official_messages,
    our_type,
    print_officially,
    read_officially,
)

every_message = pytest.mark.parametrize("name", MESSAGES)
few_examples = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
every_exchanged_message = pytest.mark.parametrize("name", EXCHANGED)


@every_message
def test_every_field_of_the_proto_exists_here_under_its_json_name(name: str) -> None:
    official = {
        field.name: field.json_name for field in a2a_pb2.DESCRIPTOR.message_types_by_name[name].fields
    }

    assert {field: info.alias for field, info in our_type(name).model_fields.items()} == official


@every_message
def test_the_fields_the_proto_requires_are_the_ones_we_require(name: str) -> None:
    descriptor = a2a_pb2.DESCRIPTOR.message_types_by_name[name]

    assert {field for field, info in our_type(name).model_fields.items() if info.is_required()} == {
        field.name for field in descriptor.fields if is_required(field)
    }


@every_exchanged_message
@few_examples
@given(data=st.data())
def test_what_the_official_printer_prints_we_read_and_print_to_the_same_message(
    name: str, data: st.DataObject
) -> None:
    message = data.draw(official_messages(name))

    ours = our_type(name).from_dict(print_officially(message))

    assert read_officially(name, ours.to_dict()) == message


@every_exchanged_message
@few_examples
@given(data=st.data())
def test_field_names_and_enums_are_read_in_every_spelling_of_protojson(
    name: str, data: st.DataObject
) -> None:
    message = data.draw(official_messages(name))

    as_in_the_proto = print_officially(message, preserving_proto_field_name=True, use_integers_for_enums=True)

    assert our_type(name).from_dict(as_in_the_proto) == our_type(name).from_dict(print_officially(message))


@every_exchanged_message
@few_examples
@given(data=st.data())
def test_what_is_printed_though_it_is_unset_is_read_as_unset(name: str, data: st.DataObject) -> None:
    message = data.draw(official_messages(name))

    with_the_unset = print_officially(message, always_print_fields_with_no_presence=True)

    assert our_type(name).from_dict(with_the_unset) == our_type(name).from_dict(print_officially(message))


@every_exchanged_message
@few_examples
@given(data=st.data())
def test_what_we_print_we_read_as_the_same_value(name: str, data: st.DataObject) -> None:
    ours = our_type(name).from_dict(print_officially(data.draw(official_messages(name))))

    assert our_type(name).from_json(ours.to_json()) == ours
    assert json.loads(ours.to_json()) == ours.to_dict()


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def _with_junk(draw: st.DrawFn, value: Any) -> Any:
    """The JSON value with one place of it replaced by junk."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: _with_junk(draw, value[key])}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [_with_junk(draw, value[0]), *value[1:]]
    return draw(JUNK)


@every_exchanged_message
@few_examples
@given(data=st.data())
def test_whatever_is_sent_is_read_or_refused_as_an_a2a_error(name: str, data: st.DataObject) -> None:
    spoiled = data.draw(st.composite(_with_junk)(print_officially(data.draw(official_messages(name)))))

    ours = _read_or_refuse(our_type(name), json.dumps(spoiled))

    assert ours is None or our_type(name).from_json(ours.to_json()) == ours


@settings(deadline=None)
@given(st.binary() | st.text() | JUNK.map(json.dumps))
def test_whatever_text_is_sent_is_read_or_refused_as_an_a2a_error(text: bytes | str) -> None:
    part = _read_or_refuse(Part, text)

    assert part is None or Part.from_json(part.to_json()) == part


def _read_or_refuse(our: type[ProtoModel], text: bytes | str) -> ProtoModel | None:
    try:
        return our.from_json(text)
    except A2AError:
        return None
