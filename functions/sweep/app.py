"""Every minute → a sweep; the state machine's last resort → the turn it names has failed."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from a2a_serverless.bindings.gateway import deadline_of
from a2a_serverless.bindings.turn_input import turn_of
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.turns import fail_turn
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.logs import logger
from a2a_serverless.wiring.world import ports

SETTINGS = Settings.from_environment()
PORTS = ports(SETTINGS)
LOGGER = logger(SETTINGS)

ONE_ENTRY = timedelta(seconds=5)
"""What the last entry may take."""


@LOGGER.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    if "fail" in event:
        turn = turn_of(event["fail"])
        LOGGER.append_keys(task=turn.task.task_id, turn=turn.turn)
        fail_turn(PORTS, turn)
    else:
        sweep(PORTS, deadline_of(context, PORTS.clock.now()) - ONE_ENTRY)
