"""The queue of pokes → deliveries to webhooks, all of a batch at once."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from a2a_serverless.settings import Settings
from a2a_serverless.wiring.deliveries import push
from a2a_serverless.wiring.logs import logger

SETTINGS = Settings.from_environment()
DELIVER = push(SETTINGS)
LOGGER = logger(SETTINGS)


@LOGGER.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    return DELIVER(event, context)
