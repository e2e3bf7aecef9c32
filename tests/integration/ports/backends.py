"""The emulators that stand in for AWS, each with the table and bucket that `infra/state.yaml` declares."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.session import Session, get_session

from a2a_serverless.adapters.aws_clients import AwsClients
from infra.local.aws import Aws, credentials
from infra.local.deployment import REGION, Deployment
from infra.local.intrinsics import read_template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_kms.client import KMSClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_sqs.client import SQSClient
    from mypy_boto3_stepfunctions.client import SFNClient

MACHINE = "state-turn"
STATE = Path(__file__).parents[3] / "infra" / "state.yaml"
WAIT_A_MINUTE = json.dumps(
    {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 60, "End": True}}}
)
READY = "Running on"


@dataclass(frozen=True)
class Backend:
    """An emulator with the state created in it, and clients of it, which are slow to make."""

    dynamodb: "DynamoDBClient"
    s3: "S3Client"
    stepfunctions: "SFNClient"
    kms: "KMSClient"
    sqs: "SQSClient"
    table: str
    bucket: str
    secrets_key: str
    pokes_queue_url: str
    dead_letters_queue_url: str
    state_machine_arn: str


@contextmanager
def moto() -> Iterator[Backend]:
    """The moto that the local stack runs, in a process of its own: its DynamoDB answers one at a time."""
    described = Deployment(
        functions={},
        routes=(),
        schedules=(),
        stage="",
        binary_media_types=(),
        gateway_responses={},
        state_machine=MACHINE,
        state_machine_definition=WAIT_A_MINUTE,
        state=read_template(STATE.read_text()),
        state_parameters={},
    )
    with closing(Aws(described, functions_address="127.0.0.1:9")) as aws:
        aws.start()
        aws.wait_until_ready()
        yield _backend(_session(aws.endpoint))


@contextmanager
def ministack() -> Iterator[Backend]:
    """MiniStack in a process of its own, on a free port of the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "ministack"],
        env={
            **os.environ,
            **credentials(),
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        _wait_until_ready(process)
        session = _session(f"http://127.0.0.1:{port}")
        _create(session)
        yield _backend(session)
    finally:
        process.terminate()
        process.communicate()


def _wait_until_ready(process: "subprocess.Popen[str]") -> None:
    said = []
    for line in process.stdout or ():
        said.append(line)
        if READY in line:
            return
    raise RuntimeError(f"MiniStack did not start: {''.join(said)}")


def _session(endpoint: str) -> Session:
    session = get_session()
    local = credentials()
    session.set_credentials(local["AWS_ACCESS_KEY_ID"], local["AWS_SECRET_ACCESS_KEY"])
    session.set_config_variable("region", REGION)
    session.get_component("config_store").set_config_variable("endpoint_url", endpoint)
    return session


def _create(session: Session) -> None:
    cloudformation: Any = session.create_client("cloudformation")
    cloudformation.create_stack(StackName="state", TemplateBody=STATE.read_text())
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName="state", WaiterConfig={"Delay": 0.1, "MaxAttempts": 300}
    )
    AwsClients(session).stepfunctions().create_state_machine(
        name=MACHINE, definition=WAIT_A_MINUTE, roleArn="arn:aws:iam::123456789012:role/turn"
    )


def _backend(session: Session) -> Backend:
    """What was created, as the emulator itself describes it."""
    cloudformation: Any = session.create_client("cloudformation")
    (stack,) = cloudformation.describe_stacks()["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    clients = AwsClients(session)
    stepfunctions = clients.stepfunctions()
    (machine,) = stepfunctions.list_state_machines()["stateMachines"]
    return Backend(
        dynamodb=clients.dynamodb(),
        s3=clients.s3(),
        stepfunctions=stepfunctions,
        kms=clients.kms(),
        sqs=clients.sqs(),
        table=outputs["TableName"],
        bucket=outputs["BucketName"],
        secrets_key=outputs["SecretsKeyArn"],
        pokes_queue_url=outputs["PokesQueueUrl"],
        dead_letters_queue_url=outputs["DeadLettersQueueUrl"],
        state_machine_arn=machine["stateMachineArn"],
    )
