"""moto with this deployment's table, bucket and state machine in it, answering on one port.

The only file that says which of moto's backends exist here and how they are filled.
"""

import json
import socket
from typing import Any

from moto.cloudformation.models import cloudformation_backends
from moto.core.config import default_user_config
from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from infra.local import moto_dynamodb, moto_tasks
from infra.local.http import Server
from infra.local.moto_wsgi import MotoApplication
from infra.local.template import ACCOUNT, REGION
from infra.local.wire import Request, Response


def serve(listener: socket.socket, plan: dict[str, Any]) -> None:
    """Create what the deployment remembers, then answer AWS requests in threads."""
    moto_dynamodb.lock_tables()
    moto_tasks.reach_functions_at(plan["functions"])
    create(plan)
    application = MotoApplication(listener.getsockname()[1])

    def answer(request: Request) -> Response:
        short = moto_dynamodb.takes(request)
        return moto_dynamodb.answer(request) if short else application.answer(request)

    Server(answer, listener, name="aws").start()


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
    stepfunctions_parser_backends[ACCOUNT][REGION].create_state_machine(
        name=plan["state_machine"],
        definition=plan["state_machine_definition"],
        roleArn=f"arn:aws:iam::{ACCOUNT}:role/local",
    )
