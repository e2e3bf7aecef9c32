"""What is said to DynamoDB, and how its answers are understood."""

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.adapters.dynamodb_table import (
    IS_ABSENT,
    ItemKey,
    RefusedError,
    decoded,
    setting,
)
from tests.unit.adapters.client import refusal, table

NOW = 1_796_040_000


def test_a_write_mentions_the_names_and_values_of_its_expressions_and_no_others() -> None:
    tasks, client = table({"Attributes": {"n": {"N": "7"}}})

    tasks.update(
        ItemKey("p", "s"),
        setting(("state", "n"), removing=("due_at",)),
        when=IS_ABSENT,
        values={"state": "WORKING", "n": 7, "unused": "x"},
    )

    assert client.asked == [
        {
            "TableName": "tasks",
            "Key": {"pk": {"S": "p"}, "sk": {"S": "s"}},
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "UpdateExpression": "SET #state = :state, #n = :n REMOVE #due_at",
            "ConditionExpression": "(attribute_not_exists(#pk) OR #expires <= :now)",
            "ExpressionAttributeNames": {
                name: name[1:] for name in ("#state", "#n", "#due_at", "#pk", "#expires")
            },
            "ExpressionAttributeValues": {
                ":state": {"S": "WORKING"},
                ":n": {"N": "7"},
                ":now": {"N": str(NOW)},
            },
        }
    ]


def test_an_unconditional_write_mentions_nothing() -> None:
    tasks, client = table({})

    tasks.put({"pk": "p", "sk": "s", "flag": True, "names": frozenset({"b", "a"}), "expires": 5})

    assert client.asked == [
        {
            "TableName": "tasks",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "Item": {
                "pk": {"S": "p"},
                "sk": {"S": "s"},
                "flag": {"BOOL": True},
                "names": {"SS": ["a", "b"]},
                "expires": {"N": "5"},
            },
        }
    ]


def test_a_refused_condition_carries_what_stands_there() -> None:
    standing = {"writer": {"S": "other"}, "names": {"SS": ["a"]}, "flag": {"BOOL": False}}
    tasks, _ = table(refusal(Item=standing))

    with pytest.raises(RefusedError) as refused:
        tasks.put({"pk": "p", "sk": "s"}, when=IS_ABSENT)

    assert refused.value.standing == {"writer": "other", "names": frozenset({"a"}), "flag": False}


def test_a_refused_condition_on_a_missing_item_carries_nothing() -> None:
    tasks, _ = table(refusal())

    with pytest.raises(RefusedError) as refused:
        tasks.delete(ItemKey("p", "s"), when="#status = :status", values={"status": "pending"})

    assert refused.value.standing is None


def test_a_throttle_is_not_a_refusal() -> None:
    tasks, _ = table(refusal("ProvisionedThroughputExceededException"))

    with pytest.raises(ClientError):
        tasks.put({"pk": "p", "sk": "s"}, when=IS_ABSENT)


def test_an_item_expires_at_the_second_of_its_expiry() -> None:
    tasks, _ = table()

    assert tasks.has_expired(decoded({"expires": {"N": str(NOW)}}))
    assert not tasks.has_expired(decoded({"expires": {"N": str(NOW + 1)}}))
