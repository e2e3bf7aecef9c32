"""What webhooks are told, and what they are believed by (4.3)."""

import json
from typing import Any

import pytest

from a2a_serverless.ports import Policy
from a2a_serverless.ports.webhooks import WebhookRequest
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment

URL = "https://receiver.example/hook"


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client of a deployment that streams and calls webhooks."""
    return connect(Deployment(policy=Policy(capabilities=frozenset({"streaming", "push_notifications"}))))


def told(client: Client, trigger: str, **config: Any) -> list[WebhookRequest]:
    """Everything that a webhook is told of the turn that the trigger begins."""
    client.send(trigger, configuration={"taskPushNotificationConfig": {"url": URL, **config}})
    return client.deployment.deliver()


def said(requests: list[WebhookRequest]) -> list[str]:
    """Each of them in a word."""
    words = []
    for request in requests:
        ((kind, update),) = json.loads(request.body).items()
        words.append(
            update["status"]["state"].removeprefix("TASK_STATE_") if kind == "statusUpdate" else kind
        )
    return words


@requirement("4.3.3:at-least-once")
@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("tck-complete-task", ["WORKING", "COMPLETED"]),
        ("tck-stream-001", ["WORKING", "artifactUpdate", "COMPLETED"]),
        ("tck-stream-artifact-chunked", ["WORKING", "artifactUpdate", "COMPLETED"]),
        ("tck-input-required", ["WORKING", "INPUT_REQUIRED"]),
        ("tck-auth-required", ["WORKING", "AUTH_REQUIRED"]),
        ("tck-task-failure", ["WORKING", "FAILED"]),
        ("tck-reject-task", ["WORKING", "REJECTED"]),
    ],
)
def test_a_webhook_is_told_of_every_change_and_every_whole_artifact(
    client: Client, trigger: str, expected: list[str]
) -> None:
    assert said(told(client, trigger)) == expected


@requirement("4.3.3:at-least-once")
def test_a_webhook_is_told_of_a_cancelation_and_of_the_turns_after_a_question(client: Client) -> None:
    requests = told(client, "tck-input-required")
    (task,) = client.list()["tasks"]
    client.send("tck-input-required again", taskId=task["id"])
    client.cancel(task["id"])

    requests += client.deployment.deliver()

    assert said(requests) == ["WORKING", "INPUT_REQUIRED", "WORKING", "INPUT_REQUIRED", "CANCELED"]
    names = [request.headers["X-A2A-Event-Id"] for request in requests]
    assert len(set(names)) == len(names)


@requirement("4.3.3:payload")
def test_a_payload_is_what_a_stream_would_show_in_the_protocols_media_type(client: Client) -> None:
    working, artifact, completed = told(client, "tck-stream-001")
    (task,) = client.list(includeArtifacts=True)["tasks"]
    ids = {"taskId": task["id"], "contextId": task["contextId"]}

    assert {each.headers["Content-Type"] for each in (working, artifact, completed)} == {
        "application/a2a+json"
    }
    assert json.loads(working.body)["statusUpdate"].items() >= ids.items()
    assert json.loads(artifact.body) == {
        "artifactUpdate": {**ids, "artifact": task["artifacts"][0], "lastChunk": True}
    }
    assert json.loads(completed.body) == {"statusUpdate": {**ids, "status": task["status"]}}


@requirement("4.3.3:payload")
def test_an_artifact_that_was_streamed_in_pieces_is_told_whole_and_once(client: Client) -> None:
    _, artifact, _ = told(client, "tck-stream-artifact-chunked")

    update = json.loads(artifact.body)["artifactUpdate"]

    assert "append" not in update
    texts = [part["text"] for part in update["artifact"]["parts"]]
    assert "".join(texts) == "chunk one, chunk two, chunk three"


@requirement("4.3.2:credentials")
@pytest.mark.parametrize(
    ("authentication", "expected"),
    [
        (None, None),
        ({"scheme": "Bearer"}, None),
        ({"scheme": "Bearer", "credentials": "a.b-c"}, "Bearer a.b-c"),
        ({"scheme": "bearer", "credentials": "a b"}, "bearer a b"),
        ({"scheme": "Basic", "credentials": "alice:secret"}, "Basic YWxpY2U6c2VjcmV0"),
        ({"scheme": "Basic", "credentials": "YWxpY2U6c2VjcmV0"}, "Basic YWxpY2U6c2VjcmV0"),
        ({"scheme": "ApiKey", "credentials": "k=1, v=2"}, "ApiKey k=1, v=2"),
    ],
)
def test_a_webhook_is_called_with_the_authentication_it_was_given(
    client: Client, authentication: dict[str, str] | None, expected: str | None
) -> None:
    requests = told(client, "tck-complete-task", authentication=authentication, token="t-1")

    assert {each.headers.get("Authorization") for each in requests} == {expected}
    assert {each.headers["X-A2A-Notification-Token"] for each in requests} == {"t-1"}


@requirement("4.3.2:credentials")
def test_each_webhook_has_its_own_authentication(client: Client) -> None:
    task = client.task("tck-input-required")
    for name in ("one", "two"):
        fields = {"taskId": task["id"], "id": name, "url": f"{URL}/{name}", "token": f"token-{name}"}
        client.call("CreateTaskPushNotificationConfig", fields)

    client.send("tck-complete-task", taskId=task["id"])

    seen = {(each.url, each.headers["X-A2A-Notification-Token"]) for each in client.deployment.deliver()}
    assert seen == {(f"{URL}/one", "token-one"), (f"{URL}/two", "token-two")}
