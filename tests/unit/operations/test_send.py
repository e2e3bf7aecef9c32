"""SendMessage: when it answers, with what, and what it refuses (specification 3.1.1 and 3.2.2)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from a2a_serverless.agent import ArtifactChunk, AuthRequired, InputRequired, Working
from a2a_serverless.operations.inputs import accepts
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Answer, ContextKey, ContextRow, ContextStore, Policy, TurnKey
from a2a_serverless.protocol.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    PushNotificationNotSupportedError,
)
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState
from a2a_serverless.protocol.requests import SendMessageResponse, TaskPushNotificationConfig
from a2a_serverless.tasks.log import LoggedEvent, TaskKey
from tests.fakes.ports import FakeTasks
from tests.unit.operations.world import CALLER, Died, Fate, World, asking, message, plays


def blocking(world: World, said: Message, **configuration: object) -> Task:
    answered = world.answer(asking(said, return_immediately=False, **configuration))
    assert answered.task is not None
    return answered.task


def runs_after(world: World, seconds: float) -> None:
    """Let every turn that is started from now on run that much later."""
    world.executions.on_start = lambda key: world.clock.after(seconds, lambda: world.invoke(key))


def waited(world: World, act: Callable[[], Task]) -> tuple[Task, timedelta]:
    begun: datetime = world.clock.now()
    return act(), world.clock.now() - begun


# --- when it answers -------------------------------------------------


def test_a_blocking_send_answers_when_the_task_has_ended_with_all_its_artifacts() -> None:
    world = World()
    runs_after(world, 2)

    task, took = waited(world, lambda: blocking(world, message("m")))

    assert task.status.state is TaskState.COMPLETED
    assert [artifact.parts for artifact in task.artifacts] == [(Part(text="about go"),)]
    assert timedelta(seconds=2) <= took < timedelta(seconds=2.2)
    assert task == world.get(task.id)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (InputRequired("Which?"), TaskState.INPUT_REQUIRED),
        (AuthRequired("Sign in"), TaskState.AUTH_REQUIRED),
    ],
)
def test_a_blocking_send_answers_when_the_task_waits_for_its_caller(
    outcome: object, state: TaskState
) -> None:
    world = World(agent=plays(Working("on it"), outcome))
    runs_after(world, 1)

    task, took = waited(world, lambda: blocking(world, message("m")))

    assert task.status.state is state
    assert took < timedelta(seconds=1.2)


def test_a_blocking_answer_waits_for_its_own_turn_and_not_for_the_question_before_it() -> None:
    world = World()
    asked = world.said("m0", "ask")
    runs_after(world, 3)

    task, took = waited(world, lambda: blocking(world, message("m1", task_id=asked.id)))

    assert task.status.state is TaskState.COMPLETED
    assert took >= timedelta(seconds=3)


def test_a_blocking_send_answers_once_its_own_turn_is_over_even_if_the_next_has_begun() -> None:
    world = World()

    def asks_and_is_answered_at_once(key: TurnKey) -> None:
        world.executions.on_start = None
        world.invoke(key)
        world.send("m1", task_id=key.task.task_id)

    world.executions.on_start = lambda key: world.clock.after(1, lambda: asks_and_is_answered_at_once(key))

    task, took = waited(world, lambda: blocking(world, message("m0", Part(text="ask"))))

    assert (task.status.state, took < timedelta(seconds=1.2)) == (TaskState.WORKING, True)


def test_a_turn_that_outlasts_the_longest_wait_is_answered_as_it_stands_and_goes_on() -> None:
    world = World(policy=Policy(blocking_wait=timedelta(seconds=25)))
    runs_after(world, 26)

    task, took = waited(world, lambda: blocking(world, message("m")))

    assert (task.status.state, took) == (TaskState.SUBMITTED, timedelta(seconds=25))
    world.clock.sleep(1)
    assert world.get(task.id).status.state is TaskState.COMPLETED


def test_a_turn_at_work_when_the_longest_wait_is_over_is_answered_as_working() -> None:
    world = World()

    def begins(key: TurnKey) -> None:
        with suppress(Died):
            run_turn(world.doomed(Fate(3)), world.watched, key, lambda: 60.0)

    world.executions.on_start = lambda key: world.clock.after(20, lambda: begins(key))

    task, took = waited(world, lambda: blocking(world, message("m")))

    assert (task.status.state, took) == (TaskState.WORKING, timedelta(seconds=25))


def test_a_send_that_returns_immediately_does_not_wait() -> None:
    world = World()

    task, took = waited(world, lambda: world.send("m"))

    assert (task.status.state, took) == (TaskState.SUBMITTED, timedelta())


def test_an_answer_that_returns_immediately_finds_its_task_at_work_and_not_waiting() -> None:
    world = World()
    asked = world.said("m0", "ask")

    task, took = waited(world, lambda: world.send("m1", task_id=asked.id))

    assert (task.status.state, took) == (TaskState.WORKING, timedelta())
    assert [said.message_id for said in task.history][-1] == "m1"


def test_a_repeated_blocking_send_waits_for_the_turn_of_the_first() -> None:
    world = World()
    runs_after(world, 5)
    first = world.send("m")

    task, took = waited(world, lambda: blocking(world, message("m")))

    assert (task.id, task.status.state) == (first.id, TaskState.COMPLETED)
    assert took >= timedelta(seconds=5)


def test_a_repeated_send_that_returns_immediately_shows_the_task_as_it_is_now() -> None:
    world = World()
    world.said("m")

    task, took = waited(world, lambda: world.send("m"))

    assert (task.status.state, took) == (TaskState.COMPLETED, timedelta())


def test_a_blocking_send_reads_ever_more_rarely_while_nothing_happens() -> None:
    world = World()
    reads: list[datetime] = []

    @dataclass(frozen=True)
    class Counted(FakeTasks):
        def events_after(self, key: TaskKey, position: int, limit: int) -> Sequence[LoggedEvent]:
            reads.append(self.table.clock.now())
            return super().events_after(key, position, limit)

    world.ports = replace(world.ports, tasks=Counted(world.table))

    blocking(world, message("m"))

    gaps = [(after - before).total_seconds() for before, after in pairwise(reads)]
    assert gaps[:2] == [0.1, 0.125]
    assert gaps == sorted(gaps[:-1]) + gaps[-1:]
    assert gaps[20] == 0.16
    assert gaps[-2] == 1.0


# --- with what -------------------------------------------------


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize(
    ("length", "shown"),
    [(None, ["m0", "?", "m1"]), (0, []), (1, ["m1"]), (2, ["?", "m1"]), (9, ["m0", "?", "m1"])],
)
def test_as_much_history_is_shown_as_was_asked_for(length: int | None, shown: list[str], wait: bool) -> None:  # noqa: FBT001
    world = World()
    asked = world.said("m0", "ask")
    world.executions.on_start = world.invoke
    wanted = asking(message("m1", task_id=asked.id), history_length=length, return_immediately=not wait)

    task = world.answer(wanted).task

    assert task is not None
    assert [said.message_id if said.role is Role.USER else "?" for said in task.history] == shown
    assert ("history" in task.to_dict()) is bool(shown)


def test_the_task_has_no_history_member_when_none_is_wanted_and_the_stored_one_keeps_it() -> None:
    world = World()

    task = blocking(world, message("m"), history_length=0)

    assert "history" not in task.to_dict()
    assert [said.message_id for said in world.get(task.id).history] == ["m"]


# --- an instant answer -------------------------------------------------


def greets(said: Message) -> Message | None:
    """Answers a greeting and nothing else, in the caller's role by mistake."""
    if said.parts[0].text != "hi":
        return None
    return Message(message_id="r", role=Role.USER, parts=(Part(text="hello"),))


@dataclass
class LookedUp:
    """Contexts, and which of them were read."""

    contexts: ContextStore
    names: list[str] = field(default_factory=list)

    def read(self, key: ContextKey) -> ContextRow:
        self.names.append(key.context_id)
        return self.contexts.read(key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.contexts, name)


def answering(answer: Answer) -> World:
    world = World()
    world.ports = replace(world.ports, answer=answer)
    return world


def reply_of(answered: SendMessageResponse) -> Message:
    assert answered.task is None
    assert answered.message is not None
    return answered.message


def test_an_instant_answer_is_a_message_without_a_task() -> None:
    world = answering(greets)

    reply = reply_of(world.answer(asking(message("m", Part(text="hi")))))

    assert (reply.role, reply.parts, reply.task_id) == (Role.AGENT, (Part(text="hello"),), None)
    assert reply.context_id
    assert world.table.items == {}
    assert world.executions.started == []


def test_a_message_that_answers_the_waiting_task_of_its_context_gets_no_instant_answer() -> None:
    world = World(agent=plays(InputRequired("?")))
    asked = world.said("m1")
    heard: list[Message] = []

    def hears(given: Message) -> Message | None:
        heard.append(given)
        return greets(given)

    world.ports = replace(world.ports, answer=hears)

    answered = world.send("m2", "hi", context_id=asked.context_id)

    assert (answered.id, heard) == (asked.id, [])


def test_only_a_message_with_a_context_is_looked_up_before_its_instant_answer() -> None:
    world = answering(greets)
    looked_up = LookedUp(world.ports.contexts)
    world.ports = replace(world.ports, contexts=looked_up)

    reply_of(world.answer(asking(message("m1", Part(text="hi")))))
    assert looked_up.names == []

    reply_of(world.answer(asking(message("m2", Part(text="hi"), context_id="c-1"))))
    assert looked_up.names == ["c-1"]


def test_an_instant_answer_stays_in_the_context_it_was_asked_in() -> None:
    reply = reply_of(answering(greets).answer(asking(message("m", Part(text="hi"), context_id="c"))))

    assert reply.context_id == "c"


def test_an_instant_answer_may_name_a_context_of_its_own_and_never_names_a_task() -> None:
    def answer(_: Message) -> Message:
        return Message(
            message_id="r", role=Role.AGENT, parts=(Part(text="x"),), context_id="mine", task_id="made-up"
        )

    reply = reply_of(answering(answer).answer(asking(message("m", context_id="c"))))

    assert (reply.context_id, reply.task_id) == ("mine", None)


def test_a_message_that_gets_no_instant_answer_becomes_a_task() -> None:
    world = answering(greets)

    assert world.send("m", "work").status.state is TaskState.SUBMITTED


def test_a_message_to_a_task_never_gets_an_instant_answer() -> None:
    world = answering(greets)
    asked = world.said("m0", "ask")

    answered = world.answer(asking(message("m1", Part(text="hi"), task_id=asked.id)))

    assert answered.task is not None
    assert answered.task.id == asked.id


def test_a_failing_instant_answer_is_an_internal_error_that_says_nothing_but_where_to_look() -> None:
    def answer(_: Message) -> Message:
        raise RuntimeError("the secret is swordfish")

    world = answering(answer)

    with pytest.raises(InternalError) as refused:
        world.answer(asking(message("m")))

    assert (refused.value.message, refused.value.metadata) == ("Internal error", {"errorId": "incident-1"})
    assert "swordfish" not in str(refused.value.details())
    assert [str(error) for error, _ in world.incidents.reported] == ["the secret is swordfish"]
    assert world.table.items == {}


# --- what it refuses -------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "media_type", "accepted"),
    [
        ((), "application/x-anything", True),
        (("text/plain",), "text/plain", True),
        (("text/plain",), "TEXT/Plain", True),
        (("Text/PLAIN",), "text/plain", True),
        (("text/plain",), "text/plain; charset=utf-8", True),
        (("text/plain; charset=utf-8",), "text/plain", True),
        (("text/plain",), "text/html", False),
        (("text/plain",), "text", False),
        (("text/*",), "text/html;level=1", True),
        (("text/*",), "textual/html", False),
        (("text/*",), "application/json", False),
        (("*/*",), "image/png", True),
        (("image/png", "image/jpeg"), "image/jpeg", True),
        (("image/png", "image/jpeg"), "image/gif", False),
    ],
)
def test_media_types_match_whatever_their_parameters_and_case(
    modes: tuple[str, ...], media_type: str, *, accepted: bool
) -> None:
    assert accepts(modes, media_type) is accepted


@pytest.mark.parametrize(
    ("part", "refused"),
    [
        (Part(text="x"), None),
        (Part(text="x", media_type="text/plain;charset=utf-8"), None),
        (Part(text="x", media_type="text/markdown"), "text/markdown"),
        (Part(data={"k": 1}), "application/json"),
        (Part(data=None), "application/json"),
        (Part(raw=b"x"), "application/octet-stream"),
        (Part(raw=b"x", media_type="image/png"), None),
        (Part(url="file:///x", media_type="video/mp4"), "video/mp4"),
    ],
)
def test_a_part_of_a_type_the_agent_does_not_take_is_refused_by_name(part: Part, refused: str | None) -> None:
    world = World(policy=Policy(input_modes=("text/plain", "image/*")))
    said = message("m", Part(text="see"), part)
    if refused is None:
        assert world.answer(asking(said)).task is not None
        return

    with pytest.raises(ContentTypeNotSupportedError) as error:
        world.answer(asking(said))

    assert error.value.metadata == {"field": "message.parts[1].mediaType", "mediaType": refused}
    assert error.value.message == "The agent takes text/plain, image/*."
    assert world.table.items == {}
    assert world.contents.stored == {}


def test_a_webhook_is_refused_where_none_is_delivered_and_the_message_with_it() -> None:
    world = World()
    config = TaskPushNotificationConfig(url="https://example.com/hook")

    with pytest.raises(PushNotificationNotSupportedError):
        world.answer(asking(message("m"), task_push_notification_config=config))

    assert world.table.items == {}


def test_a_refused_message_is_refused_before_the_agent_is_asked_for_an_instant_answer() -> None:
    asked: list[Message] = []
    world = World(policy=Policy(input_modes=("text/plain",)))
    world.ports = replace(world.ports, answer=asked.append)

    with pytest.raises(ContentTypeNotSupportedError):
        world.answer(asking(message("m", Part(data={}))), CALLER)

    assert asked == []


def test_artifacts_of_an_earlier_turn_are_part_of_a_later_answer() -> None:
    world = World(agent=plays(ArtifactChunk("a", "x"), InputRequired("?")))
    asked = world.said("m0")

    answered = world.send("m1", task_id=asked.id)

    assert [artifact.artifact_id for artifact in answered.artifacts] == ["a"]
