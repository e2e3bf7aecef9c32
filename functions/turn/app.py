"""Step Functions → one segment of a turn: runs the agent and records what it does."""

import os
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from a2a_serverless.bindings.turn_input import turn_of
from a2a_serverless.operations.turns import AgentStillRunningError, run_turn
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import policy
from a2a_serverless.wiring.deployer import agent, profile
from a2a_serverless.wiring.logs import logger
from a2a_serverless.wiring.world import ports

SETTINGS = Settings.from_environment()
PORTS = ports(SETTINGS, policy(SETTINGS, profile(SETTINGS)))
AGENT = agent(SETTINGS)
LOGGER = logger(SETTINGS)


@LOGGER.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    turn = turn_of(event)
    LOGGER.append_keys(task=turn.task.task_id, turn=turn.turn)
    try:
        run_turn(PORTS, AGENT, turn, lambda: context.get_remaining_time_in_millis() / 1000)
    except AgentStillRunningError:
        LOGGER.exception(
            "The agent does not stop; this process ends so that the next turn has one of its own."
        )
        os._exit(1)
