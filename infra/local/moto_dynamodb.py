"""DynamoDB requests, answered by moto's handler without Flask in between, one at a time.

moto's tables are not thread-safe: without the lock two conditional writes on one item can both succeed, and a
failed transaction can undo other callers' writes. Everything else of moto (expressions, errors,
serialisation) is used as it is.
"""

import functools
import json
import threading
from http import HTTPStatus
from typing import Any, Final

from moto.core import responses
from moto.core.utils import method_names_from_class
from moto.dynamodb.responses import DynamoHandler

from infra.local.http import Request, Response
from infra.local.template import ACCOUNT, REGION

TARGET: Final = "DynamoDB_20120810."
"""Prefix of X-Amz-Target; DynamoDB Streams has another one and takes the long way."""

LOCK: Final = threading.RLock()


def lock_tables() -> None:
    """Put every call of moto's DynamoDB behind the lock, whichever way it comes."""
    unlocked = DynamoHandler.call_action

    @functools.wraps(unlocked)
    def call_action(handler: DynamoHandler) -> Any:  # noqa: ANN401 - moto's own type is a union of tuples
        with LOCK:
            return unlocked(handler)

    DynamoHandler.call_action = call_action  # type: ignore[method-assign]
    # Looked up for every request by walking the class; the class does not change.
    setattr(responses, method_names_from_class.__name__, functools.cache(method_names_from_class))


class DirectHandler(DynamoHandler):
    """moto's handler, set up from the few things a DynamoDB request consists of."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        target = request.header("x-amz-target")
        self.headers = {
            "Content-Type": request.header("content-type"),
            "X-Amz-Target": target,
            "x-amz-target": target,
        }
        self.response_headers = {"server": "amazon.com"}
        self.querystring: dict[str, Any] = {}
        self.uri_match: dict[str, Any] = {}
        self.method = request.method
        self.path = "/"
        self.partition = "aws"
        self.region = REGION
        self.current_account = ACCOUNT
        self.access_key = "AKIAEXAMPLE"
        self.params = json.loads(request.body)


def takes(request: Request) -> bool:
    """Say whether a request can go the short way; binary attributes need moto's full parser."""
    return request.header("x-amz-target").startswith(TARGET) and not any(
        mark in request.body for mark in (b'{"B":', b'{"BS":', b'"B": "')
    )


def answer(request: Request) -> Response:
    """Answer one DynamoDB request."""
    status, headers, body = DirectHandler(request).call_action()
    pairs = tuple((name, str(value)) for name, value in headers.items() if name.lower() != "status")
    return Response(HTTPStatus(status), pairs, body if isinstance(body, bytes) else body.encode())
