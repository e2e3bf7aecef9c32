"""API Gateway → the HTTP+JSON binding, and the artifacts too large to be shown inside a task."""

from functools import partial
from typing import Any

from a2a_serverless.bindings import gateway, http_json
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.api import endpoint

ANSWER = partial(http_json.answer, endpoint(Settings.from_environment()))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return gateway.answer(event, ANSWER)
