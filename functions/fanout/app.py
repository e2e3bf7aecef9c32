"""The table's stream → word to every webhook of a task that there is news, and to the event bus."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from a2a_serverless.settings import Settings
from a2a_serverless.wiring.deliveries import fanout
from a2a_serverless.wiring.logs import logger

SETTINGS = Settings.from_environment()
TELL = fanout(SETTINGS)
LOGGER = logger(SETTINGS)


@LOGGER.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    TELL(event)
