"""A day in the life of a deployment, on which everything happens once that makes a function call AWS.

What only a crash brings about is brought about by setting the table back to what a crash leaves behind.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import boto3
import httpx

from a2a_serverless.protocol.operations import OPERATION_OF_METHOD
from infra.local.stack import Stack
from tests.e2e.receiver import Receiver

PATIENCE = 120.0
BINDINGS = ("JSONRPC", "HTTP+JSON")
LONG_AGO = {"S": "2026-01-01T00:00:00.000Z"}

BIG = [{"text": "echo", "metadata": {"x": "y" * 60_000}}] * 7
"""More than an item of the table holds, in whichever item it is."""

HEADERS = {"A2A-Version": "1.0", "Authorization": "Bearer alice-token"}


@dataclass(frozen=True)
class Day:
    """A stack, and clients of it and of its AWS."""

    stack: Stack
    http: httpx.Client
    dynamodb: Any
    functions: Any
    receiver: Receiver

    # --- callers ------------------------------------------------

    def call(self, binding: str, method: str, **fields: Any) -> Any:
        """What an operation answers over a binding, errors included."""
        if binding == "JSONRPC":
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": fields}
            reply = self.http.post("/", json=body).json()
            return reply.get("result", reply)
        operation = OPERATION_OF_METHOD[method]
        path, left = operation.path, dict(fields)
        for name in [name for name in left if f"{{{name}}}" in path]:
            path = path.replace(f"{{{name}}}", left.pop(name))
        verb = operation.verbs[0]
        sent: dict[str, Any] = {"json": left} if verb == "POST" else {"params": left}
        return self.http.request(verb, path, **sent).json()

    def send(self, binding: str, *parts: Mapping[str, Any], **asked: Any) -> Any:
        """The task that a message is answered with."""
        ids = {name: asked.pop(name) for name in ("taskId", "contextId") if name in asked}
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts, **ids}
        return self.call(binding, "SendMessage", message=message, configuration=asked).get("task")

    def hook(self, path: str, name: str = "hook") -> dict[str, Any]:
        """A webhook that has a secret."""
        url = path if path.startswith("http") else self.receiver.url(path)
        return {
            "id": name,
            "url": url,
            "token": "secret",
            "authentication": {"scheme": "X", "credentials": "y"},
        }

    # --- what is left behind ------------------------------------------------

    def sweep(self) -> None:
        """Sweep now, and not in a minute."""
        answer = self.functions.invoke(FunctionName="a2a-local-sweep", Payload=b"{}")
        assert "FunctionError" not in answer, answer["Payload"].read()

    def items(self, **having: str) -> list[dict[str, Any]]:
        """The items whose attributes begin with these texts."""
        names = {f"#{name}": name for name in having}
        values = {f":{name}": {"S": value} for name, value in having.items()}
        found = self.dynamodb.scan(
            TableName="a2a-local-taskstable",
            FilterExpression=" AND ".join(f"begins_with(#{name}, :{name})" for name in having),
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )
        return list(found["Items"])

    def put(self, item: Mapping[str, Any], **changed: Any) -> None:
        """Put an item back, changed."""
        self.dynamodb.put_item(TableName="a2a-local-taskstable", Item={**item, **changed})

    def delete(self, item: Mapping[str, Any]) -> None:
        """Delete an item."""
        self.dynamodb.delete_item(TableName="a2a-local-taskstable", Key={"pk": item["pk"], "sk": item["sk"]})

    def log_of(self, task: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All items of a task."""
        return [item for item in self.items(pk="TASK#") if item["pk"]["S"].endswith(task["id"])]

    def admission_of(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """The record of the message that began a task."""
        (record,) = [item for item in self.items(pk="MESSAGE#") if item["task_id"]["S"] == task["id"]]
        return record

    def made(self) -> dict[str, set[tuple[str, str]]]:
        """Which function has made which calls."""
        told = httpx.get(f"{self.stack.aws_endpoint}/local/calls-made").json()
        return {function: {(call, about) for call, about in calls} for function, calls in told.items()}

    def until_made(self, function: str, action: str, resource: str = "") -> None:
        """Wait until a function has made a call of something whose name ends so."""
        give_up, never = time.monotonic() + PATIENCE, threading.Event()
        while not any(
            call == action and about.endswith(resource) for call, about in self.made()[f"{function}-local"]
        ):
            if time.monotonic() > give_up:
                raise TimeoutError(f"{function} never made {action} of {resource}")
            never.wait(0.1)


@contextmanager
def day(stack: Stack, receiver: Receiver) -> Iterator[Day]:
    """The day of a stack."""
    session = boto3.session.Session("local", "local", region_name="us-east-1")
    dynamodb: Any = session.client("dynamodb", endpoint_url=stack.aws_endpoint)
    functions: Any = session.client("lambda", endpoint_url=stack.lambda_endpoint)
    with httpx.Client(base_url=stack.url, headers=HEADERS, timeout=PATIENCE) as http:
        yield Day(stack, http, dynamodb, functions, receiver)
    dynamodb.close()
    functions.close()


# --- what happens ------------------------------------------------


def everything(today: Day) -> None:
    """Let all of it happen, and be over."""
    for path in ("/.well-known/agent-card.json", "/.well-known/jwks.json"):
        assert today.http.get(path).status_code == 200
    big = {binding: talk(today, binding) for binding in BINDINGS}
    for context, binding in enumerate(BINDINGS):
        files(today, binding, f"filed-{context}")
    today.until_made("fanout", "events:PutEvents")
    webhooks(today)
    assert today.http.get("/.well-known/jwks.json").json()["keys"]
    crashes(today, big["JSONRPC"])


def talk(today: Day, binding: str) -> Any:
    """What callers do every day; returns a task with much in it."""
    big = today.send(binding, *BIG, taskPushNotificationConfig=today.hook("/hook"))
    assert big["status"]["state"] == "TASK_STATE_COMPLETED"
    assert today.call(binding, "GetTask", id=big["id"])["id"] == big["id"]
    spilt = today.send(binding, {"text": "spill 20"})
    assert spilt["status"]["state"] == "TASK_STATE_FAILED"
    running = today.send(binding, {"text": "think 600"}, returnImmediately=True)
    assert today.send(binding, {"text": "too soon"}, contextId=running["contextId"]) is None
    assert today.call(binding, "CancelTask", id=running["id"])["status"]["state"] == "TASK_STATE_CANCELED"
    for filters in ({}, {"contextId": big["contextId"]}):
        assert big["id"] in {task["id"] for task in today.call(binding, "ListTasks", **filters)["tasks"]}
    for signed in today.items(pk="CARD#"):
        today.delete(signed)  # or it would be signed only once
    assert "signatures" in today.call(binding, "GetExtendedAgentCard")
    return big


def files(today: Day, binding: str, context: str) -> None:
    """A caller uploads a file, and the agent is sent it."""
    described = {"name": "notes.txt", "mediaType": "text/plain", "byteSize": 5}
    offered = today.http.post(f"/contexts/{context}/files", json=described).json()
    upload = offered["upload"]
    answer = httpx.request(upload["method"], upload["url"], headers=upload["headers"], content=b"notes")
    assert answer.status_code == 200
    task = today.send(binding, {"text": "echo"}, offered["part"], contextId=context)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


def webhooks(today: Day) -> None:
    """Receivers that take it, take it later, have left for good, or are not there."""
    for binding in BINDINGS:
        gone = today.hook(f"/gone/{binding}", "gone")
        task = today.send(binding, {"text": "remember this"}, taskPushNotificationConfig=gone)
        today.until_made("push", "sqs:SendMessage", "deadlettersqueue")
        # Created again it lives, and is told of what it has missed.
        asked = {**gone, "taskId": task["id"]}
        assert today.call(binding, "CreateTaskPushNotificationConfig", **asked)["id"] == "gone"
        today.call(binding, "DeleteTaskPushNotificationConfig", taskId=task["id"], id="gone")
    today.send("JSONRPC", {"text": "echo"}, taskPushNotificationConfig=today.hook("/busy", "busy"))
    today.send("JSONRPC", {"text": "echo"}, taskPushNotificationConfig=today.hook("http://127.0.0.1:1/"))
    today.until_made("push", "sqs:SendMessage", "pokesqueue")
    today.until_made("push", "dynamodb:PutItem")


def crashes(today: Day, big: Mapping[str, Any]) -> None:
    """What the sweep finds when somebody died between two steps."""
    _as_if_only_asked(today, big)
    today.sweep()
    _as_if_its_turn_had_died(today, big)
    today.sweep()
    _as_if_never_delivered(today, big)
    _as_if_refused(today, today.send("JSONRPC", {"text": "echo"}))
    today.sweep()


def _as_if_only_asked(today: Day, task: Mapping[str, Any]) -> None:
    """The message was written down, and nothing was done about it."""
    for item in today.log_of(task):
        if not item["sk"]["S"].startswith("PUSH#"):
            today.delete(item)
    today.put(today.admission_of(task), status={"S": "pending"}, due_shard={"S": "DUE#00"}, due_at=LONG_AGO)


def _head(today: Day, task: Mapping[str, Any]) -> dict[str, Any]:
    (head,) = [item for item in today.log_of(task) if item["sk"]["S"] == "HEAD"]
    return head


def _as_if_its_turn_had_died(today: Day, task: Mapping[str, Any]) -> None:
    today.put(_head(today, task), due_shard={"S": "DUE#00"}, due_at=LONG_AGO)


def _as_if_never_delivered(today: Day, task: Mapping[str, Any]) -> None:
    (webhook,) = [item for item in today.log_of(task) if item["sk"]["S"].startswith("PUSH#")]
    today.put(webhook, cursor={"N": "0"})
    today.put(
        _head(today, task),
        due_shard={"S": "DUE#00"},
        due_at=LONG_AGO,
        push_ids={"SS": [webhook["sk"]["S"][5:]]},
    )


def _as_if_refused(today: Day, task: Mapping[str, Any]) -> None:
    """Its position was given up before whoever gave it up could take the record back."""
    for item in today.log_of(task):
        if item["sk"]["S"] == "EVENT#000000001":
            today.put(item, kind={"S": "void"}, body={"S": "{}"})
        else:
            today.delete(item)
    today.put(today.admission_of(task), status={"S": "pending"}, due_shard={"S": "DUE#00"}, due_at=LONG_AGO)
