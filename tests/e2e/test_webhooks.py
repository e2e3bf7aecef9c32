"""Webhooks over the whole deployment: real requests to a receiver in another process, whoever dies."""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
import pytest
from a2a.types import AuthenticationInfo
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from a2a_serverless.operations.redrive import clear_letters, dead_webhooks, redrive_all
from a2a_serverless.ports import Ports
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.world import ports
from tests.e2e.callers import TaskPushNotificationConfig, TaskState
from tests.e2e.conftest import BINDINGS, WEBHOOK_TIMEOUT, Call
from tests.e2e.receiver import Arrival, Receiver, receiving
from tests.e2e.stack import PATIENCE, LocalStack, environ_of, processes
from tests.integration.documents.fenced import example

TOKEN, CREDENTIALS = "a-token-that-nobody-else-sees", "credentials-that-nobody-else-sees"
LEASE_SECONDS = 3 * WEBHOOK_TIMEOUT
"""How long whoever delivers is trusted to live after its last sign of life."""

T = TypeVar("T")


def config(receiver: Receiver, path: str = "/hook", **fields: Any) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(url=receiver.url(path), **fields)


def told(arrivals: Sequence[Arrival]) -> list[str]:
    return [arrival.told for arrival in arrivals]


# --- who asks for it is told -------------------------------------------------


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_webhook_that_is_registered_hears_of_every_turn_from_then_on(
    telling: LocalStack, call: Call, binding: str
) -> None:
    caller = call(telling, binding)
    task = caller.send("remember one")
    bearer = AuthenticationInfo(scheme="Bearer", credentials=CREDENTIALS)
    with receiving() as receiver:
        asked = config(receiver, task_id=task.id, token=TOKEN, authentication=bearer)

        registered = caller.watch(asked)
        caller.send("two", task_id=task.id)
        question = receiver.until("INPUT_REQUIRED")
        caller.send("three, done", task_id=task.id)
        rest = receiver.until("COMPLETED")

    assert caller.webhooks(task.id) == [registered] == [caller.webhook(task.id, registered.id)]
    assert (registered.url, registered.authentication.scheme) == (asked.url, "Bearer")
    assert (registered.token, registered.authentication.credentials) == ("", "")
    assert told(question) == ["WORKING", "INPUT_REQUIRED"]
    assert told(rest) == ["WORKING", "memory: ", "COMPLETED"]
    for arrival in (*question, *rest):
        assert arrival.headers["x-a2a-notification-token"] == TOKEN
        assert arrival.headers["authorization"] == f"Bearer {CREDENTIALS}"
    whole = caller.get(task.id)
    assert rest[1].payload.artifact_update.artifact == whole.artifacts[0]
    assert rest[2].payload.status_update.status == whole.status


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_webhook_that_comes_with_a_streamed_message_hears_of_its_text_once_and_whole(
    telling: LocalStack, call: Call, binding: str
) -> None:
    basic = AuthenticationInfo(scheme="Basic", credentials="alice:secret")
    with receiving() as receiver:
        asked = config(receiver, token=TOKEN, authentication=basic)

        shown = call(telling, binding).stream("spell a b c d e f", webhook=asked)
        arrivals = receiver.until("COMPLETED")

    pieces = [each.artifact_update for each in shown if each.HasField("artifact_update")]
    assert len(pieces) > 2
    assert told(arrivals) == ["WORKING", "spelled: abcdef", "COMPLETED"]
    task = shown[0].task
    for arrival in arrivals:
        named = {"content-type", "a2a-version", "authorization", "x-a2a-notification-token", "x-a2a-attempt"}
        assert {name: arrival.headers[name] for name in sorted(named)} == {
            "a2a-version": "1.0",
            "authorization": "Basic YWxpY2U6c2VjcmV0",
            "content-type": "application/a2a+json",
            "x-a2a-attempt": "1",
            "x-a2a-notification-token": TOKEN,
        }
        assert re.fullmatch(rf"{task.id}-[0-9]+", arrival.event_id)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", arrival.headers["x-a2a-timestamp"])
    assert len({arrival.event_id for arrival in arrivals}) == len(arrivals)


def test_an_artifact_that_is_whole_only_because_its_turn_ended_comes_before_the_end(
    telling: LocalStack, call: Call
) -> None:
    with receiving() as receiver:
        task = call(telling).send("count 5", webhook=config(receiver))
        arrivals = receiver.until("COMPLETED")

    assert told(arrivals) == ["WORKING", "numbers: 01234", "COMPLETED"]
    assert arrivals[1].payload.artifact_update.artifact == task.artifacts[0]
    assert arrivals[1].event_id == f"{arrivals[2].event_id}.1"


def test_each_webhook_of_a_task_is_told_all_of_it(telling: LocalStack, call: Call) -> None:
    caller = call(telling)
    task = caller.send("remember one")
    with receiving() as first, receiving() as second:
        for receiver in (first, second):
            caller.watch(config(receiver, task_id=task.id))

        caller.send("two, done", task_id=task.id)

        for receiver in (first, second):
            assert told(receiver.until("COMPLETED")) == ["WORKING", "memory: ", "COMPLETED"]


def test_a_cancelation_is_told(telling: LocalStack, call: Call) -> None:
    caller = call(telling)
    task = caller.send("remember one")
    with receiving() as receiver:
        caller.watch(config(receiver, task_id=task.id))

        caller.cancel(task.id)

        assert told([receiver.next()]) == ["CANCELED"]


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_webhook_that_was_deleted_hears_nothing_more(telling: LocalStack, call: Call, binding: str) -> None:
    caller = call(telling, binding)
    task = caller.send("remember one")
    with receiving() as receiver:
        for name in ("gone", "stays"):
            caller.watch(config(receiver, f"/{name}", task_id=task.id, id=name))
        for _ in range(2):
            caller.unwatch(task.id, "gone")

        caller.send("two, done", task_id=task.id)

        assert {arrival.path for arrival in receiver.until("COMPLETED")} == {"/stays"}
    assert [each.id for each in caller.webhooks(task.id)] == ["stays"]
    with pytest.raises(TaskNotFoundError):
        caller.webhook(task.id, "gone")


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "no url"])
def test_a_webhook_inside_is_refused_also_where_this_machine_may_be_called(
    telling: LocalStack, call: Call, binding: str, url: str
) -> None:
    caller = call(telling, binding)
    task = caller.send("remember one")

    with pytest.raises(InvalidParamsError):
        caller.watch(TaskPushNotificationConfig(task_id=task.id, url=url))
    with pytest.raises(InvalidParamsError):
        caller.send("two", task_id=task.id, webhook=TaskPushNotificationConfig(url=url))

    assert caller.webhooks(task.id) == []
    assert caller.get(task.id) == task


def test_this_machine_is_not_called_where_nobody_said_so(workshop: LocalStack, call: Call) -> None:
    caller = call(workshop, name="alice")
    task = caller.send("remember one")

    for url in ("http://127.0.0.1:8080/", "https://localhost/", "https://[::1]/"):
        with pytest.raises(InvalidParamsError):
            caller.watch(TaskPushNotificationConfig(task_id=task.id, url=url))


# --- who is told can believe it -------------------------------------------------


def test_every_request_is_believed_by_the_receiver_that_the_documentation_shows(
    telling: LocalStack, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving({"/hook": [503]}) as receiver:
        call(telling).send("spell a b", webhook=config(receiver))
        arrivals = receiver.until("COMPLETED")
        monkeypatch.setenv("WEBHOOK_URL", receiver.url())
    monkeypatch.setenv("AGENT_URL", telling.url)
    documented: dict[str, Any] = {}
    exec(example("layers/signing/README.md", "python"), documented)  # noqa: S102  that is the test
    acted: list[Any] = []

    def answer(arrival: Arrival, body: bytes) -> int:
        status: int = documented["receive"](arrival.headers["x-a2a-signature"], body, acted.append)
        return status

    assert [answer(each, each.body.encode()) for each in arrivals] == [204] * 4
    assert len(acted) == 3
    assert {answer(each, each.body.encode() + b" ") for each in arrivals} == {401}


def test_the_keys_are_public_and_nothing_but_public(telling: LocalStack, call: Call) -> None:
    with receiving() as receiver:
        call(telling).send("count 1", webhook=config(receiver))
        receiver.until("COMPLETED")

    answer = httpx.get(f"{telling.url}/.well-known/jwks.json", timeout=PATIENCE)

    (key,) = answer.json()["keys"]
    assert {"kty", "crv", "x", "y", "kid", "alg", "use"} >= key.keys()
    assert "d" not in key


def test_what_a_webhook_is_believed_by_is_in_no_log(telling: LocalStack, call: Call) -> None:
    bearer = AuthenticationInfo(scheme="Bearer", credentials=CREDENTIALS)
    with receiving({"/hook": [503]}) as receiver:
        asked = config(receiver, token=TOKEN, authentication=bearer)
        call(telling).send("count 1", webhook=asked)
        receiver.until("COMPLETED")

    logs = [log.read_text(encoding="utf-8") for log in telling.logs.glob("*.log")]
    assert any(logs)
    assert not any(secret in log for log in logs for secret in (TOKEN, CREDENTIALS))


# --- whatever happens meanwhile -------------------------------------------------


def test_what_a_receiver_does_not_take_comes_again_before_anything_else(
    telling: LocalStack, call: Call
) -> None:
    with receiving({"/hook": [503, 503]}) as receiver:
        call(telling).send("spell a b", webhook=config(receiver))
        arrivals = receiver.until("COMPLETED")

    assert told(arrivals) == ["WORKING", "WORKING", "WORKING", "spelled: ab", "COMPLETED"]
    assert [arrival.attempt for arrival in arrivals] == [1, 2, 3, 1, 1]
    assert len({arrival.event_id for arrival in arrivals[:3]}) == 1
    assert len({arrival.body for arrival in arrivals[:3]}) == 1


def test_a_receiver_that_dies_in_the_middle_of_a_request_gets_it_again(
    telling: LocalStack, call: Call
) -> None:
    with receiving({"/hook": [204, "hold"]}) as receiver:
        call(telling).send("spell a b", webhook=config(receiver))
        before = [receiver.next(), receiver.next()]
        receiver.die()

        with receiving(port=receiver.port) as reborn:
            after = reborn.until("COMPLETED")

    assert told(before) == ["WORKING", "spelled: ab"]
    assert told(after) == ["spelled: ab", "COMPLETED"]
    assert after[0].event_id == before[1].event_id
    assert [arrival.attempt for arrival in after][-1] == 1
    assert after[0].attempt > before[1].attempt


def test_a_receiver_that_refuses_for_good_is_given_up_and_can_be_revived(
    telling: LocalStack, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving({"/hook": [204, 410]}) as receiver:
        task = call(telling).send("spell a b", webhook=config(receiver))
        refused = [receiver.next(), receiver.next()]
        operator = operating(telling, monkeypatch)
        (dead,) = eventually(lambda: dead_webhooks(operator))
        assert clear_letters(operator) == 0

        assert list(redrive_all(operator)) == [dead.key]
        revived = receiver.until("COMPLETED")

    assert dead.key.task.task_id == task.id
    assert told(refused) == ["WORKING", "spelled: ab"]
    assert told(revived) == ["spelled: ab", "COMPLETED"]
    assert [arrival.attempt for arrival in revived] == [1, 1]
    assert revived[0].event_id == refused[1].event_id
    assert clear_letters(operator) == 1
    assert dead_webhooks(operator) == []


def operating(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Ports:
    """The world as it is for whoever operates the stack: what its functions see, with rights of one's own."""
    environ = environ_of(next(iter(processes(stack, "jsonrpc"))))
    for name in environ:
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, environ[name])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "operator")
    return ports(Settings.from_environment(environ))


def eventually(look: Callable[[], Sequence[T]]) -> Sequence[T]:
    """What there is to be seen as soon as there is anything."""
    give_up, never = time.monotonic() + PATIENCE, threading.Event()
    while time.monotonic() < give_up:
        if seen := look():
            return seen
        never.wait(0.05)
    raise TimeoutError("there is still nothing to be seen")


def test_an_event_whose_deliverer_is_killed_while_it_posts_is_delivered_by_another(
    telling: LocalStack, call: Call, background: ThreadPoolExecutor
) -> None:
    caller = call(telling)
    with receiving({"/hook": ["hold"]}) as receiver:
        # The end of the task comes when the lease of whoever was killed is over, and wakes another.
        order = f"think {LEASE_SECONDS + 5}"
        waiting = background.submit(caller.send, order, webhook=config(receiver))
        cut_off = receiver.next()

        for pid in processes(telling, "push"):
            os.kill(pid, signal.SIGKILL)
        receiver.until_left()
        arrivals = receiver.until("COMPLETED")

    assert told([cut_off, *arrivals]) == ["WORKING", "WORKING", "COMPLETED"]
    assert arrivals[0].event_id == cut_off.event_id
    assert waiting.result(PATIENCE).status.state == TaskState.TASK_STATE_COMPLETED
