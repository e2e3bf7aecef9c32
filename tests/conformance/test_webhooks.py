"""Webhooks as they are created, read, listed and deleted, or come with a message (3.1.7 to 3.1.10, 4.3)."""

from typing import Any

import pytest

from a2a_serverless.ports import Policy, WebhookPolicy
from a2a_serverless.ports.webhooks import WebhookAnswer
from tests.conformance.requirements import requirement
from tests.conformance.wire import Client, Connect, Deployment, Refused

URL = "https://receiver.example/hook"
TELLING = Policy(deduplicate=True, capabilities=frozenset({"streaming", "push_notifications"}))


@pytest.fixture
def client(connect: Connect) -> Client:
    """A client of a deployment that streams and calls webhooks."""
    return connect(Deployment(policy=TELLING))


def create(client: Client, task_id: str, **fields: Any) -> Any:
    return client.call("CreateTaskPushNotificationConfig", {"taskId": task_id, "url": URL, **fields})


def read(client: Client, task_id: str, config_id: str, **fields: Any) -> Any:
    return client.call("GetTaskPushNotificationConfig", {"taskId": task_id, "id": config_id, **fields})


def page(client: Client, task_id: str, **fields: Any) -> Any:
    return client.call("ListTaskPushNotificationConfigs", {"taskId": task_id, **fields})


def listed(client: Client, task_id: str, **fields: Any) -> list[str]:
    return [config["id"] for config in page(client, task_id, **fields).get("configs", [])]


def delete(client: Client, task_id: str, config_id: str, **fields: Any) -> None:
    answered = client.call("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": config_id, **fields})
    assert answered == (None if client.binding == "JSONRPC" else {})


def asking(**config: Any) -> dict[str, Any]:
    """The configuration of a message that a webhook comes with."""
    return {"taskPushNotificationConfig": {"url": URL, **config}}


def refused(client: Client, task_id: str, **fields: Any) -> dict[str, str]:
    """The fields for which a webhook is refused, each with why."""
    with pytest.raises(Refused, match="INVALID_PARAMS") as refusal:
        create(client, task_id, **fields)
    return refusal.value.fields


# --- create, read, list, delete -------------------------------------------------


@requirement("3.1.7:creates")
def test_a_webhook_gets_an_id_and_is_answered_with_it(client: Client) -> None:
    task = client.task("tck-input-required")

    first, second = create(client, task["id"]), create(client, task["id"])

    assert first == {"id": first["id"], "taskId": task["id"], "url": URL}
    assert first["id"] != second["id"]
    assert listed(client, task["id"]) == sorted([first["id"], second["id"]])


@requirement("3.1.7:creates")
def test_a_webhook_keeps_the_id_it_is_given(client: Client) -> None:
    task = client.task("tck-input-required", tenant="acme")

    made = create(client, task["id"], id="my-hook", tenant="acme")

    assert made == {"tenant": "acme", "id": "my-hook", "taskId": task["id"], "url": URL}
    assert read(client, task["id"], "my-hook", tenant="acme") == made


@requirement("3.1.7:creates")
@pytest.mark.parametrize("spelled", [{"id": ""}, {"authentication": None, "token": ""}])
def test_what_is_empty_is_as_good_as_left_out(client: Client, spelled: dict[str, Any]) -> None:
    task = client.task("tck-input-required")

    made = create(client, task["id"], **spelled)

    assert made == {"id": made["id"], "taskId": task["id"], "url": URL}


@requirement("3.1.7:replaces")
def test_a_webhook_under_the_id_of_another_takes_its_place_and_goes_on_where_that_was(client: Client) -> None:
    task = client.task("tck-input-required")
    create(client, task["id"], id="hook", token="old")
    client.send("tck-input-required again", taskId=task["id"])
    assert len(client.deployment.deliver()) == 2

    create(client, task["id"], id="hook", url=f"{URL}/elsewhere", token="new")
    client.send("tck-complete-task", taskId=task["id"])

    assert listed(client, task["id"]) == ["hook"]
    told = client.deployment.deliver()
    assert {(each.url, each.headers["X-A2A-Notification-Token"]) for each in told} == {
        (f"{URL}/elsewhere", "new")
    }
    assert len(told) == 2


@requirement("3.1.7:unknown-task")
def test_a_task_that_is_not_there_has_no_webhooks(client: Client) -> None:
    for act in (
        lambda: create(client, "no-such-task"),
        lambda: read(client, "no-such-task", "hook"),
        lambda: page(client, "no-such-task"),
        lambda: delete(client, "no-such-task", "hook"),
    ):
        with pytest.raises(Refused, match="TASK_NOT_FOUND"):
            act()


@requirement("3.1.7:of-ended-tasks")
@pytest.mark.parametrize("trigger", ["tck-complete-task", "tck-task-failure", "tck-reject-task"])
def test_a_task_that_has_ended_has_webhooks_like_any_and_tells_them_nothing(
    client: Client, trigger: str
) -> None:
    task = client.task(trigger)

    made = create(client, task["id"], id="late")

    assert client.deployment.deliver() == []
    assert read(client, task["id"], "late") == made
    assert listed(client, task["id"]) == ["late"]
    delete(client, task["id"], "late")
    assert listed(client, task["id"]) == []


@requirement("3.1.7:at-most-ten")
def test_a_task_takes_ten_webhooks_and_an_eleventh_in_place_of_one(client: Client) -> None:
    task = client.task("tck-input-required")
    for number in range(10):
        create(client, task["id"], id=f"hook-{number}")

    assert refused(client, task["id"]) == {"taskId": "has 10 webhooks already; delete one"}
    create(client, task["id"], id="hook-3")
    delete(client, task["id"], "hook-3")
    create(client, task["id"], id="another")

    assert len(listed(client, task["id"])) == 10


@requirement("3.1.7:at-most-ten")
def test_a_message_with_an_eleventh_webhook_is_refused_and_begins_nothing(client: Client) -> None:
    task = client.task("tck-input-required")
    for number in range(10):
        create(client, task["id"], id=f"hook-{number}")

    for send in (client.send, client.stream):
        with pytest.raises(Refused, match="INVALID_PARAMS") as refusal:
            send("tck-complete-task", taskId=task["id"], configuration=asking())
        assert refusal.value.fields == {"taskId": "has 10 webhooks already; delete one"}

    assert client.get(task["id"]) == task
    client.send("tck-complete-task", taskId=task["id"], configuration=asking(id="hook-3"))
    assert len(listed(client, task["id"])) == 10


@requirement("3.1.8:reads")
def test_a_webhook_is_read_as_it_was_created(client: Client) -> None:
    task = client.task("tck-input-required")

    made = create(client, task["id"], id="a.b:c_d-e", authentication={"scheme": "Basic", "credentials": "x"})

    assert made["authentication"] == {"scheme": "Basic"}
    assert read(client, task["id"], "a.b:c_d-e") == made
    assert page(client, task["id"])["configs"] == [made]


@requirement("3.1.8:unknown")
def test_a_webhook_that_is_not_there_cannot_be_read(client: Client) -> None:
    task, other = client.task("tck-input-required"), client.task("tck-input-required")
    create(client, other["id"], id="hook")

    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        read(client, task["id"], "hook")


@requirement("3.1.9:lists")
def test_a_list_holds_the_webhooks_of_its_task_and_no_others(client: Client) -> None:
    task, other = client.task("tck-input-required"), client.task("tck-input-required")
    for name in ("b", "a", "c"):
        create(client, task["id"], id=name)
    create(client, other["id"], id="d")

    assert listed(client, task["id"]) == ["a", "b", "c"]
    assert "nextPageToken" not in page(client, task["id"])


@requirement("3.1.9:pages")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_following_the_pages_shows_every_webhook_once(client: Client, size: int) -> None:
    task = client.task("tck-input-required")
    names = [f"hook-{number}" for number in range(7)]
    for name in names:
        create(client, task["id"], id=name)

    seen: list[str] = []
    wanted: dict[str, Any] = {"pageSize": size}
    while wanted:
        shown = page(client, task["id"], **wanted)
        assert len(shown["configs"]) <= size
        seen += [config["id"] for config in shown["configs"]]
        following = shown.get("nextPageToken")
        wanted = {"pageSize": size, "pageToken": following} if following else {}

    assert seen == names


@requirement("3.1.9:pages")
def test_a_page_goes_on_behind_a_webhook_that_was_deleted_meanwhile(client: Client) -> None:
    task = client.task("tck-input-required")
    for name in ("a", "b", "c", "d"):
        create(client, task["id"], id=name)
    following = page(client, task["id"], pageSize=2)["nextPageToken"]

    delete(client, task["id"], "b")

    assert listed(client, task["id"], pageToken=following) == ["c", "d"]


@requirement("3.1.9:page-size")
@pytest.mark.parametrize("size", [-1, 101, 2**31])
def test_a_page_of_webhooks_has_its_limits(client: Client, size: int) -> None:
    task = client.task("tck-input-required")
    create(client, task["id"], id="hook")

    with pytest.raises(Refused, match="INVALID_PARAMS") as refusal:
        page(client, task["id"], pageSize=size)

    assert list(refusal.value.fields) == ["pageSize"]
    assert listed(client, task["id"], pageSize=0) == ["hook"]


@requirement("3.1.9:page-token")
@pytest.mark.parametrize("token", ["x", "hook", "aG9vaw==", "ISE", "4pyT", "äöü", "aG9va w"])
def test_a_page_token_from_elsewhere_is_refused(client: Client, token: str) -> None:
    task = client.task("tck-input-required")

    with pytest.raises(Refused, match="INVALID_PARAMS") as refusal:
        page(client, task["id"], pageToken=token)

    assert refusal.value.fields == {"pageToken": "is not a token of an earlier page"}


@requirement("3.1.10:deletes")
def test_a_deleted_webhook_is_gone_and_told_of_nothing_more(client: Client) -> None:
    task = client.task("tck-input-required")
    create(client, task["id"], id="gone")
    create(client, task["id"], id="stays", url=f"{URL}/stays")

    delete(client, task["id"], "gone")

    client.send("tck-complete-task", taskId=task["id"])
    assert {each.url for each in client.deployment.deliver()} == {f"{URL}/stays"}
    assert listed(client, task["id"]) == ["stays"]
    with pytest.raises(Refused, match="TASK_NOT_FOUND"):
        read(client, task["id"], "gone")


@requirement("3.1.10:idempotent")
def test_deleting_a_webhook_twice_is_deleting_it(client: Client) -> None:
    task = client.task("tck-input-required")
    create(client, task["id"], id="hook")

    for name in ("hook", "hook", "never-there"):
        delete(client, task["id"], name)

    assert listed(client, task["id"]) == []


# --- with a message -------------------------------------------------


@requirement("3.2.2:webhook-in-a-message")
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
def test_a_webhook_that_comes_with_a_message_is_there_from_the_tasks_beginning(
    client: Client, method: str
) -> None:
    fields = client.message("tck-stream-001", configuration=asking(id="hook"))

    client.answer(method, fields)

    (task,) = client.list()["tasks"]
    assert read(client, task["id"], "hook") == {"id": "hook", "taskId": task["id"], "url": URL}
    assert len(client.deployment.deliver()) == 3


@requirement("3.2.2:webhook-in-a-message")
@pytest.mark.parametrize("config", [{}, {"id": "hook"}])
def test_a_webhook_that_comes_with_every_message_of_a_task_is_one(
    client: Client, config: dict[str, str]
) -> None:
    task = client.task("tck-input-required", configuration=asking(**config))
    client.send("tck-input-required", taskId=task["id"], configuration=asking(**config))
    list(client.stream("tck-complete-task", taskId=task["id"], configuration=asking(**config)))

    assert len(listed(client, task["id"])) == 1
    told = [each.headers["X-A2A-Event-Id"] for each in client.deployment.deliver()]
    assert len(told) == len(set(told)) == 6


@requirement("3.2.2:webhook-in-a-message")
def test_a_message_that_is_sent_again_registers_its_webhook_once(client: Client) -> None:
    first, again = (
        client.task("tck-complete-task", message_id="m-1", configuration=asking()) for _ in range(2)
    )
    assert first == again
    (name,) = listed(client, first["id"])

    delete(client, first["id"], name)
    client.send("tck-complete-task", message_id="m-1", configuration=asking())

    assert listed(client, first["id"]) == []


@requirement("3.2.2:webhook-in-a-message")
def test_a_message_that_is_sent_again_is_answered_though_its_task_has_no_room_left(client: Client) -> None:
    task = client.task("tck-input-required")
    again = {"message_id": "m-2", "taskId": task["id"], "configuration": asking(id="mine")}
    answered = client.send("tck-input-required", **again)
    delete(client, task["id"], "mine")
    for number in range(10):
        create(client, task["id"], id=f"hook-{number}")

    assert client.send("tck-input-required", **again) == answered


@requirement("3.2.2:webhook-in-a-message")
def test_a_webhook_that_comes_with_an_answer_hears_of_the_rest(client: Client) -> None:
    task = client.task("tck-input-required")

    client.send("tck-complete-task", taskId=task["id"], configuration=asking())

    told = client.deployment.deliver()
    assert len(told) == 2
    assert all(task["id"].encode() in each.body for each in told)


@requirement("3.2.2:webhook-in-a-message")
def test_an_answer_without_a_task_registers_nothing(client: Client) -> None:
    answer = client.send("tck-message-response", configuration=asking())

    assert list(answer) == ["message"]
    assert client.deployment.webhooks.seals.sealed == 0


@requirement("3.2.2:webhook-checks")
@pytest.mark.parametrize(
    "config",
    [
        {"url": "http://receiver.example/"},
        {"url": "https://127.0.0.1/"},
        {"url": "https://private.example/"},
        {"url": ""},
        {"url": None},
        {"url": "https://receiver.example/\r\nX-Injected: 1"},
        {"url": f"https://receiver.example/{'x' * 2048}"},
        {"token": "a\r\nX-Injected: 1"},
        {"token": "ä"},
        {"authentication": {}},
        {"authentication": {"scheme": "Bearer\r\nX", "credentials": "a\nb"}},
        {"token": "x" * 4001},
    ],
)
def test_what_cannot_be_created_cannot_come_with_a_message(client: Client, config: dict[str, Any]) -> None:
    client.deployment.webhooks.names.known["private.example"] = ("10.0.0.1",)
    task = client.task("tck-input-required")
    created = refused(client, task["id"], **config)

    for send in (client.send, client.stream):
        for ids in ({}, {"taskId": task["id"]}):
            with pytest.raises(Refused, match="INVALID_PARAMS") as refusal:
                send("tck-complete-task", configuration=asking(**config), **ids)
            assert refusal.value.fields == created

    assert [each["id"] for each in client.list()["tasks"]] == [task["id"]]
    assert client.get(task["id"]) == task
    assert listed(client, task["id"]) == []


@requirement("4.3.1:fields")
@pytest.mark.parametrize(
    ("config", "blamed"),
    [
        ({"id": "a/b"}, ["id"]),
        ({"id": "x" * 129}, ["id"]),
        ({"url": 7}, ["url"]),
        ({"token": ["x"]}, ["token"]),
        ({"authentication": "Bearer x"}, ["authentication"]),
        ({"authentication": {"credentials": "x"}}, ["authentication.scheme"]),
        ({"authentication": {"scheme": "Bear er"}}, ["authentication.scheme"]),
        ({"authentication": {"scheme": "x" * 65}}, ["authentication.scheme"]),
        ({"authentication": {"scheme": "Bearer", "credentials": "a\r\nb"}}, ["authentication.credentials"]),
        ({"authentication": {"scheme": "Bearer", "credentials": "a\x00b"}}, ["authentication.credentials"]),
        ({"authentication": {"scheme": "Bearer", "credentials": " a"}}, ["authentication.credentials"]),
        ({"authentication": {"scheme": "B\n", "credentials": "\u2028"}}, None),
        ({"token": "a\nb"}, ["token"]),
        ({"token": "a "}, ["token"]),
        ({"token": "x" * 2100, "authentication": {"scheme": "Bearer", "credentials": "x" * 2100}}, ["token"]),
    ],
)
def test_what_cannot_be_sent_to_a_webhook_is_refused_by_name(
    client: Client, config: dict[str, Any], blamed: list[str] | None
) -> None:
    task = client.task("tck-input-required")

    found = refused(client, task["id"], **config)

    assert list(found) == (blamed or ["authentication.credentials", "authentication.scheme"])
    assert listed(client, task["id"]) == []


@requirement("4.3.1:fields")
def test_secrets_have_room_for_a_long_token(client: Client) -> None:
    task = client.task("tck-input-required")

    create(client, task["id"], authentication={"scheme": "Bearer", "credentials": "x" * 3900})

    client.send("tck-complete-task", taskId=task["id"])
    assert {each.headers["Authorization"] for each in client.deployment.deliver()} == {f"Bearer {'x' * 3900}"}


@requirement("4.3.1:fields")
def test_a_deployment_may_have_room_for_fewer_webhooks(connect: Connect) -> None:
    few = Policy(capabilities=TELLING.capabilities, webhooks=WebhookPolicy(most=1))
    client = connect(Deployment(policy=few))
    task = client.task("tck-input-required")
    create(client, task["id"])

    assert refused(client, task["id"]) == {"taskId": "has 1 webhooks already; delete one"}


@requirement("4.3.3:at-least-once")
def test_a_receiver_that_was_down_is_told_everything_later(client: Client) -> None:
    client.deployment.webhooks.posts.answer = lambda _: WebhookAnswer(503)
    client.send("tck-stream-001", configuration=asking())
    assert len(client.deployment.deliver()) == 1

    client.deployment.webhooks.posts.answer = lambda _: WebhookAnswer(204)
    client.deployment.let_pass(2)

    told = client.deployment.deliver()
    assert [each.headers["X-A2A-Attempt"] for each in told] == ["2", "1", "1"]
