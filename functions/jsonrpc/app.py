"""API Gateway → the JSON-RPC binding."""

from functools import partial
from typing import Any

from a2a_serverless.bindings import gateway, jsonrpc
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.api import endpoint

ANSWER = partial(jsonrpc.answer, endpoint(Settings.from_environment()))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return gateway.answer(event, ANSWER)
