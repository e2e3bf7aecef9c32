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
from moto.core.responses import ActionResult
from moto.core.utils import method_names_from_class
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.models.utilities import dynamo_json_dump
from moto.dynamodb.responses import DynamoHandler

from infra.local.deployment import ACCOUNT, REGION
from infra.local.moto_update import plain_update
from infra.local.wire import Request, Response

TARGET: Final = "DynamoDB_20120810."
"""Prefix of X-Amz-Target; DynamoDB Streams has another one and takes the long way."""

ITEM_OPERATIONS: Final = frozenset(
    {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"}
)
MEMBERS: Final = frozenset(
    {
        "Attributes",
        "Count",
        "Item",
        "Items",
        "LastEvaluatedKey",
        "Responses",
        "ScannedCount",
        "UnprocessedKeys",
    }
)
"""What those answer; nobody here asks for consumed capacity."""

RETURN_VALUES: Final = ("NONE", "ALL_NEW")

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
        self.operation = target.removeprefix(TARGET)
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

    def serialized(self, action_result: ActionResult) -> Any:  # noqa: ANN401 - moto's own type is a union of tuples
        """Write items as they are: they are in DynamoDB's JSON already."""
        result = action_result.result
        if self.operation not in ITEM_OPERATIONS or not isinstance(result, dict):
            return super().serialized(action_result)
        given = {name: value for name, value in result.items() if value is not None and name in MEMBERS}
        headers = {"Content-Type": "application/x-amz-json-1.0", **self.response_headers}
        return HTTPStatus.OK.value, headers, dynamo_json_dump(given)

    def update_item(self) -> Any:  # noqa: ANN401 - moto's own type is private
        parameters = self.params
        table = self.dynamodb_backend.get_table(parameters["TableName"])
        update = plain_update(parameters, frozenset(table.table_key_attrs))
        wanted = parameters.get("ReturnValues", "NONE")
        key = parameters["Key"]
        if update is None or wanted not in RETURN_VALUES or key.keys() != set(table.table_key_attrs):
            return super().update_item()
        current = table.get_item(DynamoType(key[table.hash_key_attr]), DynamoType(key[table.range_key_attr]))
        item = table.put_item(
            update.applied_to(current.to_json()["Attributes"] if current else key),
            condition_expression=parameters.get("ConditionExpression"),
            expression_attribute_names=parameters.get("ExpressionAttributeNames"),
            expression_attribute_values=parameters.get("ExpressionAttributeValues"),
            return_values_on_condition_check_failure=parameters.get("ReturnValuesOnConditionCheckFailure"),
        )
        return ActionResult({"Attributes": item.to_json()["Attributes"]} if wanted == "ALL_NEW" else {})


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
