"""The emulators that stand in for AWS, each with the table and bucket that `infra/state.yaml` declares."""

import functools
import json
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.httpsession import URLLib3Session
from botocore.session import Session, get_session
from moto import mock_aws
from moto.core.models import botocore_stubber
from moto.dynamodb.responses import DynamoHandler

from a2a_serverless.adapters.aws_clients import AwsClients

STATE = Path(__file__).parents[3] / "infra" / "state.yaml"
WAIT_A_MINUTE = json.dumps(
    {"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 60, "End": True}}}
)
READY = "Running on"


@dataclass(frozen=True)
class Backend:
    """An emulator with the state created in it.

    `deliver` sends a signed request to it and returns the answer, past the SDK.
    """

    clients: AwsClients
    table: str
    bucket: str
    state_machine_arn: str
    deliver: Callable[[AWSPreparedRequest], Any]


@contextmanager
def moto() -> Iterator[Backend]:
    """An in-process moto, its DynamoDB behind a lock: its tables are not safe to change from many threads."""
    unlocked, lock = DynamoHandler.call_action, RLock()

    @functools.wraps(unlocked)
    def locked(handler: DynamoHandler) -> Any:
        with lock:
            return unlocked(handler)

    with mock_aws():
        DynamoHandler.call_action = locked  # type: ignore[method-assign]
        try:
            yield _created(_session(None), lambda request: botocore_stubber("before-send", request))
        finally:
            DynamoHandler.call_action = unlocked  # type: ignore[method-assign]


@contextmanager
def ministack() -> Iterator[Backend]:
    """MiniStack in a process of its own, on a free port of the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "ministack"],
        env={**os.environ, "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        _wait_until_ready(process)
        http = URLLib3Session()
        yield _created(_session(f"http://127.0.0.1:{port}"), http.send)
        http.close()
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


def _session(endpoint: str | None) -> Session:
    session = get_session()
    session.set_credentials("testing", "testing")
    session.set_config_variable("region", "eu-central-1")
    if endpoint is not None:
        store = session.get_component("config_store")
        store.set_config_variable("endpoint_url", endpoint)
    return session


def _created(session: Session, deliver: Callable[[AWSPreparedRequest], Any]) -> Backend:
    cloudformation: Any = session.create_client("cloudformation")
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # moto knows no bucket policies
        cloudformation.create_stack(StackName="state", TemplateBody=STATE.read_text())
        cloudformation.get_waiter("stack_create_complete").wait(
            StackName="state", WaiterConfig={"Delay": 0.1, "MaxAttempts": 300}
        )
    described = cloudformation.describe_stacks(StackName="state")["Stacks"][0]["Outputs"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in described}
    clients = AwsClients(session)
    machine = clients.stepfunctions().create_state_machine(
        name="state-turn", definition=WAIT_A_MINUTE, roleArn="arn:aws:iam::123456789012:role/turn"
    )
    return Backend(clients, outputs["TableName"], outputs["BucketName"], machine["stateMachineArn"], deliver)
