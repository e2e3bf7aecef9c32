"""Who may have webhooks called, where, and what nobody is ever told about them (13.1, 13.2)."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.ports import Policy, WebhookPolicy
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused
from tests.fakes.ports import FakeSeals

URL = "https://receiver.example/hook"
CAPABILITIES = frozenset({"streaming", "push_notifications"})
SECRETS = {
    "token": "token-that-nobody-sees",
    "authentication": {"scheme": "Bearer", "credentials": "credentials-that-nobody-sees"},
}
SECRET = b"that-nobody-sees"

OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "CreateTaskPushNotificationConfig": {"id": "hook", "url": URL},
    "GetTaskPushNotificationConfig": {"id": "hook"},
    "ListTaskPushNotificationConfigs": {},
    "DeleteTaskPushNotificationConfig": {"id": "hook"},
}
"""The four of them, but for the task."""


def telling(**policy: Any) -> Deployment:
    return Deployment(policy=Policy(deduplicate=True, capabilities=CAPABILITIES, **policy))


def guarded(*, anonymous: bool = False) -> Deployment:
    tokens = [Token(name, hashlib.sha256(name.encode()).digest()) for name in ("alice", "bob")]
    return Deployment(
        policy=Policy(capabilities=CAPABILITIES), admittance=Admittance(tokens=tokens, anonymous=anonymous)
    )


def everybody(client: Client) -> dict[str, Client]:
    named = {name: client.with_headers(authorization=f"Bearer {name}") for name in ("alice", "bob")}
    return {**named, "nobody": client}


def create(client: Client, task_id: str, **fields: Any) -> Any:
    return client.call("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": URL, **fields})


# --- what comes back -------------------------------------------------


class BrokenSeals(FakeSeals):
    """A cipher whose complaints say too much."""

    def seal(self, secret: bytes, context: Mapping[str, str]) -> str:
        raise RuntimeError(f"cannot seal {secret.decode()}")


def everything_said(client: Client) -> Iterator[bytes]:
    """Each answer of a conversation in which a webhook is in everybody's hands, refusals included."""
    config = {"id": "hook", "url": URL, **SECRETS}
    asking: dict[str, Any] = {"configuration": {"taskPushNotificationConfig": config}}
    yield client.answer("SendMessage", client.message("tck-input-required", **asking)).body
    (task,) = client.list()["tasks"]
    of_task, hook = {"taskId": task["id"]}, {"taskId": task["id"], "id": "hook"}
    message = client.message("tck-input-required", taskId=task["id"], **asking)
    yield client.answer("SendStreamingMessage", message).body
    for more in (
        {},
        {"id": "another"},
        {"url": "https://127.0.0.1/"},
        {"url": ""},
        {"id": "a/b"},
        {"token": "\r"},
    ):
        yield client.answer("CreateTaskPushNotificationConfig", {**config, **of_task, **more}).body
    much = {"scheme": "Bearer", "credentials": SECRET.decode() * 400}
    yield client.answer(
        "CreateTaskPushNotificationConfig", {**config, **of_task, "authentication": much}
    ).body
    yield client.answer("GetTaskPushNotificationConfig", hook).body
    yield client.answer("ListTaskPushNotificationConfigs", of_task).body
    yield client.answer("GetTask", {"id": task["id"]}).body
    yield client.answer("ListTasks", {"includeArtifacts": True}).body
    yield client.answer("CancelTask", {"id": task["id"]}).body
    yield client.answer("DeleteTaskPushNotificationConfig", hook).body


@requirement("13.2:secrets")
def test_no_answer_ever_holds_what_a_webhook_is_believed_by(connect: Connect) -> None:
    client = connect(telling())

    said = list(everything_said(client))

    assert len(said) == 15
    assert [each for each in said if SECRET in each] == []
    assert client.deployment.ports.incidents.reported == []  # type: ignore[attr-defined]


@requirement("13.2:secrets")
def test_a_fault_while_a_webhook_is_created_tells_its_caller_nothing(connect: Connect) -> None:
    deployment = telling()
    webhooks = replace(deployment.webhooks, seals=BrokenSeals())
    deployment.endpoint = replace(deployment.endpoint, ports=replace(deployment.ports, webhooks=webhooks))
    client = connect(deployment)
    task = client.task("tck-input-required")
    inline = client.message("hi", configuration={"taskPushNotificationConfig": {"url": URL, **SECRETS}})

    for method, fields in (
        ("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": URL, **SECRETS}),
        ("SendMessage", inline),
        ("SendStreamingMessage", inline),
    ):
        with pytest.raises(Refused, match="INTERNAL_ERROR") as refused:
            client.call(method, fields)
        assert refused.value.metadata.keys() == {"errorId"}
    assert [facts for _, facts in deployment.ports.incidents.reported] == [{"request": ""}] * 3  # type: ignore[attr-defined]


@requirement("13.2:secrets")
def test_secrets_are_kept_sealed_for_their_webhook_alone(connect: Connect) -> None:
    client = connect(telling())
    task = client.task("tck-input-required")

    create(client, task["id"], id="hook", **SECRETS)

    assert SECRET.decode() not in repr(client.deployment.table.items)
    assert client.deployment.webhooks.seals.opened == 0


# --- who -------------------------------------------------


@requirement("3.3.2:credentials-are-required")
@pytest.mark.parametrize("method", [*OPERATIONS, "SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("authorization", [None, "Bearer wrong"])
def test_a_stranger_is_sent_away_before_anybody_looks_at_the_webhook(
    connect: Connect, method: str, authorization: str | None
) -> None:
    client = connect(guarded()).with_headers(authorization=authorization)
    config = {"id": "a/b", "url": "http://169.254.169.254/", "token": "a\r\nb"}
    inline = client.message("hi", configuration={"taskPushNotificationConfig": config})
    fields = inline if method.startswith("Send") else {"taskId": "no such task", **config}

    with pytest.raises(Refused, match="UNAUTHENTICATED"):
        client.call(method, fields)

    assert client.deployment.webhooks.names.asked == []
    assert client.deployment.table.items == {}


def answers(client: Client, task_id: str, **fields: str) -> list[tuple[int, Mapping[str, str], bytes]]:
    """Everything that the four operations answer about a task."""
    found = []
    for method, others in OPERATIONS.items():
        answer = client.answer(method, {"taskId": task_id, **others, **fields})
        assert b"TASK_NOT_FOUND" in answer.body
        found.append((answer.status, answer.headers, answer.body))
    return found


@requirement("13.1:foreign-is-missing")
@pytest.mark.parametrize(("owner", "other"), [("alice", "bob"), ("alice", "nobody"), ("nobody", "alice")])
def test_webhooks_of_somebody_elses_task_are_answered_for_like_those_of_none(
    connect: Connect, owner: str, other: str
) -> None:
    who = everybody(connect(guarded(anonymous=True)))
    task = who[owner].task("tck-input-required")
    create(who[owner], task["id"], id="hook")

    assert answers(who[other], task["id"]) == answers(who[other], "no-such-task")

    hers = who[owner].call("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
    assert [config["id"] for config in hers["configs"]] == ["hook"]


@requirement("13.1:foreign-is-missing")
def test_the_name_of_somebody_elses_webhook_means_nothing_for_ones_own_task(connect: Connect) -> None:
    who = everybody(connect(guarded()))
    hers, his = (who[name].task("tck-input-required") for name in ("alice", "bob"))
    create(who["alice"], hers["id"], id="hook")

    def read(name: str) -> bytes:
        return who["bob"].answer("GetTaskPushNotificationConfig", {"taskId": his["id"], "id": name}).body

    assert read("hook") == read("no-such-hook")


@requirement("13.1:tenants-are-apart")
@pytest.mark.parametrize("other", [{}, {"tenant": "another"}])
def test_webhooks_belong_to_their_tenant(connect: Connect, other: dict[str, str]) -> None:
    client = connect(telling())
    task = client.task("tck-input-required", tenant="acme")
    create(client, task["id"], id="hook", tenant="acme")

    assert answers(client, task["id"], **other) == answers(client, "no-such-task", **other)

    assert client.call(
        "GetTaskPushNotificationConfig", {"taskId": task["id"], "id": "hook", "tenant": "acme"}
    )


# --- where -------------------------------------------------

HOSTILE = [
    "http://receiver.example/hook",
    "ftp://receiver.example/hook",
    "receiver.example/hook",
    "https://user:secret@receiver.example/",
    "https://localhost/",
    "https://127.0.0.1:8443/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://metadata.google.internal/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fd00:ec2::254]/",
    "https://receiver.example./hook",
    "https://receiver.example:22/",
    "https://receiver.example:6379/",
    "https://receiver.example\\@127.0.0.1/",
    "https://receiver.example/\r\nX-Injected: 1",
    "https://private.example/",
    "https://half-private.example/",
]


@requirement("13.2:urls")
@pytest.mark.parametrize("url", HOSTILE)
def test_a_webhook_leads_to_a_public_host_or_is_refused_by_the_name_of_its_url(
    connect: Connect, url: str
) -> None:
    deployment = telling()
    deployment.webhooks.names.known |= {
        "private.example": ("192.168.0.7",),
        "half-private.example": ("93.184.215.14", "::1"),
    }
    client = connect(deployment)
    task = client.task("tck-input-required")

    with pytest.raises(Refused, match="INVALID_PARAMS") as refused:
        create(client, task["id"], url=url)

    assert list(refused.value.fields) == ["url"]
    assert client.call("ListTaskPushNotificationConfigs", {"taskId": task["id"]}) == {}


@requirement("13.2:urls")
@pytest.mark.parametrize(
    "url",
    [
        "https://receiver.example",
        "https://receiver.example:8443/hook?tenant=a&b=%20",
        "https://93.184.215.14/",
        "https://unknown.example/",
    ],
)
def test_a_webhook_at_a_public_host_is_taken_and_shown_as_it_was_given(connect: Connect, url: str) -> None:
    deployment = telling()
    deployment.webhooks.names.known["unknown.example"] = ()
    client = connect(deployment)
    task = client.task("tck-input-required")

    assert create(client, task["id"], url=url)["url"] == url


@requirement("13.2:urls")
def test_a_host_that_turned_private_is_not_called(connect: Connect) -> None:
    client = connect(telling())
    task = client.task("tck-input-required")
    create(client, task["id"])
    client.deployment.webhooks.names.known["receiver.example"] = ("10.0.0.1",)

    client.send("tck-complete-task", taskId=task["id"])

    assert client.deployment.deliver() == []
    (letter,) = client.deployment.webhooks.letters.lying
    assert letter.reason == "the URL leads to an address that is not public"


@requirement("13.2:urls")
@pytest.mark.parametrize(
    ("url", "policy"),
    [
        ("http://receiver.example:8080/", WebhookPolicy(plain_http=True)),
        ("http://localhost:8080/", WebhookPolicy(loopback=True)),
        ("http://127.0.0.1:8080/", WebhookPolicy(loopback=True)),
    ],
)
def test_a_deployment_for_tests_may_take_more(connect: Connect, url: str, policy: WebhookPolicy) -> None:
    deployment = telling(webhooks=policy)
    deployment.webhooks.names.known["localhost"] = ("127.0.0.1",)
    client = connect(deployment)
    task = client.task("tck-input-required")

    assert create(client, task["id"], url=url)["url"] == url
