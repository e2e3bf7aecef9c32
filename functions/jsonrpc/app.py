"""API Gateway → the JSON-RPC binding."""

from functools import partial
from typing import Any

from a2a_serverless.bindings import gateway, jsonrpc
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.api import endpoint

ENDPOINT = endpoint(Settings.from_environment())
BINDING = partial(jsonrpc.answer, ENDPOINT)
ANSWER = gateway.stream if ENDPOINT.streaming else gateway.answer


def handler(event: dict[str, Any], context: object) -> dict[str, Any] | gateway.StreamedAnswer:
    return ANSWER(event, BINDING, gateway.deadline_of(context, ENDPOINT.ports.clock.now()))
