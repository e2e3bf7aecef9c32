"""What becomes of a message: admitted once, to one place, or refused and leaving nothing behind."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from a2a_serverless.agent import Completed, Failed, InputRequired, Rejected
from a2a_serverless.operations.admit import ALREADY_WORKING, NEARLY_EXPIRED
from a2a_serverless.operations.cancel import cancel_task
from a2a_serverless.operations.read import list_tasks
from a2a_serverless.operations.serving import find_content
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.ports import Admission, AdmissionKey, Caller, Policy
from a2a_serverless.protocol.errors import (
    A2AError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.objects import Message, Part, Role, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest, ListTasksRequest, SendMessageResponse
from a2a_serverless.tasks.log import MessageReceived, Voided
from tests.fakes.ports import FakeContexts
from tests.unit.operations.world import (
    ANONYMOUS,
    BOB,
    CALLER,
    ELSEWHERE,
    Fate,
    Fault,
    World,
    asking,
    at_once,
    message,
    plays,
    request,
)


def task_id(response: SendMessageResponse) -> str:
    assert response.task is not None
    return response.task.id


def refusal_of(world: World, said: Message, caller: Caller = CALLER) -> A2AError:
    with pytest.raises(A2AError) as refused:
        world.answer(asking(said), caller)
    return refused.value


def blamed(error: A2AError) -> list[str]:
    return [violation.field for violation in error.violations]


def everything(world: World) -> dict[object, object]:
    return dict(world.table.items)


def received(world: World, task: str, caller: Caller = CALLER) -> list[str]:
    entries = world.entries(task, caller)
    return [entry.message.message_id for entry in entries if isinstance(entry, MessageReceived)]


def listed(world: World) -> list[str]:
    return [task.id for task in list_tasks(world.ports, CALLER, ListTasksRequest()).tasks]


# --- whose task it is -------------------------------------------------


def test_a_foreign_task_and_one_that_never_was_are_refused_alike() -> None:
    world = World()
    waiting = world.said("m0", "ask").id
    before = everything(world)

    refusals = [
        refusal_of(world, message("m1", task_id="never-was")),
        refusal_of(world, message("m1", task_id=waiting), BOB),
        refusal_of(world, message("m1", task_id=waiting), ELSEWHERE),
        refusal_of(world, message("m1", task_id=waiting), ANONYMOUS),
    ]

    assert {type(refused) for refused in refusals} == {TaskNotFoundError}
    assert len({(refused.message, str(refused.details())) for refused in refusals}) == 1
    assert everything(world) == before


def test_two_callers_may_use_one_message_id_and_one_context_id() -> None:
    world = World()
    said = message("m", context_id="c")

    alices = task_id(world.answer(asking(said)))
    bobs = task_id(world.answer(asking(said), BOB))
    elsewhere = task_id(world.answer(asking(said), ELSEWHERE))

    assert len({alices, bobs, elsewhere}) == 3
    assert [len(world.entries(task, BOB)) for task in (alices, bobs)] == [0, 1]


# --- what its state allows -------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(Completed(), "COMPLETED"), (Failed("no"), "FAILED"), (Rejected("no"), "REJECTED"), (None, "CANCELED")],
)
def test_a_task_that_has_ended_takes_no_message(outcome: object, state: str) -> None:
    world = World(agent=plays(outcome or InputRequired("?")))
    ended = world.said("m0").id
    if outcome is None:
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=ended))
    before = everything(world)

    refused = refusal_of(world, message("m1", task_id=ended))

    assert isinstance(refused, UnsupportedOperationError)
    assert refused.message == f"The task has ended (TASK_STATE_{state}) and takes no further message."
    assert everything(world) == before


def test_a_task_that_works_takes_no_message_and_nothing_is_written() -> None:
    world = World()
    working = world.send("m0").id
    before = everything(world)

    refused = refusal_of(world, message("m1", task_id=working))

    assert (type(refused), refused.message) == (UnsupportedOperationError, "Task is already working.")
    assert everything(world) == before


def test_a_second_message_to_a_working_context_is_refused_and_accepted_once_the_turn_has_ended() -> None:
    world = World()
    working = world.send("m0", context_id="c").id

    refused = refusal_of(world, message("m1", context_id="c"))

    assert (type(refused), refused.message) == (UnsupportedOperationError, ALREADY_WORKING)
    assert listed(world) == [working]
    assert len(world.executions.started) == 1
    assert [record.record_id for _, record in world.table.all(Admission)] == ["=m0"]
    world.run_turns()

    accepted = world.said("m1", context_id="c")

    assert accepted.id != working
    assert accepted.status.state is TaskState.COMPLETED


def test_a_refused_message_can_never_arrive_where_it_was_to_stand() -> None:
    world = World()
    world.send("m0", context_id="c")

    refusal_of(world, message("m1", context_id="c"))

    hidden = [key.task_id for key in world.logs() if not world.load(key.task_id).exists]
    assert [world.entries(task) for task in hidden] == [[Voided()]]
    with pytest.raises(TaskNotFoundError):
        world.get(hidden[0])


def two_that_wait(world: World) -> tuple[str, str]:
    """Two tasks that wait in context c: the second was let in while the first was about to ask."""
    first = world.send("m1", "ask", context_id="c").id
    late = world.doomed(Fate(1, Fault.MEDDLED, world.run_turns))
    second = world.send("m2", "ask", late, context_id="c").id
    world.run_turns()
    assert world.load(first).waiting
    assert world.load(second).waiting
    return first, second


def test_an_answer_is_refused_while_another_task_of_its_context_works_and_accepted_after() -> None:
    world = World()
    first, second = two_that_wait(world)
    world.send("m3", task_id=second)

    refused = refusal_of(world, message("m4", task_id=first))

    assert refused.message == ALREADY_WORKING
    assert isinstance(world.entries(first)[-1], Voided)
    assert world.get(first).status.state is TaskState.INPUT_REQUIRED
    world.run_turns()
    assert world.said("m4", task_id=first).status.state is TaskState.COMPLETED


def test_whoever_finds_the_context_busy_learns_that_another_copy_of_the_message_was_admitted() -> None:
    """A copy that saw the context busy may be overtaken: the position decides, not what the copy saw."""
    world = World()
    world.send("m0", context_id="c")
    copies: list[str] = []

    def overtake() -> None:
        world.run_turns()
        copies.append(world.send("m1", context_id="c").id)

    copies.append(world.send("m1", "go", world.doomed(Fate(2, Fault.MEDDLED, overtake)), context_id="c").id)

    assert len(set(copies)) == 1
    assert received(world, copies[0]) == ["m1"]


def test_whoever_was_refused_stays_refused_when_a_copy_that_saw_the_context_free_comes_late() -> None:
    """Promise: refused means it is nowhere. The void holds off a copy that took the context meanwhile."""
    world = World()
    world.send("m0", "go", context_id="c")
    late_copy: list[object] = []

    def another_copy() -> None:
        # It finds the record pending and the context free, while the first copy is about to give up.
        world.run_turns()
        late_copy.extend(at_once(lambda: world.send("m1", "go", world.ports, context_id="c")))

    struck = world.doomed(Fate(3, Fault.MEDDLED, another_copy))
    with pytest.raises(UnsupportedOperationError, match="already working"):
        world.send("m1", "go", struck, context_id="c")

    arrived = [key.task_id for key in world.logs() if "m1" in received(world, key.task_id)]
    assert arrived == []
    assert isinstance(late_copy[0], UnsupportedOperationError)
    world.recover()
    assert world.pending() == []
    assert world.said("m1", context_id="c").status.state is TaskState.COMPLETED


def test_an_answer_that_loses_to_a_cancel_is_told_that_the_task_has_ended() -> None:
    world = World()
    waiting = world.said("m0", "ask").id

    def cancel() -> None:
        cancel_task(world.ports, CALLER, CancelTaskRequest(id=waiting))

    with pytest.raises(UnsupportedOperationError, match=r"has ended \(TASK_STATE_CANCELED\)"):
        world.send("m1", "go", world.doomed(Fate(3, Fault.MEDDLED, cancel)), task_id=waiting)

    assert world.pending() == []
    assert received(world, waiting) == ["m0"]


# --- which context and which task -------------------------------------------------


def test_the_task_says_the_context_of_its_message() -> None:
    world = World()
    waiting = world.said("m0", "ask", context_id="c").id

    world.send("m1", task_id=waiting)

    said = world.get(waiting).history[-1]
    assert (said.message_id, said.context_id, said.task_id) == ("m1", "c", waiting)


def test_a_context_that_is_not_the_tasks_is_blamed_by_name() -> None:
    world = World()
    waiting = world.said("m0", "ask", context_id="c").id
    before = everything(world)

    refused = refusal_of(world, message("m1", task_id=waiting, context_id="another"))

    assert isinstance(refused, InvalidParamsError)
    assert blamed(refused) == ["message.contextId"]
    assert everything(world) == before


def test_both_ids_may_be_given_when_they_belong_together() -> None:
    world = World()
    waiting = world.said("m0", "ask", context_id="c").id

    assert world.said("m1", task_id=waiting, context_id="c").status.state is TaskState.COMPLETED


def test_a_context_is_made_up_for_a_message_that_names_none_and_accepted_back() -> None:
    world = World()
    first = world.said("m0")

    second = world.said("m1", context_id=first.context_id or "")

    assert first.context_id
    assert second.context_id == first.context_id
    assert second.id != first.id


def test_the_context_alone_goes_on_with_the_one_task_that_waits_in_it() -> None:
    world = World()
    waiting = world.said("m0", "ask", context_id="c").id

    answered = world.said("m1", context_id="c")

    assert answered.id == waiting
    assert answered.status.state is TaskState.COMPLETED


def test_the_context_alone_opens_a_task_when_two_wait_in_it() -> None:
    world = World()
    both = two_that_wait(world)

    third = world.said("m3", context_id="c")

    assert third.id not in both
    assert all(world.load(task).waiting for task in both)


def test_the_context_alone_finds_the_one_left_once_the_other_has_ended() -> None:
    world = World()
    first, second = two_that_wait(world)
    cancel_task(world.ports, CALLER, CancelTaskRequest(id=second))

    assert world.send("m3", context_id="c").id == first


def ends_and_dies(world: World) -> None:
    """The turn that runs ends, and its process is gone before it writes the context's row."""
    world.invoke(next(world.running()), replace(world.ports, contexts=_Deaf(world.table)))


def test_the_context_alone_finds_a_task_that_asked_and_died_before_the_row_said_so() -> None:
    world = World()
    asked = world.send("m0", "ask", context_id="c").id
    ends_and_dies(world)

    assert world.send("m1", context_id="c").id == asked


def test_a_task_that_asked_and_died_is_known_to_wait_after_another_has_taken_the_context() -> None:
    world = World()
    first = world.send("m0", "ask", context_id="c").id
    late = world.doomed(Fate(1, Fault.MEDDLED, lambda: ends_and_dies(world)))

    other = world.send("m1", "go", late, context_id="c").id

    assert other != first
    assert world.ports.contexts.read(CALLER.context("c")).waiting == {first}
    world.run_turns()
    assert world.send("m2", context_id="c").id == first


def test_what_a_turn_remembered_and_died_before_the_row_said_so_reaches_the_next_turn() -> None:
    world = World()
    world.send("m0", "go", context_id="c")
    ends_and_dies(world)
    assert world.ports.contexts.read(CALLER.context("c")).state is None

    world.said("m1", context_id="c")

    state = world.ports.contexts.read(CALLER.context("c")).state
    assert state is not None
    assert json.loads(world.contents.get(state)) == {"seen": ["m0", "m1"]}


@dataclass(frozen=True)
class _Deaf(FakeContexts):
    """Contexts as a process leaves them that dies before it settles one."""

    def settle(self, *_: object, **__: object) -> None:
        """Never happens."""


# --- once -------------------------------------------------


def test_the_same_message_is_given_the_same_task_whatever_became_of_it() -> None:
    world = World()
    opened = world.send("m0", "ask", context_id="c").id
    while_working = world.send("m0", "ask", context_id="c").id
    world.run_turns()
    while_waiting = world.send("m0", "ask", context_id="c").id
    world.said("m1", context_id="c")

    assert {opened, while_working, while_waiting, world.send("m0", "ask", context_id="c").id} == {opened}
    assert received(world, opened) == ["m0", "m1"]
    assert len(world.executions.started) == 2


def test_the_same_answer_is_given_its_task_even_after_the_task_has_ended() -> None:
    world = World()
    waiting = world.said("m0", "ask").id

    answers = [world.send("m1", task_id=waiting).id for _ in range(2)]
    world.run_turns()
    answers.append(world.send("m1", task_id=waiting).id)

    assert answers == [waiting] * 3
    assert received(world, waiting) == ["m0", "m1"]


def test_the_same_answer_is_given_its_task_even_when_the_task_waits_again_and_is_about_to_expire() -> None:
    world = World(agent=plays(InputRequired("And?")))
    waiting = world.said("m0").id
    world.said("m1", task_id=waiting)
    world.clock.sleep(world.policy.retention.total_seconds() - 60)

    assert world.send("m1", task_id=waiting).id == waiting
    assert received(world, waiting) == ["m0", "m1"]


@pytest.mark.parametrize(
    "other",
    [
        message("m0", Part(text="else")),
        message("m0", Part(text="go"), context_id="c"),
        message("m0", Part(text="go"), metadata={"k": 1}),
        message("m0", Part(text="go", media_type="text/markdown")),
    ],
)
def test_the_same_id_with_another_body_is_blamed_by_name(other: Message) -> None:
    world = World()
    world.said("m0", "go")
    before = everything(world)

    refused = refusal_of(world, other)

    assert isinstance(refused, InvalidParamsError)
    assert blamed(refused) == ["message.messageId"]
    assert everything(world) == before


def test_an_id_used_for_an_answer_cannot_be_used_for_another_one() -> None:
    world = World()
    waiting = world.said("m0", "ask").id
    world.said("m1", "go", task_id=waiting)

    assert blamed(refusal_of(world, message("m1", Part(text="no, stop"), task_id=waiting))) == [
        "message.messageId"
    ]


@pytest.mark.parametrize("ids", [{}, {"context_id": "c"}])
def test_one_message_sent_by_eight_threads_at_once_is_one_task_and_one_execution(ids: dict[str, str]) -> None:
    for _ in range(20):
        world = World()
        said = asking(message("m", **ids))

        told = at_once(*[lambda world=world, said=said: task_id(world.answer(said))] * 8)

        assert len(set(told)) == 1
        assert [received(world, key.task_id) for key in world.logs()] == [["m"]]
        assert len(world.executions.started) == 1
        assert world.pending() == []


def test_one_answer_sent_by_eight_threads_at_once_arrives_once() -> None:
    for _ in range(20):
        world = World()
        waiting = world.said("m0", "ask").id
        said = asking(message("m1", task_id=waiting))

        told = at_once(*[lambda world=world, said=said: task_id(world.answer(said))] * 8)

        assert set(told) == {waiting}
        assert received(world, waiting) == ["m0", "m1"]
        assert len(world.executions.started) == 2


def test_one_of_two_answers_to_a_question_wins() -> None:
    for _ in range(50):
        world = World()
        waiting = world.said("m0", "ask").id
        sends: Sequence[Callable[[], SendMessageResponse]] = [
            lambda name=name, world=world, waiting=waiting: world.answer(  # type: ignore[misc]
                asking(message(name, task_id=waiting))
            )
            for name in ("m1", "m2")
        ]

        told = at_once(*sends)

        refused = [answer for answer in told if isinstance(answer, UnsupportedOperationError)]
        assert [error.message for error in refused] == [ALREADY_WORKING]
        assert len(received(world, waiting)) == 2
        assert world.pending() == []
        world.run_turns()
        assert world.get(waiting).status.state is TaskState.COMPLETED


# --- where a message id says nothing -------------------------------------------------

NOT_ONCE = [(Policy(deduplicate=False), CALLER), (Policy(), ANONYMOUS)]


@pytest.mark.parametrize(("policy", "caller"), NOT_ONCE, ids=["deduplication off", "anonymous"])
def test_without_deduplication_every_message_is_a_message_of_its_own(policy: Policy, caller: Caller) -> None:
    world = World(policy=policy)

    told = {task_id(world.answer(asking(message("m", Part(text=text))), caller)) for text in ("a", "a", "b")}

    assert len(told) == 3


@pytest.mark.parametrize(("policy", "caller"), NOT_ONCE, ids=["deduplication off", "anonymous"])
def test_without_deduplication_an_answer_may_carry_the_id_of_the_message_before(
    policy: Policy, caller: Caller
) -> None:
    world = World(policy=policy)
    opened = task_id(world.answer(asking(message("m", Part(text="ask"))), caller))
    world.run_turns()

    world.answer(asking(message("m", Part(text="ask again"), task_id=opened)), caller)
    world.run_turns()
    world.answer(asking(message("m", Part(text="the red one"), task_id=opened)), caller)
    world.run_turns()

    ended = world.get(opened, caller=caller)
    assert ended.status.state is TaskState.COMPLETED
    spoken = [said.parts[0].text for said in ended.history if said.role is Role.USER]
    assert spoken == ["ask", "ask again", "the red one"]


@pytest.mark.parametrize("at", range(1, 4))
@pytest.mark.parametrize(("policy", "caller"), NOT_ONCE, ids=["deduplication off", "anonymous"])
def test_without_deduplication_one_of_two_answers_of_one_id_wins_and_the_other_is_told(
    policy: Policy, caller: Caller, at: int
) -> None:
    world = World(policy=policy)
    waiting = task_id(world.answer(asking(message("m", Part(text="ask"))), caller))
    world.run_turns()
    yes, no = (asking(message("m", Part(text=text), task_id=waiting)) for text in ("yes", "no"))

    def overtake() -> None:
        world.answer(no, caller)

    with pytest.raises(UnsupportedOperationError, match="already working"):
        world.answer(yes, caller, world.doomed(Fate(at, Fault.MEDDLED, overtake)))

    assert [said.parts[0].text for said in world.load(waiting, caller).history if said.role is Role.USER] == [
        "ask",
        "no",
    ]


# --- until it expires -------------------------------------------------


def test_a_task_that_expires_within_the_hour_takes_no_message() -> None:
    world = World()
    waiting = world.said("m0", "ask").id
    world.clock.sleep(world.policy.retention.total_seconds() - NEARLY_EXPIRED + 1)
    before = everything(world)

    refused = refusal_of(world, message("m1", task_id=waiting))

    assert isinstance(refused, UnsupportedOperationError)
    assert "expires" in refused.message
    assert everything(world) == before


def test_a_task_with_more_than_an_hour_left_takes_a_message_that_expires_with_it() -> None:
    world = World()
    waiting = world.said("m0", "ask").id
    world.clock.sleep(world.policy.retention.total_seconds() - NEARLY_EXPIRED)

    world.send("m1", task_id=waiting)

    assert {event.expires for event in world.tasks.log(CALLER.task(waiting))} == {world.load(waiting).expires}
    record = world.ports.admissions.read(AdmissionKey(CALLER.tenant, CALLER.owner, "=m1"))
    assert record is not None
    assert record.expires == world.load(waiting).expires


def test_an_expired_task_is_absent_for_everybody() -> None:
    world = World()
    gone = world.said("m0", "ask", context_id="c").id
    world.clock.sleep(world.policy.retention.total_seconds())

    for act in (
        lambda: world.get(gone),
        lambda: cancel_task(world.ports, CALLER, CancelTaskRequest(id=gone)),
        lambda: world.send("m1", task_id=gone),
        lambda: find_content(world.ports, CALLER, gone, ["history", "0", "0"]),
    ):
        with pytest.raises(TaskNotFoundError):
            act()
    assert listed(world) == []
    assert sweep(world.ports) == 0
    assert world.send("m0", "ask", context_id="c").id != gone


def test_a_context_held_by_a_task_that_expired_at_work_accepts_a_message() -> None:
    """The row outlives its holder's task when a younger task was in the context before."""
    world, day = World(policy=Policy(retention=timedelta(days=30))), 86_400
    first = world.send("m1", "ask", context_id="c").id
    world.clock.sleep(10 * day)
    late = world.doomed(Fate(1, Fault.MEDDLED, world.run_turns))
    second = world.send("m2", "ask", late, context_id="c").id
    world.run_turns()
    world.send("m3", task_id=first)
    world.clock.sleep(19.9 * day)
    assert refusal_of(world, message("m4", task_id=second)).message == ALREADY_WORKING
    world.clock.sleep(0.1 * day)
    assert not world.load(first).exists

    assert world.said("m4", context_id="c").id == second
    assert world.get(second).status.state is TaskState.COMPLETED


def test_a_context_whose_last_turn_expired_at_work_accepts_a_message() -> None:
    world = World(policy=Policy(retention=timedelta(hours=2)))
    world.send("m0", context_id="c")
    world.clock.sleep(3600)
    with suppress(A2AError):
        world.send("m1", context_id="c")
    world.clock.sleep(3600)

    assert world.send("m1", context_id="c").status.state is TaskState.SUBMITTED


# --- what is kept of it -------------------------------------------------


def test_the_turn_is_told_who_sent_the_message_and_what_they_would_like() -> None:
    world = World()
    alice = replace(CALLER, claims={"name": "alice"})

    opened = task_id(world.answer(asking(message("m"), accepted_output_modes=("text/html",)), alice))

    (turn,) = world.load(opened).turns
    assert (turn.claims, turn.accepted_output_modes) == ({"name": "alice"}, ("text/html",))


def test_a_request_without_a_configuration_is_admitted() -> None:
    world = World()
    world.executions.on_start = world.invoke

    answered = world.answer(request("m").model_copy(update={"configuration": None}))

    assert answered.task is not None
    assert answered.task.status.state is TaskState.COMPLETED
