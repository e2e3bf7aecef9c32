"""An emulator creates `infra/state.yaml` as it stands, and what it creates is what the store relies on.

What the emulator takes in but does not act upon (expiry, encryption, access) is asked of the declaration.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.integration.infra import declared
from tests.integration.infra.declared import REGION, ROOT


@dataclass(frozen=True)
class Created:
    """The stack's outputs and exports, and what AWS says of its table."""

    outputs: Mapping[str, str]
    exports: set[str]
    table: Mapping[str, Any]


def create() -> Created:
    body = (ROOT / "infra" / "state.yaml").read_text(encoding="utf-8")
    stacks = boto3.client("cloudformation", region_name=REGION)
    stacks.create_stack(StackName="state", TemplateBody=body)
    (stack,) = stacks.describe_stacks(StackName="state")["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    tables = boto3.client("dynamodb", region_name=REGION)
    return Created(
        outputs=outputs,
        exports={export["Name"] for export in stacks.list_exports()["Exports"]},
        table=tables.describe_table(TableName=outputs["TableName"])["Table"],
    )


@pytest.fixture
def state() -> Iterator[Created]:
    with mock_aws():
        yield create()


def properties(logical_id: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = declared.state()["Resources"][logical_id]["Properties"]
    return found


def index_of(table: Mapping[str, Any], name: str) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    (index,) = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] == name]
    keys = [(key["AttributeName"], key["KeyType"]) for key in index["KeySchema"]]
    return keys, index["Projection"]


def test_the_table_has_one_key_of_two_parts_and_is_paid_by_request(state: Created) -> None:
    keys = [(key["AttributeName"], key["KeyType"]) for key in state.table["KeySchema"]]

    assert keys == [("pk", "HASH"), ("sk", "RANGE")]
    assert state.table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert {key["AttributeType"] for key in state.table["AttributeDefinitions"]} == {"S"}


@pytest.mark.parametrize(
    ("name", "keys", "carried"),
    [
        ("due", ("due_shard", "due_at"), {"expires"}),
        ("by_state", ("list_state", "list_order"), {"state", "expires"}),
        ("by_context", ("list_context", "list_order"), {"state", "expires"}),
    ],
)
def test_an_index_carries_its_keys_and_no_more_than_a_reader_asks(
    state: Created, name: str, keys: tuple[str, str], carried: set[str]
) -> None:
    found, projection = index_of(state.table, name)

    assert found == [(keys[0], "HASH"), (keys[1], "RANGE")]
    assert set(projection.get("NonKeyAttributes", ())) == carried


def test_there_are_three_indexes(state: Created) -> None:
    assert len(state.table["GlobalSecondaryIndexes"]) == 3


def test_changes_are_streamed_as_new_images(state: Created) -> None:
    assert state.table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert state.outputs["StreamArn"] == state.table["LatestStreamArn"]


def test_items_expire_by_the_attribute_that_reads_check_too() -> None:
    expiry = properties("TasksTable")["TimeToLiveSpecification"]

    assert expiry == {"AttributeName": "expires", "Enabled": True}


def test_the_table_is_encrypted_and_can_be_put_back_to_any_moment() -> None:
    table = properties("TasksTable")

    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_what_is_remembered_outlives_its_stack() -> None:
    kept = {
        name
        for name, resource in declared.state()["Resources"].items()
        if resource.get("DeletionPolicy") == resource.get("UpdateReplacePolicy") == "Retain"
    }

    assert kept == {"TasksTable", "ContentBucket", "SecretsKey"}


def test_the_bucket_is_private_and_encrypted() -> None:
    bucket = properties("ContentBucket")
    (encryption,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    assert bucket["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }
    assert encryption == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}


def test_the_bucket_keeps_one_version_of_anything_and_lets_it_go_by_the_table_of_expiries() -> None:
    bucket = properties("ContentBucket")
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]

    assert "VersioningConfiguration" not in bucket
    assert rule["Status"] == "Enabled"
    assert rule["ExpirationInDays"] == {"Fn::FindInMap": ["ContentExpiry", {"Ref": "RetentionDays"}, "Days"]}


def test_everything_a_stack_beside_needs_is_exported(state: Created) -> None:
    assert set(state.outputs) == {
        *("TableName", "TableArn", "StreamArn", "BucketName", "BucketArn"),
        *("PokesQueueUrl", "PokesQueueArn", "DeadLettersQueueUrl", "DeadLettersQueueArn"),
        *("FanoutFailuresQueueArn", "SecretsKeyArn"),
    }
    assert state.exports == {f"state-{name}" for name in state.outputs}
    assert state.outputs["TableArn"] == state.table["TableArn"]
    assert state.outputs["BucketArn"] == f"arn:aws:s3:::{state.outputs['BucketName']}"


def queue(url: str) -> Mapping[str, str]:
    """What SQS says of a queue."""
    queues = boto3.client("sqs", region_name=REGION)
    found: Mapping[str, str] = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


def test_a_poke_that_nobody_can_work_on_ends_among_the_dead_letters(state: Created) -> None:
    redrive = json.loads(queue(state.outputs["PokesQueueUrl"])["RedrivePolicy"])

    assert redrive == {
        "deadLetterTargetArn": state.outputs["DeadLettersQueueArn"],
        "maxReceiveCount": 20,
    }


def test_what_somebody_must_look_at_is_kept_for_as_long_as_queues_keep_anything(state: Created) -> None:
    fortnight = str(14 * 24 * 3600)

    assert queue(state.outputs["DeadLettersQueueUrl"])["MessageRetentionPeriod"] == fortnight
    assert properties("FanoutFailuresQueue")["MessageRetentionPeriod"] == int(fortnight)


def test_every_queue_is_encrypted_and_none_keeps_an_order() -> None:
    found = [
        resource["Properties"]
        for resource in declared.state()["Resources"].values()
        if resource["Type"] == "AWS::SQS::Queue"
    ]

    assert len(found) == 3
    assert all(each["SqsManagedSseEnabled"] is True and "FifoQueue" not in each for each in found)


def test_what_the_key_sealed_it_opens_by_its_arn_and_by_its_alias(state: Created) -> None:
    keys = boto3.client("kms", region_name=REGION)
    context = {"tenant": "", "task": "t"}
    sealed = keys.encrypt(KeyId="alias/state", Plaintext=b"secret", EncryptionContext=context)

    opened = keys.decrypt(CiphertextBlob=sealed["CiphertextBlob"], EncryptionContext=context)

    assert (opened["KeyId"], opened["Plaintext"]) == (state.outputs["SecretsKeyArn"], b"secret")


def test_the_key_changes_every_year_and_only_the_accounts_policies_decide_over_it() -> None:
    key = properties("SecretsKey")
    [statement] = key["KeyPolicy"]["Statement"]

    assert key["EnableKeyRotation"] is True
    assert statement["Principal"] == {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}


def test_without_webhooks_there_is_neither_queue_nor_key() -> None:
    whole = declared.state()
    conditional = {name for name, each in whole["Resources"].items() if each.get("Condition") == "Delivers"}
    told = {name for name, each in whole["Outputs"].items() if each.get("Condition") == "Delivers"}

    assert conditional == set(whole["Resources"]) - {"TasksTable", "ContentBucket"}
    assert told == {name for name in whole["Outputs"] if "Queue" in name or "Key" in name}
    assert whole["Conditions"] == {"Delivers": {"Fn::Equals": [{"Ref": "Webhooks"}, "on"]}}
