"""Versions, extensions and the optional parts of the protocol (specification 3.3.4, 3.6, 4.6)."""

from dataclasses import replace

import pytest

from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.protocol.card import AgentExtension
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused

REQUIRED, OPTIONAL = "https://example.com/ext/required/v1", "https://example.com/ext/optional/v1"
CONFIG = {"taskId": "t", "id": "c"}


def extended() -> Deployment:
    deployment = Deployment()
    extensions = (AgentExtension(uri=REQUIRED, required=True), AgentExtension(uri=OPTIONAL))
    deployment.endpoint = Endpoint(deployment.ports, deployment.admittance, extensions)
    return deployment


@requirement("3.6.2:absent-means-0.3")
@pytest.mark.parametrize("version", [None, "", "0.3", "0.3.0"])
def test_a_request_without_a_version_is_one_of_a_version_not_served(
    client: Client, version: str | None
) -> None:
    with pytest.raises(Refused, match="VERSION_NOT_SUPPORTED") as refused:
        client.with_headers(a2a_version=version).list()

    assert refused.value.metadata == {"supportedVersions": "1.0"}


@requirement("3.6.2:unsupported-version")
@pytest.mark.parametrize("version", ["99.0", "1.1", "1", "one", "1.0, 0.3", "2.0"])
def test_a_version_that_is_not_served_is_refused(client: Client, version: str) -> None:
    with pytest.raises(Refused, match="VERSION_NOT_SUPPORTED"):
        client.with_headers(a2a_version=version).send("tck-complete-task")

    assert client.list()["tasks"] == []


@requirement("3.6:patch-does-not-count")
def test_the_patch_number_of_a_version_does_not_count_and_the_answer_says_what_was_served(
    client: Client,
) -> None:
    _, response = client.with_headers(a2a_version="1.0.7").respond("ListTasks", {})

    assert response.headers["A2A-Version"] == "1.0"


@requirement("3.6.1:version-in-the-query")
def test_the_version_may_come_in_the_query(client: Client) -> None:
    asking = replace(client.with_headers(a2a_version=None), query={"A2A-Version": ("1.0",)})

    assert asking.list()["tasks"] == []


@requirement("3.3.4:streaming-undeclared")
@pytest.mark.parametrize(
    ("method", "fields"),
    [
        (
            "SendStreamingMessage",
            {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}},
        ),
        ("SendStreamingMessage", {}),
        ("SubscribeToTask", {"id": "t"}),
    ],
)
def test_streaming_is_refused_while_undeclared(
    client: Client, method: str, fields: dict[str, object]
) -> None:
    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.call(method, fields)

    assert client.list()["tasks"] == []


@requirement("3.3.4:push-undeclared")
@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("CreateTaskPushNotificationConfig", {"taskId": "t", "url": "https://example.com/hook"}),
        ("GetTaskPushNotificationConfig", CONFIG),
        ("ListTaskPushNotificationConfigs", {"taskId": "t"}),
        ("DeleteTaskPushNotificationConfig", CONFIG),
    ],
)
def test_webhooks_are_refused_while_undeclared(
    client: Client, method: str, fields: dict[str, object]
) -> None:
    with pytest.raises(Refused, match="PUSH_NOTIFICATION_NOT_SUPPORTED"):
        client.call(method, fields)


@requirement("3.3.4:push-undeclared")
def test_a_webhook_inside_a_message_is_refused_while_undeclared_and_nothing_begins(client: Client) -> None:
    hook = {"taskPushNotificationConfig": {"url": "https://example.com/hook"}}

    with pytest.raises(Refused, match="PUSH_NOTIFICATION_NOT_SUPPORTED"):
        client.send("tck-complete-task", configuration=hook)

    assert client.list()["tasks"] == []


@requirement("3.1.11:extended-card-undeclared")
def test_the_extended_card_is_refused_while_undeclared(client: Client) -> None:
    with pytest.raises(Refused, match="UNSUPPORTED_OPERATION"):
        client.call("GetExtendedAgentCard")


@requirement("3.3.4:required-extension")
@pytest.mark.parametrize("named", [None, OPTIONAL, "https://example.com/ext/required/v2"])
def test_a_client_that_does_not_name_a_required_extension_is_refused(
    connect: Connect, named: str | None
) -> None:
    with pytest.raises(Refused, match="EXTENSION_SUPPORT_REQUIRED") as refused:
        connect(extended()).with_headers(a2a_extensions=named).list()

    assert refused.value.metadata == {"extensions": REQUIRED}


@requirement("4.6:activated-extensions")
@pytest.mark.parametrize("header", ["a2a_extensions", "x_a2a_extensions"])
def test_the_answer_names_the_extensions_that_apply_and_no_others(connect: Connect, header: str) -> None:
    client = connect(extended()).with_headers(**{header: f"https://nobody.example/x, {OPTIONAL},{REQUIRED}"})

    _, response = client.respond("ListTasks", {})

    assert response.headers["A2A-Extensions"] == f"{OPTIONAL}, {REQUIRED}"
