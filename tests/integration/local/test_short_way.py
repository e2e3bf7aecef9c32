"""The short way through moto's DynamoDB gives the answers and leaves the items that moto's own way does."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler

from infra.local.moto_dynamodb import TARGET, DirectHandler
from infra.local.wire import Request

Answer = tuple[int, dict[str, Any]]

ATTRIBUTES = ("a", "b", "c", "indexed")
CONDITIONS = (
    None,
    "attribute_not_exists(pk)",
    "attribute_exists(#a)",
    "#c = :condition",
    "attribute_not_exists(pk) OR #c < :condition",
)
counter = itertools.count()


class LongWay(DirectHandler):
    """The same handler with moto's own update and serialisation."""

    update_item = DynamoHandler.update_item
    serialized = DynamoHandler.serialized


def call(handler: type[DirectHandler], operation: str, **parameters: Any) -> Answer:
    headers = (("X-Amz-Target", f"{TARGET}{operation}"), ("Content-Type", "application/x-amz-json-1.0"))
    status, _, body = handler(
        Request("POST", "/", headers, json.dumps(parameters).encode(), "")
    ).call_action()
    decoded: dict[str, Any] = json.loads(body)
    # Which moto gives whether or not it is asked for.
    decoded.pop("ConsumedCapacity", None)
    return status, decoded


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    with mock_aws():
        call(
            LongWay,
            "CreateTable",
            TableName="tasks",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "indexed")
            ],
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_indexed",
                    "KeySchema": [{"AttributeName": "indexed", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )
        yield


values = st.one_of(
    st.sampled_from([{"S": "x"}, {"S": "\u00e9"}, {"N": "1"}, {"N": "12"}, {"BOOL": True}, {"NULL": True}]),
    st.lists(st.sampled_from(["p", "q"]), min_size=1, unique=True).map(lambda texts: {"SS": sorted(texts)}),
    st.just({"M": {"inner": {"L": [{"S": "deep"}]}}}),
)
numbers = st.sampled_from([{"N": "1"}, {"N": "2"}, {"N": "10"}])
kinds = {"a": values, "b": values, "c": numbers, "indexed": st.just({"S": "key"})}
items = st.fixed_dictionaries({}, optional=kinds)


@st.composite
def updates(draw: st.DrawFn) -> dict[str, Any]:
    sets = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=1, unique=True))
    removes = draw(
        st.lists(st.sampled_from([name for name in ATTRIBUTES if name not in sets] or ["z"]), unique=True)
    )
    condition = draw(st.sampled_from(CONDITIONS))
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
    expression += " REMOVE " + ", ".join(f"#{name}" for name in removes) if removes else ""
    text = f"{expression} {condition}"
    given_values = {f":{name}": draw(kinds[name]) for name in sets}
    if ":condition" in text:
        given_values[":condition"] = draw(numbers)
    return {
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {f"#{name}": name for name in (*ATTRIBUTES, "z") if f"#{name}" in text},
        "ExpressionAttributeValues": given_values,
        "ReturnValues": draw(st.sampled_from(["NONE", "ALL_NEW", "ALL_OLD"])),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **({"ConditionExpression": condition} if condition else {}),
    }


def outcome(handler: type[DirectHandler], before: dict[str, Any] | None, update: dict[str, Any]) -> object:
    """Update an item that is as `before` says; return the answer and the item after it."""
    place = f"{handler.__name__}-{next(counter)}"
    key = {"pk": {"S": place}, "sk": {"S": "HEAD"}}
    if before is not None:
        call(LongWay, "PutItem", TableName="tasks", Item={**key, **before})
    answer = call(handler, "UpdateItem", TableName="tasks", Key=key, **update)
    after = call(LongWay, "GetItem", TableName="tasks", Key=key, ConsistentRead=True)
    return json.loads(json.dumps([answer, after]).replace(place, "place"))


@settings(max_examples=150, deadline=None)
@given(before=st.none() | items, update=updates())
def test_an_update_answers_and_leaves_the_same(before: dict[str, Any] | None, update: dict[str, Any]) -> None:
    assert outcome(DirectHandler, before, update) == outcome(LongWay, before, update)


def test_every_way_of_reading_answers_the_same() -> None:
    key = {"pk": {"S": "read"}, "sk": {"S": "1"}}
    call(
        LongWay,
        "PutItem",
        TableName="tasks",
        Item={**key, "m": {"M": {"l": {"L": [{"N": "1.5"}]}}}, "s": {"SS": ["a"]}},
    )
    missing = {"pk": {"S": "read"}, "sk": {"S": "2"}}

    for operation, parameters in (
        ("GetItem", {"TableName": "tasks", "Key": key}),
        ("GetItem", {"TableName": "tasks", "Key": missing}),
        ("BatchGetItem", {"RequestItems": {"tasks": {"Keys": [key, missing]}}}),
        (
            "Query",
            {
                "TableName": "tasks",
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": "read"}},
            },
        ),
        ("DeleteItem", {"TableName": "tasks", "Key": missing}),
        ("GetItem", {"TableName": "nowhere", "Key": key}),
    ):
        assert call(DirectHandler, operation, **parameters) == call(LongWay, operation, **parameters)
