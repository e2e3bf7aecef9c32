"""What is asked of the table about a task of somebody else is what is asked about one that never was.

So neither how long an answer takes nor what it costs can tell the two apart: a key holds whose the task is,
and another's is never even asked for.
"""

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from a2a_serverless.ports import owner_of
from tests.integration.functions.aws_requests import AwsRequests
from tests.integration.functions.deployment import Deployed, StreamingDeployed, api_event, message

NEVER = "00000000-0000-4000-8000-ffffffffffff"
HOOK = {"id": "hook", "url": "https://93.184.215.14/hook", "token": "secret"}
CONTENT = bytes(range(256)) * 2048


def own_task(deployed: Deployed) -> str:
    """A task that has ended, with a webhook, and with content that is too big for the log."""
    raw = {"raw": base64.b64encode(CONTENT).decode(), "mediaType": "image/png"}
    params = {
        "message": {**message("", "foreign-1"), "parts": [raw]},
        "configuration": {"returnImmediately": True},
    }
    task_id = deployed.call("SendMessage", params)["result"]["task"]["id"]
    deployed.invoke("turn", deployed.started(task_id))
    created = deployed.call("CreateTaskPushNotificationConfig", {"taskId": task_id, **HOOK})
    assert created["result"]["id"] == "hook"
    return str(task_id)


WAYS = {
    "GetTask": ("GET", "/tasks/TASK", None),
    "SubscribeToTask": ("GET", "/tasks/TASK:subscribe", None),
    "CancelTask": ("POST", "/tasks/TASK:cancel", {}),
    "SendMessage": ("POST", "/message:send", {"message": message("hi", "m", taskId="TASK")}),
    "SendStreamingMessage": ("POST", "/message:stream", {"message": message("hi", "m", taskId="TASK")}),
    "artifacts": ("GET", "/artifacts/TASK/echo/0", None),
    "history": ("GET", "/artifacts/TASK/history/0/0", None),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/TASK/pushNotificationConfigs", HOOK),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/TASK/pushNotificationConfigs/hook", None),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/TASK/pushNotificationConfigs", None),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/TASK/pushNotificationConfigs/hook", None),
}
"""An address and a body for each way to name a task."""


def asked(streaming: StreamingDeployed, way: str, task_id: str) -> dict[str, Any]:
    """The event that asks about the task."""
    verb, path, body = WAYS[way]
    event = api_event(verb, path.replace("TASK", task_id), body)
    return {**event, "body": event["body"] and event["body"].replace("TASK", task_id)}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_is_asked_of_aws_about_a_foreign_task_and_about_none(
    deployed: Deployed, streaming: StreamingDeployed, requests: AwsRequests, foreign: str, way: str
) -> None:
    told = {}
    for task_id in (foreign, NEVER):
        requests.taken()
        prelude, pieces = streaming.answer("http_json", asked(streaming, way, task_id))
        assert (prelude["statusCode"], b"TASK_NOT_FOUND" in b"".join(pieces)) == (404, True)
        told[task_id] = [
            f"{name} {keys_of(params)}".replace(task_id, "…") for name, params in requests.taken()
        ]

    assert told[foreign] == told[NEVER] != []
    assert owner_of("local", "local") not in str(told)


def keys_of(params: Mapping[str, Any]) -> list[Any]:
    """The keys of the items that a request is about."""
    if "RequestItems" in params:
        return [key for asked in params["RequestItems"].values() for key in asked["Keys"]]
    return [params["Key"]]


@pytest.fixture(scope="module")
def foreign(deployed: Deployed) -> str:
    """A task of the principal "local"; those who stream are another."""
    return own_task(deployed)
