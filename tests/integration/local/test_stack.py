"""The stack with moto behind it: state machine, table and bucket as declared, functions that do little."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.local.aws import ROOT
from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.options import parse
from infra.local.stack import Stack
from infra.local.template import read_deployment
from tests.integration.local.handlers import API, SWEEP, TURN, write
from tests.integration.local.pipes import PATIENCE, Listener


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """What the template declares, with functions that do little."""
    declared = read_deployment(ROOT)
    folder = tmp_path_factory.mktemp("functions")
    sources = {"turn": TURN, "sweep": SWEEP}
    functions = {
        logical_id: replace(
            function, folder=write(folder / function.folder.name, sources.get(function.folder.name, API))
        )
        for logical_id, function in declared.functions.items()
    }
    # The sweep of these tests expects no schedule.
    return replace(declared, functions=functions, schedules=())


@pytest.fixture(scope="module")
def stack(deployment: Deployment) -> Iterator[Stack]:
    console = Console(quiet=True)
    made = Stack(deployment, parse(["--port", "0", "--agent", "a2a_agents.echo:agent"]), console)
    made.start()
    made.wait_until_ready()
    yield made
    made.close()
    console.close()


class Aws:
    """boto3 clients of the stack's moto."""

    def __init__(self, stack: Stack, deployment: Deployment) -> None:
        session = boto3.session.Session("local", "local", region_name="us-east-1")
        config = Config(max_pool_connections=20)

        def client(service: str, endpoint: str = stack.aws_endpoint) -> Any:
            return session.client(service, endpoint_url=endpoint, config=config)

        self.dynamodb, self.stepfunctions, self.s3 = map(client, ("dynamodb", "stepfunctions", "s3"))
        self.kms = client("kms")
        self.functions = client("lambda", stack.lambda_endpoint)
        variables = deployment.functions["TurnFunction"].environment
        self.table = variables["TASKS_TABLE"]
        self.bucket = variables["CONTENT_BUCKET"]
        self.secrets_key = variables["SECRETS_KEY"]
        self.machine = variables["TURN_STATE_MACHINE_ARN"]

    def close(self) -> None:
        for client in (self.dynamodb, self.stepfunctions, self.s3, self.kms, self.functions):
            client.close()


@pytest.fixture(scope="module")
def aws(stack: Stack, deployment: Deployment) -> Iterator[Aws]:
    clients = Aws(stack, deployment)
    yield clients
    clients.close()


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Listener]:
    listener = Listener(tmp_path / "task")
    yield listener
    listener.close()


def run_turn(aws: Aws, task: Listener, owner: str) -> None:
    aws.stepfunctions.start_execution(
        stateMachineArn=aws.machine,
        name=task.path.replace("/", "_")[-70:],
        input=json.dumps({"tenant": "", "owner": owner, "task": task.path, "turn": 1}),
    )


def test_an_execution_runs_the_turn_function(aws: Aws, task: Listener) -> None:
    run_turn(aws, task, "plain")

    assert task.line() == "turn 1 done"


def test_a_turn_that_goes_on_is_run_again_by_its_exceptions_name(aws: Aws, task: Listener) -> None:
    run_turn(aws, task, "continues")

    assert [task.line(), task.line()] == ["segment 1", "turn 1 done"]


@pytest.mark.parametrize("owner", ["crashes", "raises"])
def test_a_turn_that_crashes_or_raises_is_written_down_as_failed(
    aws: Aws, task: Listener, owner: str
) -> None:
    run_turn(aws, task, owner)

    assert json.loads(task.line()) == {"tenant": "", "owner": owner, "task": task.path, "turn": 1}


def test_functions_can_be_invoked_through_the_lambda_api(aws: Aws) -> None:
    answer = aws.functions.invoke(FunctionName="a2a-local-card", Payload=b"{}")
    failed = aws.functions.invoke(FunctionName="a2a-local-card", Payload=b'{"do": "raise"}')

    assert json.loads(answer["Payload"].read())["statusCode"] == 200
    assert failed["FunctionError"] == "Unhandled"
    with pytest.raises(aws.functions.exceptions.ResourceNotFoundException):
        aws.functions.invoke(FunctionName="a2a-local-nobody", Payload=b"{}")


def test_one_of_many_conditional_writes_at_one_position_wins(aws: Aws) -> None:
    together = threading.Barrier(8)

    def append(writer: int, position: int) -> bool:
        together.wait(PATIENCE)
        item = {"pk": {"S": "race"}, "sk": {"S": str(position)}, "writer": {"N": str(writer)}}
        try:
            aws.dynamodb.put_item(
                TableName=aws.table, Item=item, ConditionExpression="attribute_not_exists(pk)"
            )
        except aws.dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True

    with ThreadPoolExecutor(8) as writers:
        for position in range(20):
            won = list(writers.map(append, range(8), [position] * 8))
            assert won.count(True) == 1


def test_a_refused_write_shows_the_item_that_is_there(aws: Aws) -> None:
    item = {"pk": {"S": "shown"}, "sk": {"S": "1"}, "blob": {"B": b"\x00\xff"}, "text": {"S": "caf\u00e9"}}
    aws.dynamodb.put_item(TableName=aws.table, Item=item)

    with pytest.raises(aws.dynamodb.exceptions.ConditionalCheckFailedException) as refused:
        aws.dynamodb.put_item(
            TableName=aws.table,
            Item=item,
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert refused.value.response["Item"] == item


def test_content_is_kept_as_it_is_with_its_metadata(aws: Aws) -> None:
    aws.s3.put_object(Bucket=aws.bucket, Key="a/b c.bin", Body=b"\x00\xff" * 50_000, Metadata={"sha": "1"})
    stored = aws.s3.get_object(Bucket=aws.bucket, Key="a/b c.bin")

    assert stored["Body"].read() == b"\x00\xff" * 50_000
    assert stored["Metadata"] == {"sha": "1"}
    assert aws.s3.head_object(Bucket=aws.bucket, Key="a/b c.bin")["ContentLength"] == 100_000


def test_the_table_and_its_indexes_are_those_of_the_template(aws: Aws) -> None:
    table = aws.dynamodb.describe_table(TableName=aws.table)["Table"]

    assert {index["IndexName"] for index in table["GlobalSecondaryIndexes"]} == {
        "due",
        "by_state",
        "by_context",
    }
    assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}


def test_secrets_are_sealed_by_the_key_that_the_functions_know(aws: Aws) -> None:
    sealed = aws.kms.encrypt(KeyId=aws.secrets_key, Plaintext=b"secret", EncryptionContext={"task": "t"})
    opened = aws.kms.decrypt(CiphertextBlob=sealed["CiphertextBlob"], EncryptionContext={"task": "t"})

    assert opened["Plaintext"] == b"secret"
    key = aws.kms.describe_key(KeyId=opened["KeyId"])["KeyMetadata"]
    assert (key["KeyState"], key["KeySpec"]) == ("Enabled", "SYMMETRIC_DEFAULT")
    assert aws.kms.get_key_rotation_status(KeyId=opened["KeyId"])["KeyRotationEnabled"] is True
    with pytest.raises(aws.kms.exceptions.InvalidCiphertextException):
        aws.kms.decrypt(CiphertextBlob=sealed["CiphertextBlob"], EncryptionContext={"task": "u"})
