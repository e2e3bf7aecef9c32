"""moto with this deployment's table, bucket and state machine in it, answering on one port.

The only file that says which of moto's backends exist here and how they are filled.
"""

import json
import socket
from datetime import UTC, datetime
from typing import Any

from moto.cloudformation.models import cloudformation_backends
from moto.core.config import default_user_config
from moto.kms.models import kms_backends
from moto.secretsmanager.models import secretsmanager_backends
from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from infra.local import (
    links,
    moto_changes,
    moto_dynamodb,
    moto_objects,
    moto_queues,
    moto_signatures,
    moto_tasks,
)
from infra.local.aws import credentials
from infra.local.deployment import ACCOUNT, REGION
from infra.local.event_sources import QueueSource, StreamSource
from infra.local.function_client import FunctionClient
from infra.local.grants import Grant
from infra.local.http import Server
from infra.local.moto_changes import StreamPoller
from infra.local.moto_grants import Guard
from infra.local.moto_queues import QueuePoller
from infra.local.moto_wsgi import MotoApplication
from infra.local.wire import Request, Response


def serve(listener: socket.socket, plan: dict[str, Any]) -> None:
    """Create what the deployment remembers, then answer AWS requests in threads."""
    functions = FunctionClient(plan["functions"])
    moto_dynamodb.lock_tables()
    moto_queues.lock_queues()
    moto_signatures.sign_digests()
    moto_tasks.reach(functions)
    create(plan)
    send_on(plan, functions)
    application = MotoApplication(listener.getsockname()[1])
    granted = {function: [Grant(**grant) for grant in grants] for function, grants in plan["grants"].items()}
    guard = Guard(granted, alias_of)
    local = credentials()
    secrets = dict.fromkeys((*granted, local["AWS_ACCESS_KEY_ID"]), local["AWS_SECRET_ACCESS_KEY"])

    def answer(request: Request) -> Response:
        own = (
            guard.answer(request)
            or links.refused(request, secrets, datetime.now(UTC))
            or moto_objects.refused(request)
        )
        if own is not None:
            return own
        short = moto_dynamodb.takes(request)
        return moto_dynamodb.answer(request) if short else application.answer(request)

    Server(answer, listener, name="aws").start()


def alias_of(arn: str) -> str:
    """Return the ARN of a key's alias, by which functions know it; any other ARN as it is."""
    prefix, is_a_key, key_id = arn.partition(":key/")
    key = kms_backends[ACCOUNT][REGION].keys.get(key_id) if is_a_key else None
    return f"{prefix}:{min(key.aliases)}" if key is not None and key.aliases else arn


def send_on(plan: dict[str, Any], functions: FunctionClient) -> None:
    """Send messages and changes to the functions that the deployment maps them to."""
    queues = [QueuePoller(QueueSource(**each), functions.invoke) for each in plan["queue_sources"]]
    streams = [StreamPoller(StreamSource(**each), functions.invoke) for each in plan["stream_sources"]]
    moto_changes.watch(streams)
    for queue in queues:
        queue.start()
    for stream in streams:
        stream.start()


def create(plan: dict[str, Any]) -> None:
    """Create the nested stack, as its template declares it, and the state machine."""
    default_user_config["stepfunctions"] = {"execute_state_machine": True}
    default_user_config["lambda"] = {"use_docker": False}
    cloudformation_backends[ACCOUNT][REGION].create_stack(
        name=plan["stack"],
        template=json.dumps(plan["state"]),
        parameters=plan["state_parameters"],
        notification_arns=[],
        tags={},
    )
    for key in kms_backends[ACCOUNT][REGION].keys.values():
        # CloudFormation hands it over as an object, everything else of moto reads it as text.
        policy: Any = key.policy
        key.policy = policy if isinstance(policy, str) else json.dumps(policy)
    for alias in plan["card_keys"]:
        moto_signatures.create_pair(kms_backends[ACCOUNT][REGION], alias)
    stepfunctions_parser_backends[ACCOUNT][REGION].create_state_machine(
        name=plan["state_machine"],
        definition=plan["state_machine_definition"],
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/local",
    )
    for name, text in plan["secrets"].items():
        keep(name, text)


def keep(name: str, text: str) -> None:
    """Put a secret into Secrets Manager."""
    secretsmanager_backends[ACCOUNT][REGION].create_secret(
        name=name,
        secret_string=text,
        secret_binary=None,
        description=None,
        tags=None,
        kms_key_id=None,
        client_request_token=None,
        replica_regions=[],
        force_overwrite=False,
    )
