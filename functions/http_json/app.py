"""API Gateway → the HTTP+JSON binding, and the artifacts too large to be shown inside a task."""

from functools import partial
from typing import Any

from a2a_serverless.bindings import gateway, http_json
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.api import endpoint

ENDPOINT = endpoint(Settings.from_environment())
BINDING = partial(http_json.answer, ENDPOINT)
ANSWER = gateway.stream if ENDPOINT.streaming else gateway.answer


def handler(event: dict[str, Any], context: object) -> dict[str, Any] | gateway.StreamedAnswer:
    return ANSWER(event, BINDING, gateway.deadline_of(context, ENDPOINT.ports.clock.now()))
