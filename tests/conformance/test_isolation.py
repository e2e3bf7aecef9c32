"""Whose is what: to everybody else it is not there, by no operation and in no byte of an answer (13.1).

Every way to name a task is tried on tasks that are somebody else's, in each way in which a task can be
somebody else's, and what is answered is held against the answer about a task that never was.
"""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from a2a_serverless.bindings import http_json
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.bindings.caller.access import Access
from a2a_serverless.bindings.caller.basic import Basic, HashedPassword, Login
from a2a_serverless.bindings.caller.schemes import ApiKeys, Bearer
from a2a_serverless.bindings.http import HttpRequest, HttpResponse
from a2a_serverless.ports import Policy
from a2a_serverless.ports.access import UnbelievedTokenError, VerifiedToken
from a2a_serverless.protocol.operations import OPERATIONS
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Fields, Refused, whole

NEVER = "00000000-0000-4000-8000-ffffffffffff"
"""A task that never was."""

NEVER_OVER = datetime.max.replace(tzinfo=UTC)

ISSUED: Mapping[str, tuple[str, str | None]] = {
    "ann-at-acme": ("ann", "acme"),
    "ann-at-globex": ("ann", "globex"),
    "alice-elsewhere": ("alice", None),
}
"""Tokens of an issuer: whose they are, and for which tenant."""


class Issued:
    """Tokens that are believed by their names."""

    def verify(self, token: str) -> VerifiedToken:
        """Who bears it."""
        if token not in ISSUED:
            raise UnbelievedTokenError
        subject, tenant = ISSUED[token]
        return VerifiedToken(
            "https://issuer.example", subject, datetime.max.replace(tzinfo=UTC), tenant=tenant
        )


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def door(*, bearer: str = "alice") -> Admittance:
    """Alice by three schemes and Bob by one, beside whomever an issuer vouches for, and nobody."""
    tokens = (Token("alice", digest(bearer)), Token("bob", digest("bob")))
    login = Login("alice", "alice@example.com", HashedPassword(digest("password")))
    key = Token("alice", digest("key"))
    access = Access((Bearer(tokens, (), Issued()), Basic([login]), ApiKeys("X-API-Key", (key,))))
    return Admittance(access=lambda: access, anonymous=True)


def deployment() -> Deployment:
    capabilities = frozenset({"streaming", "push_notifications"})
    return Deployment(policy=Policy(deduplicate=True, capabilities=capabilities), admittance=door())


def speaking(client: Client, who: str) -> Client:
    """The client with somebody's token; "nobody" has none."""
    return client.with_headers(authorization=None if who == "nobody" else f"Bearer {who}")


TEXTS = ("tck-input-required", "tck-artifact-text")
"""A task that waits, and one that has ended."""


# --- a task of somebody else ------------------------------------------------


@dataclass(frozen=True)
class Others:
    """Whose the task is, who asks for it, and which tenant each of them names."""

    owner: str
    asker: str
    owners: Mapping[str, str] = field(default_factory=dict)
    askers: Mapping[str, str] = field(default_factory=dict)


ACME, GLOBEX = {"tenant": "acme"}, {"tenant": "globex"}

OTHERS = {
    "another caller's": Others("alice", "bob"),
    "another caller's of one tenant": Others("alice", "bob", ACME, ACME),
    "one's own of another tenant": Others("alice", "alice", ACME, GLOBEX),
    "one's own of a tenant": Others("alice", "alice", ACME, {}),
    "one's own of no tenant": Others("alice", "alice", {}, ACME),
    "nobody's": Others("nobody", "alice"),
    "somebody's": Others("alice", "nobody"),
    "somebody's of the same name elsewhere": Others("alice", "alice-elsewhere"),
    "of the tenant of another token": Others("ann-at-acme", "ann-at-globex"),
    "of a tenant that the token is not for": Others("ann-at-acme", "ann-at-globex", {}, ACME),
}


Way = Callable[[Client, str, Fields], HttpResponse]


def calling(method: str, *, name: str = "id", **fields: Any) -> Way:
    """Name the task in a field of an operation's request."""
    return lambda client, task, more: client.answer(method, {name: task, **fields, **more})


def sending(method: str, **fields: Any) -> Way:
    """Name the task in a message."""
    return lambda client, task, more: client.answer(
        method, client.message("go on", "m", taskId=task, **fields, **more)
    )


def replaying(position: str) -> Way:
    """Go on with a stream of the task from where one was left."""
    return lambda client, task, more: client.with_headers(last_event_id=position).answer(
        "SubscribeToTask", {"id": task, **more}
    )


def replaying_by_query(client: Client, task: str, more: Fields) -> HttpResponse:
    asking = replace(client, query={"lastEventId": ("1",)})
    return asking.answer("SubscribeToTask", {"id": task, **more})


def fetching(place: str, verb: str = "GET", **headers: str) -> Way:
    """Ask for content of the task at its own address, which there is in one binding only."""

    def fetch(client: Client, task: str, more: Fields) -> HttpResponse:
        path = f"/{more['tenant']}/artifacts/{task}/{place}" if more else f"/artifacts/{task}/{place}"
        asked = {**client.headers, **{name.replace("_", "-"): (value,) for name, value in headers.items()}}
        return whole(http_json.answer(client.deployment.endpoint, HttpRequest(verb, path, asked)))

    return fetch


WEBHOOK = {"id": "hook", "url": "https://receiver.example/hook"}

WAYS: Mapping[str, Way] = {
    "GetTask": calling("GetTask"),
    "GetTask with history": calling("GetTask", historyLength=10),
    "SubscribeToTask": calling("SubscribeToTask"),
    "SubscribeToTask again": replaying("1"),
    "SubscribeToTask from nowhere": replaying("x"),
    "SubscribeToTask by query": replaying_by_query,
    "GetTaskPushNotificationConfig": calling("GetTaskPushNotificationConfig", name="taskId", id="hook"),
    "ListTaskPushNotificationConfigs": calling("ListTaskPushNotificationConfigs", name="taskId"),
    "CreateTaskPushNotificationConfig": calling("CreateTaskPushNotificationConfig", name="taskId", **WEBHOOK),
    "artifact": fetching("artifact/0"),
    "artifact's headers": fetching("artifact/0", "HEAD"),
    "artifact if it changed": fetching("artifact/0", if_none_match="*"),
    "history": fetching("history/0/0"),
    "status": fetching("status/message/0"),
    "DeleteTaskPushNotificationConfig": calling("DeleteTaskPushNotificationConfig", name="taskId", id="hook"),
    "SendMessage": sending("SendMessage"),
    "SendMessage in a context": sending("SendMessage", contextId="shared"),
    "SendMessage with a webhook": sending(
        "SendMessage", configuration={"taskPushNotificationConfig": WEBHOOK}
    ),
    "SendStreamingMessage": sending("SendStreamingMessage"),
    "CancelTask": calling("CancelTask"),
}
"""Every way to name a task, those that end it last."""


@requirement("13.1:foreign-is-missing")
def test_every_operation_that_names_a_task_is_tried() -> None:
    named = {
        each.method for each in OPERATIONS if each.request.model_fields.keys() & {"id", "task_id", "message"}
    }

    assert named == {way.partition(" ")[0] for way in WAYS if way[0].isupper()}


def answers(client: Client, task_id: str, more: Fields) -> dict[str, HttpResponse]:
    return {name: way(client, task_id, more) for name, way in WAYS.items()}


def everything(stored: Deployment) -> tuple[object, ...]:
    """All that there is of anybody's: kept, running, announced, and open."""
    return (
        dict(stored.table.items),
        list(stored.executions.started),
        list(stored.executions.stopped),
        list(stored.webhooks.pokes.sent),
        dict(stored.ports.contents.stored),  # type: ignore[attr-defined]
        dict(stored.ports.streams.taken),  # type: ignore[attr-defined]
        list(stored.webhooks.names.asked),
    )


def watched_task(client: Client, text: str, more: Fields) -> str:
    """A task in the context "shared", with a webhook."""
    configuration = {"taskPushNotificationConfig": WEBHOOK}
    task = client.task(text, contextId="shared", configuration=configuration, **more)
    return str(task["id"])


@requirement("13.1:foreign-is-missing")
@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_task_of_somebody_else_is_answered_for_like_one_that_never_was(
    connect: Connect, others: Others, text: str
) -> None:
    client = connect(deployment())
    owner, asker = speaking(client, others.owner), speaking(client, others.asker)
    task_id = watched_task(owner, text, others.owners)
    before = everything(client.deployment)

    about = answers(asker, task_id, others.askers)
    about_none = answers(asker, NEVER, others.askers)

    assert about == about_none
    assert {answer.status for answer in about.values()} <= {200, 404}
    assert [name for name, answer in about.items() if b"TASK_NOT_FOUND" not in answer.body] == [
        "artifact's headers"
    ]
    seen = everything(client.deployment)
    assert seen[:-1] == before[:-1]


@requirement("13.1:foreign-is-missing")
@pytest.mark.parametrize("text", TEXTS)
def test_to_its_owner_a_task_is_there_in_each_of_these_ways(connect: Connect, text: str) -> None:
    client = speaking(connect(deployment()), "alice")

    own = answers(client, watched_task(client, text, {}), {})
    about_none = answers(client, NEVER, {})

    empty = {"tck-input-required": {"artifact"}, "tck-artifact-text": {"status"}}[text]
    alike = {name for name, answer in own.items() if answer == about_none[name]}
    assert {name.partition(" ")[0].partition("'")[0] for name in alike} == empty


@requirement("13.1:foreign-is-missing")
@pytest.mark.parametrize("method", ["ListTasks", "SendMessage", "SendStreamingMessage"])
def test_without_a_task_a_tenant_that_the_token_is_not_for_is_forbidden(
    connect: Connect, method: str
) -> None:
    client = speaking(connect(deployment()), "ann-at-globex")
    fields = ACME if method == "ListTasks" else client.message("hello", **ACME)

    with pytest.raises(Refused, match="PERMISSION_DENIED"):
        client.call(method, fields)

    assert client.deployment.table.items == {}


@requirement("13.1:tenants-are-apart")
def test_a_token_for_one_tenant_need_not_name_it(connect: Connect) -> None:
    ann = speaking(connect(deployment()), "ann-at-acme")
    task = ann.task("tck-input-required")

    assert ann.get(task["id"], **ACME) == ann.get(task["id"]) == task
    assert speaking(ann, "ann-at-globex").list()["tasks"] == []


# --- lists ------------------------------------------------


FILTERS: Mapping[str, tuple[Any, ...]] = {
    "contextId": (None, "shared", "hers"),
    "status": (None, "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"),
    "statusTimestampAfter": (None, "2026-01-01T00:00:00Z"),
    "includeArtifacts": (None, True),
}


@requirement("13.1:lists-are-ones-own")
@pytest.mark.parametrize("asker", ["bob", "nobody", "alice-elsewhere"])
def test_no_filter_and_no_cursor_makes_a_list_show_tasks_of_somebody_else(
    connect: Connect, asker: str
) -> None:
    client = connect(deployment())
    alice, other = speaking(client, "alice"), speaking(client, asker)
    hers = [alice.task(text, contextId=name) for text in TEXTS for name in ("shared", "hers")]
    own = [other.task(text, contextId="shared") for text in TEXTS]
    hers += [alice.task(text, contextId=name) for text in TEXTS for name in ("shared", "hers")]
    cursors = [alice.list(pageSize=size)["nextPageToken"] for size in range(1, len(hers))]

    for *given, cursor in product(*FILTERS.values(), ["", *cursors]):
        filters = {name: value for name, value in zip(FILTERS, given, strict=True) if value is not None}
        shown = other.list(**filters, pageToken=cursor)

        assert {task["id"] for task in shown["tasks"]} <= {task["id"] for task in own}
        assert shown["totalSize"] == other.list(**filters)["totalSize"] <= len(own)
        assert shown["nextPageToken"] == ""
    assert {task["id"] for task in other.list(pageToken=cursors[0])["tasks"]} == {task["id"] for task in own}


@requirement("13.1:foreign-is-missing")
def test_a_cursor_of_somebody_elses_webhooks_shows_ones_own_and_no_others(connect: Connect) -> None:
    client = connect(deployment())
    alice, bob = speaking(client, "alice"), speaking(client, "bob")
    hers, his = (watched_task(each, "tck-input-required", {}) for each in (alice, bob))
    for name in ("a", "b"):
        alice.call("CreateTaskPushNotificationConfig", {**WEBHOOK, "taskId": hers, "id": name})
    cursor = alice.call("ListTaskPushNotificationConfigs", {"taskId": hers, "pageSize": 1})["nextPageToken"]

    shown = bob.call("ListTaskPushNotificationConfigs", {"taskId": his, "pageToken": cursor})

    assert [(config["taskId"], config["id"]) for config in shown["configs"]] == [(his, "hook")]


# --- names that callers give ------------------------------------------------


@requirement("13.1:contexts-are-ones-own")
@pytest.mark.parametrize("asker", ["bob", "nobody", "alice-elsewhere"])
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
def test_the_context_of_somebody_else_is_a_new_context_of_ones_own(
    connect: Connect, asker: str, method: str
) -> None:
    client = connect(deployment())
    alice, other = speaking(client, "alice"), speaking(client, asker)
    hers = alice.task("tck-input-required", contextId="shared")

    answered = other.answer(method, other.message("tck-input-required", contextId="shared"))
    (own,) = other.list(historyLength=10)["tasks"]

    assert answered.status == 200
    assert own["id"] != hers["id"]
    assert (own["contextId"], len(own["history"])) == ("shared", 1)
    assert alice.get(hers["id"]) == hers
    # Each of them goes on with what is theirs, named by the context alone.
    for each, task in ((alice, hers), (other, own)):
        assert each.task("tck-input-required", contextId="shared")["id"] == task["id"]


@requirement("13.1:contexts-are-ones-own")
def test_somebody_who_works_in_a_context_of_that_name_holds_up_nobody_else(connect: Connect) -> None:
    client = connect(deployment())
    alice, bob = speaking(client, "alice"), speaking(client, "bob")
    running, client.deployment.executions.on_start = client.deployment.executions.on_start, None
    alice.send("tck-cancel", contextId="shared", configuration={"returnImmediately": True})
    client.deployment.executions.on_start = running

    with pytest.raises(Refused, match="already working"):
        alice.send("tck-complete-task", contextId="shared")
    assert bob.task("tck-complete-task", contextId="shared")["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("13.1:message-ids-are-ones-own")
@pytest.mark.parametrize("asker", ["bob", "nobody", "alice-elsewhere"])
@pytest.mark.parametrize("text", ["tck-complete-task", "tck-artifact-text"])
def test_the_message_id_of_somebody_else_is_new(connect: Connect, asker: str, text: str) -> None:
    client = connect(deployment())
    alice, other = speaking(client, "alice"), speaking(client, asker)
    hers = alice.task("tck-complete-task", message_id="m")

    own = other.task(text, message_id="m")

    assert own["id"] != hers["id"]
    assert [task["id"] for task in other.list()["tasks"]] == [own["id"]]
    assert alice.task("tck-complete-task", message_id="m")["id"] == hers["id"]


@requirement("13.1:message-ids-are-ones-own")
def test_a_message_id_is_new_in_every_tenant(connect: Connect) -> None:
    alice = speaking(connect(deployment()), "alice")

    tasks = {alice.task(message_id="m", **tenant)["id"] for tenant in ({}, ACME, GLOBEX) for _ in range(2)}

    assert len(tasks) == 3


@requirement("13.1:message-ids-are-ones-own")
def test_nobody_in_particular_sends_no_message_twice(connect: Connect) -> None:
    nobody = speaking(connect(deployment()), "nobody")

    tasks = [nobody.task(text, message_id="m") for text in ("tck-complete-task", *TEXTS, *TEXTS)]

    assert len({task["id"] for task in tasks}) == 5


@requirement("13.1:references-tell-nothing")
@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
def test_a_reference_to_a_task_of_somebody_else_is_like_one_to_no_task(
    connect: Connect, others: Others, method: str
) -> None:
    client = connect(deployment())
    owner, asker = speaking(client, others.owner), speaking(client, others.asker)
    task_id = owner.task("tck-artifact-text", **others.owners)["id"]

    def answer(referred: str) -> str:
        """All that is answered, but for ids and times, which are new each time."""
        message = asker.message("tck-complete-task", referenceTaskIds=[referred], **others.askers)
        told = asker.answer(method, message)
        return NEW.sub("…", f"{told.status} {told.headers} {told.body.decode()}")

    about = answer(task_id)

    assert about == answer(NEVER)
    assert "Generated text content" not in about


NEW = re.compile(r"00000000-0000-4000-8000-[0-9a-f]{12}|2026-\d\d-\d\dT[0-9:.]+Z")


# --- one principal ------------------------------------------------


SCHEMES: Mapping[str, Mapping[str, str]] = {
    "bearer": {"authorization": "Bearer alice"},
    "basic": {"authorization": f"Basic {b64encode(b'alice@example.com:password').decode()}"},
    "key": {"x-api-key": "key"},
    "bearer and key": {"authorization": "Bearer alice", "x-api-key": "key"},
}


@requirement("13.1:one-principal")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_by_whatever_scheme_somebody_calls_their_tasks_are_theirs(connect: Connect, scheme: str) -> None:
    client = connect(deployment())
    task = speaking(client, "alice").task("tck-input-required", message_id="m", contextId="c")

    again = client.with_headers(**SCHEMES[scheme])

    assert again.get(task["id"]) == task
    assert [each["id"] for each in again.list()["tasks"]] == [task["id"]]
    assert again.task("tck-input-required", message_id="m", contextId="c") == task
    assert again.task("tck-input-required", contextId="c")["id"] == task["id"]


@requirement("13.1:one-principal")
def test_credentials_of_two_people_are_nobodys(connect: Connect) -> None:
    client = connect(deployment()).with_headers(authorization="Bearer bob", x_api_key="key")

    with pytest.raises(Refused, match="UNAUTHENTICATED"):
        client.list()


@requirement("13.1:one-principal")
def test_a_new_credential_keeps_the_tasks_and_the_old_one_opens_nothing(connect: Connect) -> None:
    client = connect(deployment())
    alice = speaking(client, "alice")
    task = alice.task("tck-input-required", message_id="m")
    client.deployment.endpoint = replace(client.deployment.endpoint, admittance=door(bearer="rotated"))

    again = speaking(client, "rotated")

    assert again.get(task["id"]) == task
    assert again.task("tck-input-required", message_id="m") == task
    with pytest.raises(Refused, match="UNAUTHENTICATED"):
        alice.get(task["id"])


# --- tenants ------------------------------------------------


@requirement("13.1:tenants-are-apart")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.method)
def test_a_tenant_in_the_address_and_another_in_the_request_are_refused(
    connect: Connect, operation: Any
) -> None:
    client = speaking(connect(deployment()), "alice")
    task = client.task("tck-input-required", **ACME)
    before = everything(client.deployment)
    path = operation.path.replace("{id}", task["id"]).replace("{taskId}", task["id"])
    body = client.message("hi") if "message" in operation.request.model_fields else {}

    for verb in operation.verbs:
        sent = (
            {"body": json.dumps({**body, **GLOBEX}).encode()}
            if verb == "POST"
            else {"query": {"tenant": ("globex",)}}
        )
        request = HttpRequest(verb, f"/acme{path}", client.headers, **sent)
        answer = whole(http_json.answer(client.deployment.endpoint, request))

        assert (answer.status, b'"field":"tenant"' in answer.body) == (400, True), answer.body
    assert everything(client.deployment) == before
