"""The table's stream → word to every webhook of a task that there is news, and to the event bus."""

from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from a2a_serverless.settings import Settings
from a2a_serverless.wiring.deliveries import fanout

TELL = fanout(Settings.from_environment())
LOGGER = Logger()


@LOGGER.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    TELL(event)
