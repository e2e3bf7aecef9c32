"""Which updates are plain, and what they do (AWS: UpdateItem, update expressions)."""

from typing import Any

import pytest

from infra.local.moto_update import PlainUpdate, plain_update

KEYS = frozenset({"pk", "sk"})
ONE: dict[str, Any] = {"S": "1"}


def read(expression: str, condition: str | None = None, **more: Any) -> PlainUpdate | None:
    """Read an update whose names #a, #b, #pk and values :a, :b are given exactly as far as they are used."""
    text = f"{expression} {condition or ''}"
    parameters: dict[str, Any] = {
        "TableName": "t",
        "Key": {"pk": ONE, "sk": ONE},
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {name: name[1:] for name in ("#a", "#b", "#pk") if name in text.split()},
        "ExpressionAttributeValues": {name: {"S": name} for name in (":a", ":b") if name in text.split()},
        **({"ConditionExpression": condition} if condition else {}),
        **more,
    }
    return plain_update(parameters, KEYS)


@pytest.mark.parametrize(
    ("expression", "update"),
    [
        ("SET #a = :a", PlainUpdate({"a": {"S": ":a"}}, frozenset())),
        ("SET a = :a , #b = :b", PlainUpdate({"a": {"S": ":a"}, "b": {"S": ":b"}}, frozenset())),
        ("SET #a = :a REMOVE #b", PlainUpdate({"a": {"S": ":a"}}, frozenset({"b"}))),
        ("SET #a = :a REMOVE b, c", PlainUpdate({"a": {"S": ":a"}}, frozenset({"b", "c"}))),
    ],
)
def test_set_and_remove_of_whole_attributes_are_plain(expression: str, update: PlainUpdate) -> None:
    assert read(expression) == update


@pytest.mark.parametrize(
    "expression",
    [
        "REMOVE #a",
        "ADD #a :a",
        "SET #a = :a ADD #b :b",
        "SET #a = :a DELETE #b :b",
        "SET #a = #b",
        "SET #a = #a + :a",
        "SET #a = if_not_exists(#a, :a)",
        "SET #a = list_append( #a , :a )",
        "SET a.b = :a",
        "SET a[0] = :a",
        "SET #a = :a, #a = :b",
        "SET #a = :a REMOVE #a",
        "SET #pk = :a",
        "SET #a = :a REMOVE sk",
        "SET #a = :a,",
        "SET #a = :unknown",
        "SET",
        "",
    ],
)
def test_anything_else_is_left_to_moto(expression: str) -> None:
    assert read(expression) is None


def test_names_and_values_of_the_condition_count_as_used() -> None:
    assert read("SET #a = :a", "#b < :b") is not None


def test_names_and_values_that_nobody_uses_are_left_to_moto_to_complain_about() -> None:
    assert read("SET #a = :a", ExpressionAttributeNames={"#a": "a", "#z": "z"}) is None
    assert read("SET #a = :a", ExpressionAttributeValues={":a": ONE, ":z": ONE}) is None


def test_old_fashioned_parameters_are_left_to_moto() -> None:
    assert read("SET #a = :a", Expected={}) is None


def test_an_update_keeps_what_it_does_not_name() -> None:
    update = PlainUpdate({"a": ONE}, frozenset({"b"}))

    assert update.applied_to({"pk": ONE, "a": {"S": "old"}, "b": ONE, "c": ONE}) == {
        "pk": ONE,
        "a": ONE,
        "c": ONE,
    }
