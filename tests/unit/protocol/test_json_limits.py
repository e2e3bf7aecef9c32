"""How much JSON a request may be, said by name, and found out in the time of one look."""

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.protocol.errors import InvalidParamsError, JSONParseError
from a2a_serverless.protocol.json_limits import MAX_NESTING, MAX_VALUES, parse_request
from a2a_serverless.protocol.protojson import MAX_NUMBER
from a2a_serverless.protocol.requests import SendMessageRequest

SIZE = 5_000_000
"""Bytes of a hostile body: more than any that gets through."""

DEEP = f"The JSON is nested more than {MAX_NESTING} levels deep"
MANY = f"The JSON has more than {MAX_VALUES} values"
LONG = f"A number of the JSON has more than {MAX_NUMBER} characters"
TWICE = "An object of the JSON has two members of one name"
INFINITE = "A number of the JSON is not a finite double"
NONE = "Invalid JSON payload"

MOST = 5.0
"""Seconds of the processor that anything may take here; what this guards against took a minute."""


def said(body: bytes) -> str:
    """Why a body is refused."""
    with pytest.raises(JSONParseError) as refused:
        parse_request(body)
    return refused.value.message


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_a_request_may_be_nested_to_the_limit_and_no_deeper() -> None:
    assert json.dumps(parse_request(nested(MAX_NESTING))).encode() == nested(MAX_NESTING)
    assert said(nested(MAX_NESTING + 1)) == DEEP
    assert said(b'{"a":' * (MAX_NESTING + 1) + b"1" + b"}" * (MAX_NESTING + 1)) == DEEP
    assert said(b"[" * 1000) == DEEP


def test_a_request_may_have_as_many_values_as_the_limit_and_no_more() -> None:
    ones = b"1," * (MAX_VALUES - 1)

    assert len(parse_request(b"[" + ones + b"1]")) == MAX_VALUES
    assert said(b"[" + ones + b"1,1]") == MANY
    assert said(b"[" + ones + b"[1]]") == MANY


@pytest.mark.parametrize("brackets", ["[[[[", "}}}}", '\\"[[[', "{,{,", "\\\\", "\\\\\\"])
def test_what_stands_in_a_text_counts_as_one_value_whatever_it_looks_like(brackets: str) -> None:
    text = brackets * MAX_VALUES

    assert parse_request(json.dumps({text: [text, 1]}).encode()) == {text: [text, 1]}


def test_a_number_may_be_as_long_as_any_double_and_no_longer() -> None:
    assert parse_request(b"[" + b"9" * 309 + b", 1." + b"0" * 300 + b"]") == [int("9" * 309), 1.0]
    for text in ("1" * (MAX_NUMBER + 1), "-1" + "0" * MAX_NUMBER, "1." + "0" * MAX_NUMBER, "1e" + "0" * 400):
        assert said(f'{{"n": {text}}}'.encode()) == LONG
    for text in ("1e400", "-1e400", "NaN", "Infinity", "-Infinity"):
        assert said(f'{{"n": {text}}}'.encode()) == INFINITE


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]'])
def test_a_name_that_comes_twice_is_refused_as_such(text: str) -> None:
    assert said(text.encode()) == TWICE


@pytest.mark.parametrize("text", [b"\xff", b'"\xc3("', b'{"\xed\xa0\x80":1}', b"\xff\xfe[\x00]\x00"])
def test_bytes_that_are_no_utf8_are_refused_as_such(text: bytes) -> None:
    assert said(text) == "The JSON is not UTF-8"


@pytest.mark.parametrize(
    "text", ["", "]", "[}", '["', '"\\', "[1,]", "{,}", "[" * 129 + "}" * 130, "]" * 60_000, '""' * 60_000]
)
def test_what_is_no_json_is_refused_as_none_or_for_its_size(text: str) -> None:
    assert said(text.encode()) in {NONE, DEEP, MANY}


HOSTILE = {
    "lists in lists": b"[" * SIZE,
    "objects in objects": b'{"a":' * (SIZE // 5),
    "ends": b"]" * SIZE,
    "lists": b"[" + b"[]," * (SIZE // 3) + b"[]]",
    "objects": b"[" + b"{}," * (SIZE // 3) + b"{}]",
    "members": b"{" + b",".join(b'"%x":1' % number for number in range(SIZE // 10)) + b"}",
    "numbers": b"[" + b"1," * (SIZE // 2) + b"1]",
    "one number": b"1" * SIZE,
    "one fraction": b"0." + b"0" * SIZE,
    "one exponent": b"1e" + b"1" * SIZE,
    "texts": b'["a"' + b',"a"' * (SIZE // 4) + b"]",
    "texts side by side": b'""' * (SIZE // 2),
    "one text without end": b'"' + b"a" * SIZE,
    "quotes in a text without end": b'"' + b'\\"' * (SIZE // 2),
    "backslashes": b'["' + b"\\" * SIZE,
    "backslashes that nobody began": b"[[" * 100 + b"\\" * SIZE,
    "commas": b"," * SIZE,
    "space": b" " * SIZE,
    "zeros": b"\0" * SIZE,
    "no utf8": b"\xff" * SIZE,
    "astral": "\N{FIRE}".encode() * (SIZE // 4),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_five_megabytes_of_anything_hostile_are_refused_at_once(body: bytes) -> None:
    began = time.process_time()

    with pytest.raises(JSONParseError):
        parse_request(body)

    assert time.process_time() - began < MOST


MANY_VALUES = MAX_VALUES - 100
"""As many as a message may hold that has little besides."""

WITHIN: dict[str, Any] = {
    "parts": {"parts": [{}] * (MANY_VALUES // 2)},
    "tasks referred to": {"referenceTaskIds": ["!"] * MANY_VALUES},
    "tasks referred to as the proto spells it": {"reference_task_ids": ["!"] * MANY_VALUES},
    "extensions": {"extensions": [1] * MANY_VALUES},
    "data": {"parts": [{"data": [{}] * (MANY_VALUES // 2)}]},
    "deep data": {"parts": [{"data": [json.loads(nested(90))] * (MANY_VALUES // 92)}]},
    "metadata": {"metadata": {str(number): number for number in range(MANY_VALUES)}},
    "unknown members": {f"a_b_{number}": None for number in range(MANY_VALUES)},
}


@pytest.mark.parametrize("sent", WITHIN.values(), ids=WITHIN.keys())
def test_what_is_within_the_limits_is_read_or_refused_at_once(sent: Any) -> None:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], **sent}
    body = json.dumps({"message": message}).encode()
    began = time.process_time()

    with contextlib.suppress(InvalidParamsError):
        SendMessageRequest.from_dict(parse_request(body))

    assert time.process_time() - began < MOST


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False}]))
def test_counting_never_refuses_what_is_small_and_is_json(value: Any, printed: dict[str, Any]) -> None:
    padded = [value, "[,{" * (MAX_VALUES // 2)]

    assert parse_request(json.dumps(padded, **printed).encode()) == padded
