"""Delivering to webhooks: every event in order, at least once, or a record that says which one was not."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from a2a_serverless.agent import (
    ArtifactChunk,
    ArtifactFile,
    Completed,
    InputRequired,
    Part,
    Turn,
    Update,
    Working,
)
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.deliveries import deliver, fan_out
from a2a_serverless.operations.redrive import clear_letters, dead_webhooks, redrive, redrive_all
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.webhooks import create_config, delete_config, registration
from a2a_serverless.ports import Policy, Ports, WebhookPolicy
from a2a_serverless.ports.webhooks import (
    Appended,
    Poke,
    UnresolvableNameError,
    WebhookAnswer,
    WebhookKey,
    WebhookRequest,
)
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.protocol.requests import (
    AuthenticationInfo,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a_serverless.tasks.log import LoggedEvent, PushKind, TaskKey
from a2a_serverless.tasks.view import shown_status
from tests.unit.operations.world import CALLER, Died, Fate, Fault, World, plays, request

URL = "https://receiver.example/hook"
POLICY = Policy(capabilities=frozenset({"push_notifications"}))
MINUTE = timedelta(minutes=1)
MB = 1024 * 1024


async def talkative(turn: Turn) -> AsyncIterator[Update]:
    """Words of progress, text in pieces, a whole artifact, and a question where the message asks for one."""
    yield Working("on it")
    yield ArtifactChunk("pieces", "Hel")
    yield ArtifactChunk("pieces", "lo")
    yield ArtifactChunk("whole", "all of it", last_chunk=True)
    if turn.message.parts[0].text == "ask":
        yield InputRequired("Which one?")
        return
    yield Completed("done")


@dataclass
class Receiver:
    """The other side: takes what it is sent unless `script` has another answer for the next request."""

    script: list[WebhookAnswer | BaseException] = field(default_factory=list)
    taken: list[dict[str, Any]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    seen: list[WebhookRequest] = field(default_factory=list)
    during: Callable[[], None] = lambda: None

    def __call__(self, request: WebhookRequest) -> WebhookAnswer:
        self.seen.append(request)
        self.during()
        answer = self.script.pop(0) if self.script else WebhookAnswer(200)
        if isinstance(answer, BaseException):
            raise answer
        if answer.status == 200:
            self.taken.append(json.loads(request.body))
            self.ids.append(request.headers["X-A2A-Event-Id"])
        return answer

    @property
    def told(self) -> list[str]:
        """What it was told, in short."""
        return [said(each) for each in self.taken]

    @property
    def first_told(self) -> list[str]:
        """The same without what came again, by the ids it is known by."""
        first = dict(reversed(list(zip(self.ids, self.told, strict=True))))
        return [first[name] for name in dict.fromkeys(self.ids)]


def said(body: dict[str, Any]) -> str:
    """A notice in short."""
    if "statusUpdate" in body:
        return str(body["statusUpdate"]["status"]["state"]).removeprefix("TASK_STATE_").lower()
    update = body["artifactUpdate"]
    assert update["lastChunk"] is True
    assert "append" not in update
    return f"{update['artifact']['artifactId']}: {update['artifact']['parts'][0]['text']}"


WHOLE_TURN = ["working", "whole: all of it", "pieces: Hello", "completed"]


@dataclass
class Deployment:
    """A world with a receiver, whose stream and queue are worked off when a test says so."""

    policy: Policy = POLICY
    receiver: Receiver = field(default_factory=Receiver)

    def __post_init__(self) -> None:
        self.world = World(policy=self.policy, agent=talkative)
        self.ports: Ports = self.world.ports
        webhooks = self.ports.webhooks
        assert webhooks is not None
        self.pokes: Any = webhooks.pokes
        self.letters: Any = webhooks.letters
        self.store = webhooks.store
        webhooks.posts.answer = self.receiver  # type: ignore[attr-defined]
        self.fanned: set[tuple[TaskKey, int]] = set()

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    def register(self, task: Task, **more: Any) -> WebhookKey:
        config = create_config(
            self.ports, CALLER, TaskPushNotificationConfig(task_id=task.id, **{"url": URL, **more})
        )
        assert config.id is not None
        return WebhookKey(CALLER.task(task.id), config.id)

    def fan(self, *, lost: bool = False) -> None:
        """What the table's stream brings: every event that was not brought yet."""
        for key in {turn.task for turn in self.world.executions.started}:
            for event in self.world.tasks.log(key):
                if (key, event.position) not in self.fanned and event.pushes is not None:
                    self.fanned.add((key, event.position))
                    if not lost:
                        fan_out(self.ports, [appended(key, event)])

    def work(self, ports: Ports | None = None) -> None:
        """Every poke that has arrived, one after the other."""
        while arrived := self.pokes.arrived():
            for poke in arrived:
                deliver(ports or self.ports, poke, self.now + MINUTE)

    def wait(self, most: timedelta = timedelta(days=2)) -> None:
        """Let time pass from poke to poke until none is left."""
        end = self.now + most
        self.work()
        while (next_at := self.pokes.next_at()) is not None and next_at <= end:
            self.world.clock.sleep(max(0.0, (next_at - self.now).total_seconds()))
            self.work()

    def recover(self) -> None:
        """Sweeps, and the pokes they bring, until nothing is left that they could do."""
        for _ in range(4):
            self.world.clock.sleep(1200)
            sweep(self.ports)
            self.world.run_turns()
            self.wait()


def appended(key: TaskKey, event: LoggedEvent) -> Appended:
    """The event as the table's stream tells of it."""
    status = shown_status(event.entry) if event.pushes is PushKind.STATES else None
    assert event.pushes is not None
    return Appended(
        key,
        event.position,
        event.pushes,
        at=status.timestamp if status else None,
        state=status.state if status else None,
    )


def begun(text: str = "go", policy: Policy = POLICY, **more: Any) -> tuple[Deployment, Task, WebhookKey]:
    """A task that has been admitted and not run, with a webhook."""
    there = Deployment(policy=policy)
    task = there.world.send("m", text)
    return there, task, there.register(task, **more)


def settings(**webhooks: Any) -> Policy:
    return replace(POLICY, webhooks=WebhookPolicy(**webhooks))


def test_a_webhook_is_told_of_states_and_whole_artifacts_in_order_and_of_no_piece() -> None:
    there, _, key = begun()

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    row = there.store.read(key)
    assert row is not None
    assert (row.cursor, row.attempts, row.not_before) == (len(there.world.tasks.log(key.task)), 0, None)


def test_large_artifacts_are_told_of_by_their_addresses_and_not_read_for_it() -> None:
    there = Deployment()
    chunks = [ArtifactChunk("heap", parts=[Part(raw=bytes(MB))]) for _ in range(3)]
    lines = [ArtifactChunk("text", "x" * 50_000) for _ in range(10)]
    there.world.agent = plays(ArtifactFile("dump", [bytes(5 * MB)]), *chunks, *lines)
    task = there.world.send("m")
    there.register(task)
    there.world.run_turns()
    read = there.world.contents.stored.copy()
    there.world.contents.stored.clear()

    there.fan()
    there.wait()

    artifacts = [
        told["artifactUpdate"]["artifact"] for told in there.receiver.taken if "artifactUpdate" in told
    ]
    base = f"https://agent.example/artifacts/{task.id}"
    assert {each["artifactId"]: [part["url"] for part in each["parts"]] for each in artifacts} == {
        "dump": [f"{base}/dump/0"],
        "heap": [f"{base}/heap/{number}" for number in range(3)],
        "text": [f"{base}/text/0"],
    }
    assert len(read) == 5


def test_progress_is_told_only_where_a_deployment_wants_it() -> None:
    there, _, _ = begun(policy=settings(kinds=frozenset({PushKind.PROGRESS})))

    there.world.run_turns()
    there.fan()
    there.wait()

    assert [each["statusUpdate"]["status"]["message"]["parts"] for each in there.receiver.taken] == [
        [{"text": "on it"}]
    ]


def test_each_request_says_who_calls_of_what_and_for_which_time() -> None:
    how = AuthenticationInfo(scheme="Bearer", credentials="c-secret")
    there, task, _ = begun(token="t-secret", authentication=how)

    there.world.run_turns()
    there.receiver.script = [WebhookAnswer(503)]
    there.fan()
    there.wait()

    first, second = there.receiver.seen[:2]
    assert first.url == URL
    assert first.address == "93.184.215.14"
    assert first.headers["Content-Type"] == "application/a2a+json"
    assert first.headers["Authorization"] == "Bearer c-secret"
    assert first.headers["X-A2A-Notification-Token"] == "t-secret"
    assert first.headers["X-A2A-Event-Id"] == second.headers["X-A2A-Event-Id"] == f"{task.id}-2"
    assert (first.headers["X-A2A-Attempt"], second.headers["X-A2A-Attempt"]) == ("1", "2")
    assert first.headers["X-A2A-Timestamp"] < second.headers["X-A2A-Timestamp"]
    assert first.headers["X-A2A-Signature"] != second.headers["X-A2A-Signature"]


def test_basic_credentials_may_be_given_as_user_and_password() -> None:
    how = AuthenticationInfo(scheme="Basic", credentials="user:password")
    there, _, _ = begun(authentication=how)

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.seen[0].headers["Authorization"] == "Basic dXNlcjpwYXNzd29yZA=="


def test_pauses_double_up_to_the_longest_and_differ_by_a_fifth_at_most() -> None:
    there, _, _ = begun()
    there.receiver.script = [WebhookAnswer(500)] * 14

    there.world.run_turns()
    there.fan(lost=False)
    there.wait(timedelta(hours=12))

    planned_by_window = dict(
        reversed([(poke.window, delay) for poke, delay in there.pokes.sent if poke.window])
    )
    pauses = list(reversed(planned_by_window.values()))
    planned = [min(2.0**number, 900.0) for number in range(14)]
    assert len(pauses) == 14
    assert all(0.8 * plan <= pause <= 1.2 * plan for pause, plan in zip(pauses, planned, strict=True))
    assert len({round(pause / plan, 6) for pause, plan in zip(pauses, planned, strict=True)}) > 5
    assert there.receiver.told == WHOLE_TURN


def test_a_receiver_is_left_alone_for_as_long_as_it_asked_however_many_pokes_arrive() -> None:
    there, _, key = begun()
    there.receiver.script = [WebhookAnswer(429, retry_after=3600.0)]

    there.world.run_turns()
    there.fan()
    there.work()
    tried_at = there.now
    for _ in range(5):
        there.pokes.send([Poke(key)])
        there.work()
    assert len(there.receiver.seen) == 1
    assert len(there.pokes.waiting) == 1
    there.wait()

    second = datetime.fromisoformat(there.receiver.seen[1].headers["X-A2A-Timestamp"])
    assert second - tried_at >= timedelta(hours=1)
    assert second - tried_at < timedelta(hours=1, seconds=2)
    assert there.receiver.told == WHOLE_TURN


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 501, 502, 503, 504, 599])
def test_an_answer_that_may_be_another_next_time_is_tried_again(status: int) -> None:
    there, _, _ = begun()
    there.receiver.script = [WebhookAnswer(status), WebhookAnswer(None, problem="timed out")]

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    assert there.letters.lying == []


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 401, 403, 404, 405, 410, 413, 415, 422])
def test_an_answer_that_is_final_ends_the_webhook_with_a_record_and_a_redrive_goes_on_where_it_was(
    status: int,
) -> None:
    there, _, key = begun()
    there.receiver.script = [WebhookAnswer(200), WebhookAnswer(status)]

    there.world.run_turns()
    there.fan()
    there.wait()
    (letter,) = there.letters.lying
    there.recover()
    assert there.receiver.told == ["working"]
    assert (letter.key, letter.host, letter.reason) == (key, "receiver.example:443", f"answered {status}")
    assert [each.key for each in dead_webhooks(there.ports)] == [key]

    assert redrive(there.ports, key)
    assert clear_letters(there.ports) == 1
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    assert not redrive(there.ports, key)
    assert there.letters.lying == []


def test_a_receiver_that_stays_away_for_a_day_is_given_up() -> None:
    there, _, key = begun()
    there.receiver.script = [WebhookAnswer(503)] * 1000

    there.world.run_turns()
    there.fan()
    there.wait(timedelta(days=3))

    (letter,) = there.letters.lying
    assert timedelta(hours=24) <= letter.died_at - letter.failing_since <= timedelta(hours=24, minutes=20)
    assert letter.attempts == len(there.receiver.seen) > 96
    row = there.store.read(key)
    assert row is not None
    assert row.died_at is not None
    assert letter.died_at - row.died_at < timedelta(milliseconds=1)


def test_five_attempts_are_one_setting() -> None:
    there, _, _ = begun(policy=settings(attempts=5, longest_delay=60.0))
    there.receiver.script = [WebhookAnswer(503)] * 1000

    there.world.run_turns()
    there.fan()
    there.wait()

    assert len(there.receiver.seen) == 5
    assert there.letters.lying[0].attempts == 5


def test_attempts_count_for_one_event_and_what_was_taken_is_not_sent_again() -> None:
    there, _, _ = begun(policy=settings(attempts=2))
    there.receiver.script = [WebhookAnswer(503), WebhookAnswer(200)] * 2 + [WebhookAnswer(503)]

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    assert there.letters.lying == []


def test_waiting_for_a_silent_host_is_no_attempt() -> None:
    there, _, key = begun(policy=settings(attempts=4))
    hosts: Any = there.ports.webhooks.hosts  # type: ignore[union-attr]
    for _ in range(3):
        there.world.clock.sleep(5)
        hosts.was_silent("receiver.example:443")

    there.world.run_turns()
    there.fan()
    for _ in range(10):
        deliver(there.ports, Poke(key), there.now + MINUTE)
        there.world.clock.sleep(2)
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    assert there.receiver.seen[0].headers["X-A2A-Attempt"] == "1"


def test_a_dead_webhook_is_looked_at_until_somebody_gives_it_another_chance() -> None:
    there, _, key = begun()
    there.receiver.script = [WebhookAnswer(410)]
    there.world.run_turns()
    there.fan()
    there.wait()
    for _ in range(3):
        there.recover()

    assert there.store.revive(key)  # and whoever did it dies before it wakes anybody
    there.recover()

    assert there.receiver.told == WHOLE_TURN


def test_a_registration_that_stopped_half_way_is_looked_at_until_it_comes_to_its_end() -> None:
    there = Deployment()
    task = there.world.send("m")
    key = WebhookKey(CALLER.task(task.id), "mine")
    assert there.store.reserve(key, most=10, due_at=there.now)
    there.world.run_turns()
    for _ in range(3):
        there.recover()

    config = TaskPushNotificationConfig(url=URL)
    registered = registration(there.ports, CALLER, config, key, task.context_id)
    there.store.put(key, registered, cursor=0, expires=there.ports.tasks.load(key.task).expires)
    there.recover()

    assert there.receiver.told == WHOLE_TURN


def test_an_event_of_several_notices_that_fails_at_the_last_is_given_up_too() -> None:
    there, _, _ = begun(policy=settings(attempts=3))

    def only_the_last(request: WebhookRequest) -> WebhookAnswer:
        return WebhookAnswer(503 if b"COMPLETED" in request.body else 200)

    there.ports.webhooks.posts.answer = only_the_last  # type: ignore[union-attr]
    there.world.run_turns()
    there.fan()
    there.wait()

    assert [letter.attempts for letter in there.letters.lying] == [3]


def test_a_host_that_never_answers_is_left_alone_and_others_are_not_kept_waiting() -> None:
    there = Deployment()
    tasks = [there.world.send(f"m{number}") for number in range(8)]
    for task in tasks[:6]:
        there.register(task, url="https://hole.example/")
    for task in tasks[6:]:
        there.register(task)

    def answers(request: WebhookRequest) -> WebhookAnswer:
        if "hole" in request.url:
            there.receiver.seen.append(request)
            return WebhookAnswer(None, problem="timed out")
        return there.receiver(request)

    there.ports.webhooks.posts.answer = answers  # type: ignore[union-attr]
    there.world.run_turns()
    there.fan()
    there.wait(timedelta(seconds=40))

    assert there.receiver.told == [*WHOLE_TURN, *WHOLE_TURN]
    # All of them try, after 0, 1, 3 and 7 seconds, until it is clear that nobody is answered; then one does.
    assert len([each for each in there.receiver.seen if "hole" in each.url]) <= 6 * 4 + 1


def test_a_name_that_means_an_inner_address_by_now_is_never_called() -> None:
    there, _, _ = begun()
    there.ports.webhooks.names.known["receiver.example"] = ("93.184.215.14", "10.0.0.7")  # type: ignore[union-attr]

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.seen == []
    assert "not public" in there.letters.lying[0].reason


def test_a_name_without_an_address_is_asked_for_again() -> None:
    there, _, _ = begun()
    names: Any = there.ports.webhooks.names  # type: ignore[union-attr]
    names.known["receiver.example"] = ()
    with pytest.raises(UnresolvableNameError):
        names.addresses("receiver.example")

    there.world.run_turns()
    there.fan()
    there.work()
    del names.known["receiver.example"]
    there.wait()

    assert there.receiver.told == WHOLE_TURN


def test_secrets_that_cannot_be_opened_end_the_webhook() -> None:
    there, _, _ = begun(token="t-secret")
    there.ports.webhooks.seals.lost = True  # type: ignore[union-attr]

    there.world.run_turns()
    there.fan()
    there.wait()

    assert there.receiver.seen == []
    assert "secrets" in there.letters.lying[0].reason


def test_pokes_that_were_lost_are_made_up_for_by_the_sweeper() -> None:
    there, _, _ = begun()

    there.world.run_turns()
    there.fan(lost=True)
    there.pokes.waiting.clear()
    assert there.receiver.told == []
    there.recover()

    assert there.receiver.told == WHOLE_TURN
    assert there.world.tasks.head(next(iter(there.world.executions.started)).task).due_at is None  # type: ignore[union-attr]


def test_pokes_that_come_twice_late_or_for_what_is_gone_change_nothing() -> None:
    there, task, key = begun()
    there.world.run_turns()
    there.fan()
    there.wait()
    delete = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=key.config_id)

    for poke in (Poke(key), Poke(key, 3), Poke(WebhookKey(key.task, "nobody"))):
        deliver(there.ports, poke, there.now + MINUTE)
    delete_config(there.ports, CALLER, delete)
    deliver(there.ports, Poke(key), there.now + MINUTE)

    assert there.receiver.told == WHOLE_TURN
    assert there.store.read(key) is None


def test_what_happens_while_a_delivery_is_at_work_is_delivered_by_it() -> None:
    there, task, _ = begun("ask")
    there.world.run_turns()
    there.fan()
    calls: list[int] = []

    def goes_on() -> None:
        calls.append(1)
        if len(calls) == 4:  # the last event there is
            there.world.send("m2", "go", task_id=task.id)
            there.world.run_turns()
            there.fan()
            there.pokes.waiting.clear()

    there.receiver.during = goes_on
    there.work()

    assert there.receiver.told == [*WHOLE_TURN[:3], "input_required", *WHOLE_TURN]


def test_a_delivery_that_runs_out_of_time_wakes_another() -> None:
    there, _, _ = begun()
    there.world.run_turns()
    there.fan()
    there.receiver.during = lambda: there.world.clock.sleep(10)

    (poke, *_) = there.pokes.arrived()
    deliver(there.ports, poke, there.now + timedelta(seconds=15))
    assert there.receiver.told == WHOLE_TURN[:2]
    there.wait()

    assert there.receiver.told == WHOLE_TURN


def test_a_delivery_that_comes_too_late_to_try_forgets_no_attempt() -> None:
    there, _, key = begun()
    there.receiver.script = [WebhookAnswer(503)] * 2
    there.world.run_turns()
    there.fan()
    there.work()
    there.world.clock.sleep(5)

    deliver(there.ports, Poke(key), there.now)
    there.wait()

    assert [each.headers["X-A2A-Attempt"] for each in there.receiver.seen[:3]] == ["1", "2", "3"]
    assert there.receiver.told == WHOLE_TURN


def test_a_webhook_registered_again_goes_on_from_where_it_was_at_its_new_address() -> None:
    there, task, key = begun()
    there.receiver.script = [WebhookAnswer(200), WebhookAnswer(410)]
    there.world.run_turns()
    there.fan()
    there.wait()

    there.register(task, id=key.config_id, url="https://elsewhere.example/")
    there.wait()

    assert there.receiver.told == WHOLE_TURN
    assert {each.url for each in there.receiver.seen[2:]} == {"https://elsewhere.example/"}


def test_a_webhook_that_is_deleted_while_it_is_called_stays_deleted() -> None:
    there, task, key = begun()
    there.world.run_turns()
    there.fan()
    delete = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id=key.config_id)
    there.receiver.during = lambda: delete_config(there.ports, CALLER, delete)

    there.wait()
    there.recover()

    assert there.receiver.told == ["working"]
    assert there.store.read(key) is None


def test_redriving_everything_takes_each_dead_webhook_once() -> None:
    there = Deployment()
    keys = [there.register(there.world.send(f"m{number}")) for number in range(5)]
    there.receiver.script = [WebhookAnswer(410)] * 5
    there.world.run_turns()
    there.fan()
    there.wait()
    assert len(there.letters.lying) == 5

    assert set(redrive_all(there.ports)) == set(keys)
    assert clear_letters(there.ports) == 5
    there.wait()

    assert sorted(there.receiver.told) == sorted(WHOLE_TURN * 5)


def test_a_canceled_task_tells_its_state_and_no_half_artifact() -> None:
    there, task, _ = begun("ask")
    there.world.run_turns()

    cancel_task(there.ports, CALLER, CancelTaskRequest(id=task.id))
    there.fan()
    there.wait()

    assert there.receiver.told == [*WHOLE_TURN[:3], "input_required", "canceled"]


def test_other_services_hear_of_states_and_of_nothing_that_was_said() -> None:
    there, task, _ = begun("ask")
    there.world.run_turns()
    there.fan()

    events: Any = there.ports.webhooks.events  # type: ignore[union-attr]
    assert [change.state for change in events.changes] == [TaskState.WORKING, TaskState.INPUT_REQUIRED]
    assert {change.context_id for change in events.changes} == {task.context_id}


def test_a_webhook_that_comes_with_the_message_hears_of_everything() -> None:
    there = Deployment()
    wanted = request("m", "go")
    config = SendMessageConfiguration(
        return_immediately=True, task_push_notification_config=TaskPushNotificationConfig(url=URL)
    )
    asked = SendMessageRequest(message=wanted.message, configuration=config)

    first, again = (there.world.answer(asked).task for _ in range(2))
    there.world.run_turns()
    there.fan()
    there.wait()

    assert first is not None
    assert again is not None
    assert len(there.store.ids(CALLER.task(first.id))) == 1
    assert there.receiver.told == WHOLE_TURN


# --- crash points ------------------------------------------------

STORE_WRITES = {"reserve", "put", "delete", "lease", "advance", "put_off", "kill", "revive", "send", "remove"}


@dataclass
class Doomed:
    """A port of webhooks whose writes meet their fate."""

    port: Any
    fate: Fate

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.port, name)
        if name not in STORE_WRITES:
            return method
        return lambda *args, **kwargs: self.fate.call(method, *args, **kwargs)


def doomed(there: Deployment, fate: Fate) -> Ports:
    webhooks = there.ports.webhooks
    assert webhooks is not None
    faulty = {name: Doomed(getattr(webhooks, name), fate) for name in ("store", "pokes", "letters")}
    return replace(there.world.doomed(fate), webhooks=replace(webhooks, **faulty))


ANSWERS: dict[str, list[WebhookAnswer]] = {
    "takes everything": [],
    "fails twice": [WebhookAnswer(503), WebhookAnswer(None)],
    "refuses the second": [WebhookAnswer(200), WebhookAnswer(410)],
}


def struck(answers: str, at: int, fault: Fault) -> tuple[Deployment, Fate]:
    """A whole turn delivered by senders of whom one is struck at its n-th write, and what comes after."""
    there, _, key = begun()
    there.receiver.script = list(ANSWERS[answers])
    there.world.run_turns()
    there.fan()
    fate = Fate(at, fault)
    while there.pokes.waiting and not (at and fate.writes >= at):
        next_at = there.pokes.next_at()
        there.world.clock.sleep(max(0.0, (next_at - there.now).total_seconds()))
        for poke in there.pokes.arrived():
            try:
                deliver(doomed(there, fate), poke, there.now + MINUTE)
            except Died:
                break  # the poke comes back in the end; here it is lost for good
    there.recover()
    if dead_webhooks(there.ports):
        assert there.letters.lying, "dead without a record"
        assert redrive(there.ports, key)
        there.recover()
    return there, fate


def writes(answers: str) -> int:
    return struck(answers, 0, Fault.DIES_BEFORE)[1].writes


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
@pytest.mark.parametrize("answers", ANSWERS)
def test_whoever_delivers_may_die_at_any_write_and_nothing_is_lost_or_out_of_order(
    answers: str, fault: Fault
) -> None:
    number = writes(answers)
    assert number >= 5
    for at in range(1, number + 1):
        there, _ = struck(answers, at, fault)

        assert there.receiver.first_told == WHOLE_TURN, f"write {at}"
        repeated = len(there.receiver.told) - len(WHOLE_TURN)
        assert repeated <= (0 if fault is Fault.ANSWER_LOST else 2), f"write {at}"


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_whoever_registers_may_die_at_any_write_and_trying_again_loses_nothing(fault: Fault) -> None:
    for at in range(1, 4):
        there = Deployment()
        task = there.world.send("m")
        config = TaskPushNotificationConfig(task_id=task.id, id="mine", url=URL)
        try:
            create_config(doomed(there, Fate(at, fault)), CALLER, config)
        except Died:
            create_config(there.ports, CALLER, config)
        there.world.run_turns()
        there.fan()
        there.wait()

        assert there.receiver.told == WHOLE_TURN
        assert there.store.ids(CALLER.task(task.id)) == {"mine"}


@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_a_redrive_that_dies_at_any_write_is_made_up_for(fault: Fault) -> None:
    for at in range(1, 3):
        there, _, key = begun()
        there.receiver.script = [WebhookAnswer(410)]
        there.world.run_turns()
        there.fan()
        there.wait()
        try:
            redrive(doomed(there, Fate(at, fault)), key)
        except Died:
            redrive(there.ports, key)
        there.recover()

        assert there.receiver.told == WHOLE_TURN


def with_webhook(text: str = "go", **ids: str) -> SendMessageRequest:
    """A message that brings its webhook along."""
    wanted = request("m", text, **ids)
    config = SendMessageConfiguration(
        return_immediately=True, task_push_notification_config=TaskPushNotificationConfig(url=URL)
    )
    return SendMessageRequest(message=wanted.message, configuration=config)


@pytest.mark.parametrize("again", [True, False], ids=["sent again", "swept"])
@pytest.mark.parametrize("fault", [Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.ANSWER_LOST])
def test_a_message_that_brings_a_webhook_may_meet_any_fate_and_the_webhook_hears_of_all_that_happens(
    fault: Fault, *, again: bool
) -> None:
    fate = Fate()
    Deployment().world.answer(with_webhook(), ports=doomed(there := Deployment(), fate))
    assert there.store.ids(next(iter(there.world.executions.started)).task)
    assert fate.writes >= 7
    for at in range(1, fate.writes + 1):
        there = Deployment()
        died = False
        try:
            there.world.answer(with_webhook(), ports=doomed(there, Fate(at, fault)))
        except Died:
            died = True
        if again and died:
            there.world.answer(with_webhook())
        there.recover()
        there.fan()
        there.recover()

        opened = {turn.task for turn in there.world.executions.started}
        assert len(opened) == (0 if died and not again and at == 1 and fault is Fault.DIES_BEFORE else 1)
        assert there.receiver.told == WHOLE_TURN * len(opened), f"write {at}"
