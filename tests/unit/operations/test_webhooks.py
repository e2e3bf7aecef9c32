"""Registering webhooks: in an order that loses nothing, with secrets sealed, and at most so many."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from a2a_serverless.operations.webhooks import (
    MAX_SECRETS,
    check_config,
    create_config,
    delete_config,
    get_config,
    inline_id,
    list_configs,
    page_token,
    read_page_token,
)
from a2a_serverless.ports import Head, Policy, Ports, WebhookPolicy
from a2a_serverless.ports.webhooks import Poke, Registration, Webhook, WebhookKey
from a2a_serverless.protocol.errors import (
    FieldViolation,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
)
from a2a_serverless.protocol.objects import Part, Task
from a2a_serverless.protocol.requests import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    TaskPushNotificationConfig,
)
from tests.fakes.ports import FakeWebhooks
from tests.unit.operations.world import BOB, CALLER, ELSEWHERE, Died, World, asking, message

URL = "https://receiver.example/hook"
POLICY = Policy(deduplicate=True, capabilities=frozenset({"push_notifications"}))


@dataclass
class Steps:
    """A port that notes what is asked of it, and does what a test wants done just before."""

    port: Any
    taken: list[str]
    before: Mapping[str, Callable[[], object]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.port, name)

        def asked(*args: Any, **kwargs: Any) -> Any:
            self.taken.append(name)
            self.before.get(name, lambda: None)()
            return method(*args, **kwargs)

        return asked


@pytest.fixture
def world() -> World:
    return World(policy=POLICY)


def waiting(world: World) -> Task:
    """A task that asked something, so that its log stands still."""
    return world.said("m-0", "ask")


def config(task: Task | str, **fields: Any) -> TaskPushNotificationConfig:
    name = task if isinstance(task, str) else task.id
    return TaskPushNotificationConfig(**{"task_id": name, "url": URL, **fields})


def created(world: World, task: Task, ports: Ports | None = None, **fields: Any) -> WebhookKey:
    made = create_config(ports or world.ports, CALLER, config(task, **fields))
    assert made.id is not None
    return WebhookKey(CALLER.task(task.id), made.id)


def standing(world: World, key: WebhookKey) -> Webhook:
    assert world.ports.webhooks is not None
    found = world.ports.webhooks.store.read(key)
    assert found is not None
    return found


def poked(world: World) -> list[Poke]:
    assert world.ports.webhooks is not None
    return world.ports.webhooks.pokes.arrived()  # type: ignore[attr-defined, no-any-return]


def opened(world: World, key: WebhookKey) -> Any:
    """What was sealed for a webhook."""
    assert world.ports.webhooks is not None
    sealed = standing(world, key).registered.secrets
    assert sealed is not None
    return json.loads(world.ports.webhooks.seals.open(sealed, key.context))


def watched(world: World, **before: Callable[[], object]) -> tuple[Ports, list[str]]:
    """The world as somebody sees it before whose steps something happens, and the steps as they are taken."""
    webhooks = world.ports.webhooks
    assert webhooks is not None
    taken: list[str] = []
    store, pokes = Steps(webhooks.store, taken, before), Steps(webhooks.pokes, taken, before)
    tasks = Steps(world.ports.tasks, taken, before)
    ports = replace(world.ports, tasks=tasks, webhooks=replace(webhooks, store=store, pokes=pokes))
    return ports, taken


def blamed(world: World, **fields: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidParamsError) as refused:
        check_config(world.ports, config("t", **fields))
    return [(each.field, each.description) for each in refused.value.violations]


# --- what is kept -------------------------------------------------


def test_a_webhook_is_kept_with_all_that_a_delivery_needs(world: World) -> None:
    task = waiting(world)

    key = created(world, task, id="hook")

    kept = standing(world, key)
    assert kept.registered == Registration(
        config_id="hook", context_id=task.context_id or "", url=URL, base_url=CALLER.base_url
    )
    assert kept.cursor == world.load(task.id).position
    assert kept.expires == world.load(task.id).expires
    assert kept.lease is None


@pytest.mark.parametrize(
    ("fields", "secrets"),
    [
        ({"token": "t"}, {"token": "t"}),
        ({"authentication": AuthenticationInfo(scheme="Bearer", credentials="c")}, {"credentials": "c"}),
        (
            {"token": "t", "authentication": AuthenticationInfo(scheme="Bearer", credentials="c")},
            {"token": "t", "credentials": "c"},
        ),
    ],
)
def test_secrets_are_sealed_for_their_webhook_and_their_scheme_stays_readable(
    world: World, fields: dict[str, Any], secrets: dict[str, str]
) -> None:
    key = created(world, waiting(world), **fields)

    assert opened(world, key) == secrets
    assert standing(world, key).registered.scheme == ("Bearer" if "credentials" in secrets else None)


def test_nothing_is_sealed_for_a_webhook_without_secrets(world: World) -> None:
    key = created(world, waiting(world), authentication=AuthenticationInfo(scheme="Bearer"))

    assert standing(world, key).registered.secrets is None
    assert world.ports.webhooks is not None
    assert world.ports.webhooks.seals.sealed == 0  # type: ignore[attr-defined]


def test_a_webhook_without_an_id_gets_a_new_one_each_time(world: World) -> None:
    task = waiting(world)

    assert created(world, task) != created(world, task)


def test_a_webhook_of_the_same_id_is_replaced_and_goes_on_where_it_was(world: World) -> None:
    task = waiting(world)
    key = created(world, task, id="hook", token="old")
    cursor = standing(world, key).cursor
    world.said("m-1", task_id=task.id)

    created(world, task, id="hook", token="new")

    assert opened(world, key) == {"token": "new"}
    assert standing(world, key).cursor == cursor


# --- the order -------------------------------------------------


def test_an_id_is_counted_before_its_webhook_is_stored_and_the_log_is_looked_at_last(world: World) -> None:
    task = waiting(world)
    ports, taken = watched(world)

    created(world, task, ports)

    assert taken == ["load", "reserve", "put", "events_after"]
    assert poked(world) == []


def test_a_webhook_is_woken_if_the_log_grew_while_it_was_registered(world: World) -> None:
    task = waiting(world)
    before = world.load(task.id).position
    ports, taken = watched(world, put=lambda: world.send("m-1", task_id=task.id))

    key = created(world, task, ports)

    assert taken == ["load", "reserve", "put", "events_after", "send"]
    assert standing(world, key).cursor == before
    assert poked(world) == [Poke(key)]


def test_a_webhook_that_replaces_one_which_lags_is_woken(world: World) -> None:
    task = waiting(world)
    created(world, task, id="hook")
    world.said("m-1", task_id=task.id)

    key = created(world, task, id="hook")

    assert poked(world) == [Poke(key)]


def test_the_head_of_a_task_that_lost_it_is_written_before_webhooks_are_counted_on_it(world: World) -> None:
    task = waiting(world)
    ports, taken = watched(
        world, reserve=lambda: lose_head(world, task) if len(reserved(taken)) == 1 else None
    )

    key = created(world, task, ports)

    assert taken == ["load", "reserve", "write_head", "reserve", "put", "events_after"]
    assert world.tasks.head(key.task) is not None
    assert standing(world, key).key == key


def reserved(taken: list[str]) -> list[str]:
    return [step for step in taken if step == "reserve"]


def lose_head(world: World, task: Task) -> None:
    """As when whoever began the task died before its head was written."""
    world.table.delete(Head, CALLER.task(task.id), when=lambda _: True)


def test_a_task_that_expires_while_a_webhook_is_registered_was_never_there(world: World) -> None:
    task = waiting(world)
    ports, _ = watched(world, reserve=lambda: world.clock.sleep(POLICY.retention.total_seconds()))

    with pytest.raises(TaskNotFoundError):
        created(world, task, ports)


def test_a_webhook_is_looked_after_even_if_whoever_registers_it_dies(world: World) -> None:
    task = waiting(world)

    def die() -> None:
        raise Died

    ports, _ = watched(world, put=die)
    with pytest.raises(Died):
        created(world, task, ports, id="hook")

    head = world.tasks.head(CALLER.task(task.id))
    assert head is not None
    assert head.due_at == world.clock.now() + POLICY.due_after
    again = created(world, task, id="hook")
    assert standing(world, again).key == again


# --- how many -------------------------------------------------


def test_one_webhook_too_many_is_refused_and_not_stored(world: World) -> None:
    world.ports = replace(world.ports, policy=replace(POLICY, webhooks=WebhookPolicy(most=2)))
    task = waiting(world)
    for name in ("one", "two"):
        created(world, task, id=name)

    with pytest.raises(InvalidParamsError) as refused:
        created(world, task, id="three")

    assert refused.value.violations == (FieldViolation("taskId", "has 2 webhooks already; delete one"),)
    assert ids(world, task) == ["one", "two"]
    created(world, task, id="two")


def test_a_place_that_is_taken_by_somebody_faster_is_taken(world: World) -> None:
    task = waiting(world)
    for number in range(9):
        created(world, task, id=f"hook-{number}")
    ports, _ = watched(world, reserve=lambda: created(world, task, id="faster"))

    with pytest.raises(InvalidParamsError, match="Invalid parameters"):
        created(world, task, ports, id="slower")

    assert len(ids(world, task)) == 10
    assert "slower" not in ids(world, task)


def test_a_message_whose_webhook_lost_the_race_for_the_last_place_is_admitted_without_it(
    world: World,
) -> None:
    task = waiting(world)
    for number in range(9):
        created(world, task, id=f"hook-{number}")
    ports, _ = watched(world, reserve=lambda: created(world, task, id="faster"))
    asked = asking(message("m-1", task_id=task.id), task_push_notification_config=config("", task_id=None))

    world.answer(asked, ports=ports)

    assert len(ids(world, task)) == 10
    assert world.ports.metrics.counts["WebhookRefused"] == 1  # type: ignore[attr-defined]
    assert world.pending() == []


# --- with a message -------------------------------------------------


def test_a_config_that_comes_with_messages_has_one_id_for_each_url() -> None:
    assert inline_id(config("t", id="mine")) == "mine"
    assert inline_id(config("t")) == inline_id(config("other", token="x"))
    assert inline_id(config("t")) != inline_id(config("t", url=f"{URL}/other"))
    assert len(inline_id(config("t"))) == 32


def test_the_webhook_of_a_message_hears_of_everything_from_its_turn_on(world: World) -> None:
    asked = asking(message("m-1"), task_push_notification_config=config("", task_id=None, token="t"))

    response = world.answer(asked)

    assert response.task is not None
    (name,) = ids(world, response.task)
    key = WebhookKey(CALLER.task(response.task.id), name)
    assert standing(world, key).cursor == 1
    assert opened(world, key) == {"token": "t"}


def test_a_message_that_died_before_its_webhook_was_registered_registers_it_when_it_comes_again(
    world: World,
) -> None:
    def die() -> None:
        raise Died

    ports, _ = watched(world, put=die)
    asked = asking(message("m-1"), task_push_notification_config=config("", task_id=None))
    with pytest.raises(Died):
        world.answer(asked, ports=ports)

    response = world.answer(asked)

    assert response.task is not None
    assert len(ids(world, response.task)) == 1
    assert len(world.logs()) == 1


def test_a_sweep_registers_the_webhook_of_a_message_whose_sender_died(world: World) -> None:
    def die() -> None:
        raise Died

    ports, _ = watched(world, reserve=die)
    asked = asking(message("m-1"), task_push_notification_config=config("", task_id=None))
    with pytest.raises(Died):
        world.answer(asked, ports=ports)

    world.recover()

    (key,) = world.logs()
    assert len(ids(world, world.get(key.task_id))) == 1


def test_a_message_that_was_admitted_is_answered_though_the_task_has_no_room_for_its_webhook(
    world: World,
) -> None:
    task = waiting(world)
    again = message("m-1", Part(text="ask"), task_id=task.id)
    asked = asking(again, task_push_notification_config=config("", task_id=None))
    world.answer(asked)
    world.run_turns()
    (name,) = ids(world, task)
    delete_config(world.ports, CALLER, DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=name))
    for number in range(10):
        created(world, task, id=f"hook-{number}")

    response = world.answer(asked)

    assert response.task is not None
    assert response.task.id == task.id
    another = again.model_copy(update={"message_id": "m-2"})
    with pytest.raises(InvalidParamsError):
        world.answer(asked.model_copy(update={"message": another}))


def test_a_message_is_admitted_without_its_webhook_where_none_are_delivered_any_more(world: World) -> None:
    def die() -> None:
        raise Died

    ports, _ = watched(world, reserve=die)
    asked = asking(message("m-1"), task_push_notification_config=config("", task_id=None))
    with pytest.raises(Died):
        world.answer(asked, ports=ports)

    world.ports = replace(world.ports, webhooks=None)
    world.recover()

    assert world.pending() == []


# --- reading and deleting -------------------------------------------------


def ids(world: World, task: Task) -> list[str]:
    found = list_configs(world.ports, CALLER, ListTaskPushNotificationConfigsRequest(task_id=task.id))
    return [each.id or "" for each in found.configs]


def test_what_is_shown_of_a_webhook_is_everything_but_its_secrets(world: World) -> None:
    task = waiting(world)
    secret = AuthenticationInfo(scheme="Bearer", credentials="c")

    made = create_config(world.ports, CALLER, config(task, id="hook", token="t", authentication=secret))

    assert made == TaskPushNotificationConfig(
        id="hook", task_id=task.id, url=URL, authentication=AuthenticationInfo(scheme="Bearer")
    )
    wanted = GetTaskPushNotificationConfigRequest(task_id=task.id, id="hook")
    assert get_config(world.ports, CALLER, wanted) == made


@pytest.mark.parametrize("caller", [BOB, ELSEWHERE])
def test_webhooks_of_others_are_not_there(world: World, caller: Any) -> None:
    task = waiting(world)
    created(world, task, id="hook")
    of_hook = {"task_id": task.id, "id": "hook"}

    for act in (
        lambda: create_config(world.ports, caller, config(task)),
        lambda: get_config(world.ports, caller, GetTaskPushNotificationConfigRequest(**of_hook)),
        lambda: list_configs(world.ports, caller, ListTaskPushNotificationConfigsRequest(task_id=task.id)),
        lambda: delete_config(world.ports, caller, DeleteTaskPushNotificationConfigRequest(**of_hook)),
    ):
        with pytest.raises(TaskNotFoundError):
            act()

    assert ids(world, task) == ["hook"]


def test_a_list_reads_the_task_only_when_it_has_no_webhooks(world: World) -> None:
    task = waiting(world)
    ports, taken = watched(world)
    wanted = ListTaskPushNotificationConfigsRequest(task_id=task.id)

    assert list_configs(ports, CALLER, wanted) == ListTaskPushNotificationConfigsResponse()
    created(world, task)
    list_configs(ports, CALLER, wanted)

    assert taken == ["read_all", "load", "read_all"]


def test_a_page_ends_with_a_token_while_there_are_more(world: World) -> None:
    task = waiting(world)
    for name in ("a", "b", "c"):
        created(world, task, id=name)

    def page(**fields: Any) -> tuple[list[str | None], str | None]:
        wanted = ListTaskPushNotificationConfigsRequest(task_id=task.id, **fields)
        found = list_configs(world.ports, CALLER, wanted)
        return [each.id for each in found.configs], found.next_page_token

    assert page() == (["a", "b", "c"], None)
    assert page(page_size=3) == (["a", "b", "c"], None)
    assert page(page_size=2) == (["a", "b"], page_token("b"))
    assert page(page_size=2, page_token=page_token("b")) == (["c"], None)
    assert page(page_token=page_token("z")) == ([], None)


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcd", "a.b:c_d-e", "x" * 128])
def test_a_page_token_is_read_back(name: str) -> None:
    assert read_page_token(page_token(name)) == name
    assert "=" not in page_token(name)


@pytest.mark.parametrize("token", ["=", "YQ==", "YR", "Y", "Yä", "L2E", "IA", "/w", "_w", "YWI\n"])
def test_any_other_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        read_page_token(token)

    assert refused.value.violations == (FieldViolation("pageToken", "is not a token of an earlier page"),)


def test_a_webhook_is_deleted_together_with_its_place(world: World) -> None:
    world.ports = replace(world.ports, policy=replace(POLICY, webhooks=WebhookPolicy(most=1)))
    task = waiting(world)
    key = created(world, task, id="hook")
    wanted = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="hook")

    for _ in range(2):
        delete_config(world.ports, CALLER, wanted)

    assert FakeWebhooks(world.table).read(key) is None
    created(world, task, id="another")


# --- what is refused -------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"token": "a\r\nb"}, ["token"]),
        ({"token": "\t"}, ["token"]),
        ({"token": "ü"}, ["token"]),
        ({"token": " a"}, ["token"]),
        ({"token": "a "}, ["token"]),
        ({"token": " "}, ["token"]),
        ({"token": "\x7f"}, ["token"]),
        ({"authentication": AuthenticationInfo(scheme="", credentials="c")}, ["authentication.scheme"]),
        ({"authentication": AuthenticationInfo(scheme="a b")}, ["authentication.scheme"]),
        ({"authentication": AuthenticationInfo(scheme="a:")}, ["authentication.scheme"]),
        ({"authentication": AuthenticationInfo(scheme="B\n")}, ["authentication.scheme"]),
        ({"authentication": AuthenticationInfo(scheme="x" * 65)}, ["authentication.scheme"]),
        (
            {"token": "\0", "authentication": AuthenticationInfo(scheme="\0", credentials="\0")},
            ["token", "authentication.credentials", "authentication.scheme"],
        ),
        ({"url": "http://receiver.example/"}, ["url"]),
        ({"url": "https://private.example/"}, ["url"]),
    ],
)
def test_a_config_that_could_never_be_called_is_refused_by_its_fields(
    world: World, fields: dict[str, Any], expected: list[str]
) -> None:
    assert world.ports.webhooks is not None
    world.ports.webhooks.names.known["private.example"] = ("10.0.0.1",)  # type: ignore[attr-defined]

    assert [name for name, _ in blamed(world, **fields)] == expected


def test_token_and_credentials_have_four_thousand_bytes_together(world: World) -> None:
    room = MAX_SECRETS - len(json.dumps({"token": "", "credentials": ""}))

    def secrets(length: int) -> dict[str, Any]:
        credentials = "c" * (length - 1000)
        return {
            "token": "t" * 1000,
            "authentication": AuthenticationInfo(scheme="B", credentials=credentials),
        }

    check_config(world.ports, config("t", **secrets(room)))
    assert blamed(world, **secrets(room + 1)) == [
        ("token", f"and credentials must not exceed {MAX_SECRETS} bytes together")
    ]


def test_a_quote_takes_the_room_of_two(world: World) -> None:
    assert blamed(world, token='"' * 2000)[0][0] == "token"


def test_a_scheme_may_be_any_token_and_a_secret_any_visible_text(world: World) -> None:
    how = AuthenticationInfo(scheme="X!#$%&'*+-.^_`|~1", credentials='Digest k="v", n=~ x')

    check_config(world.ports, config("t", token="~ !", authentication=how))


def test_the_url_is_looked_at_before_the_task_and_its_host_after_it(world: World) -> None:
    assert world.ports.webhooks is not None
    names: Any = world.ports.webhooks.names

    with pytest.raises(InvalidParamsError):
        create_config(world.ports, CALLER, config("no-such-task", url="https://127.0.0.1/"))
    with pytest.raises(TaskNotFoundError):
        create_config(world.ports, CALLER, config("no-such-task"))
    assert names.asked == []

    created(world, waiting(world))
    assert names.asked == ["receiver.example"]


def test_a_webhook_needs_a_task(world: World) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        create_config(world.ports, CALLER, TaskPushNotificationConfig(url=URL))

    assert refused.value.violations == (FieldViolation("taskId", "is required"),)


def test_nothing_of_it_is_there_where_no_webhooks_are_delivered(world: World) -> None:
    task = waiting(world)
    ports = replace(world.ports, webhooks=None)
    of_hook = {"task_id": task.id, "id": "hook"}

    for act in (
        lambda: create_config(ports, CALLER, config(task)),
        lambda: get_config(ports, CALLER, GetTaskPushNotificationConfigRequest(**of_hook)),
        lambda: list_configs(ports, CALLER, ListTaskPushNotificationConfigsRequest(task_id=task.id)),
        lambda: delete_config(ports, CALLER, DeleteTaskPushNotificationConfigRequest(**of_hook)),
        lambda: check_config(ports, config(task)),
    ):
        with pytest.raises(PushNotificationNotSupportedError):
            act()
