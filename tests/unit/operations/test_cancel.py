"""CancelTask: one terminal event, whoever else is at work (specification 3.1.5)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from a2a_serverless.agent import ArtifactChunk, Completed, Failed, InputRequired, Rejected, Working
from a2a_serverless.operations.cancel import FUNCTION_LIFETIME, cancel_task
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.recorder import Recorder
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.turns import run_turn
from a2a_serverless.ports import Caller, Ports
from a2a_serverless.protocol.errors import A2AError, TaskNotCancelableError, TaskNotFoundError
from a2a_serverless.protocol.objects import Message, Part, Role, Task, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.lifecycle import TERMINAL
from a2a_serverless.tasks.log import MessageReceived, TurnSettled
from tests.unit.operations.world import (
    ANONYMOUS,
    BOB,
    CALLER,
    ELSEWHERE,
    Died,
    Fate,
    Fault,
    World,
    at_once,
    plays,
)


def cancel(world: World, task_id: str, ports: Ports | None = None, caller: Caller = CALLER) -> Task:
    return cancel_task(ports or world.ports, caller, CancelTaskRequest(id=task_id))


def check_one_end(world: World, task_id: str) -> TaskState:
    """The state a task ended in, once, with a head that says the same."""
    task = world.load(task_id)
    entries = world.entries(task_id)
    ends = [entry for entry in entries if isinstance(entry, TurnSettled) and entry.status.state in TERMINAL]
    assert ends == entries[-1:]
    head = world.tasks.head(CALLER.task(task_id))
    assert head is not None
    assert head == replace(head_of(world.policy, task, snapshot=head.snapshot), webhooks_due_at=None)
    assert head.due_at is None
    return task.current.state


# --- what can be canceled -------------------------------------------------


def test_a_task_that_was_only_submitted_is_canceled_and_its_execution_stopped() -> None:
    world = World()
    task = world.send("m")

    canceled = cancel(world, task.id)

    assert canceled.status.state is TaskState.CANCELED
    assert canceled == world.get(task.id)
    assert world.executions.stopped == [(world.turn(task.id), "The task was canceled.")]
    assert check_one_end(world, task.id) is TaskState.CANCELED


def test_a_task_at_work_is_canceled_and_keeps_what_it_delivered() -> None:
    world = World(agent=plays(ArtifactChunk("a", "x"), Working(), Working(), Completed()))
    task = world.send("m")
    with pytest.raises(Died):
        run_turn(world.doomed(Fate(5)), world.watched, world.turn(task.id), lambda: 60.0)
    assert world.get(task.id).status.state is TaskState.WORKING

    canceled = cancel(world, task.id)

    assert [artifact.parts for artifact in canceled.artifacts] == [(Part(text="x"),)]
    assert check_one_end(world, task.id) is TaskState.CANCELED


def test_a_waiting_task_is_canceled_and_its_conversation_goes_on_with_another() -> None:
    world = World()
    asked = world.said("m0", "ask", context_id="c")

    assert cancel(world, asked.id).status.state is TaskState.CANCELED

    assert check_one_end(world, asked.id) is TaskState.CANCELED
    assert world.executions.stopped == []
    other = world.said("m1", context_id="c")
    assert other.id != asked.id
    assert other.status.state is TaskState.COMPLETED


def test_a_context_is_free_once_the_task_that_held_it_was_canceled() -> None:
    world = World()
    cancel(world, world.send("m0", context_id="c").id)

    assert world.said("m1", context_id="c").status.state is TaskState.COMPLETED


# --- what cannot -------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(Completed(), "COMPLETED"), (Failed("no"), "FAILED"), (Rejected("no"), "REJECTED"), (None, "CANCELED")],
)
def test_a_task_that_has_ended_is_not_canceled_and_stays_as_it_is(outcome: object, state: str) -> None:
    world = World(agent=plays(outcome or InputRequired("?")))
    task = world.said("m")
    if outcome is None:
        task = cancel(world, task.id)
    before = dict(world.table.items)

    with pytest.raises(TaskNotCancelableError) as refused:
        cancel(world, task.id)

    assert refused.value.message == f"The task has ended (TASK_STATE_{state}) and cannot be canceled."
    assert world.get(task.id) == task
    assert world.table.items == before


@pytest.mark.parametrize("caller", [BOB, ELSEWHERE, ANONYMOUS])
def test_a_foreign_task_is_refused_like_one_that_never_was_and_goes_on(caller: Caller) -> None:
    world = World()
    task = world.send("m")

    refusals: list[A2AError] = []
    for task_id, whoever in ((task.id, caller), ("never-was", CALLER)):
        with pytest.raises(TaskNotFoundError) as refused:
            cancel(world, task_id, caller=whoever)
        refusals.append(refused.value)

    assert len({(error.message, str(error.details())) for error in refusals}) == 1
    assert world.get(task.id) == task
    assert world.executions.stopped == []


# --- races, one step at a time -------------------------------------------------


def meddled(world: World, at: int, meddler: Callable[[], object]) -> Ports:
    """Ports before whose so-manieth write somebody else acts."""
    return world.doomed(Fate(at, Fault.MEDDLED, lambda: (meddler(), None)[1]))


def test_a_cancel_that_finds_its_position_taken_reads_again_and_cancels() -> None:
    world = World()
    task = world.send("m")

    def works_on() -> None:
        recorder = Recorder(world.ports, world.turn(task.id), world.load(task.id), "agent")
        for number in range(3):
            recorder.record(Working(str(number)))

    canceled = cancel(world, task.id, meddled(world, 1, works_on))

    assert canceled.status.state is TaskState.CANCELED
    assert world.load(task.id).position == 5
    assert check_one_end(world, task.id) is TaskState.CANCELED


def test_a_cancel_that_comes_after_the_end_by_a_hair_is_refused() -> None:
    world = World()
    task = world.send("m")

    with pytest.raises(TaskNotCancelableError):
        cancel(world, task.id, meddled(world, 1, world.run_turns))

    assert check_one_end(world, task.id) is TaskState.COMPLETED


def test_a_turn_that_completes_after_a_cancel_by_a_hair_leaves_the_task_canceled() -> None:
    writes = 7  # start, head, status, chunk, state, settled, head

    for at in range(1, writes):
        world = World()
        task = world.send("m")
        ports = meddled(world, at, partial(cancel, world, task.id))

        world.invoke(world.turn(task.id), ports)

        assert check_one_end(world, task.id) is TaskState.CANCELED


def test_a_cancel_that_loses_to_an_answer_cancels_the_turn_the_answer_began() -> None:
    world = World()
    asked = world.said("m0", "ask")
    answer = partial(world.send, "m1", task_id=asked.id)

    canceled = cancel(world, asked.id, meddled(world, 2, answer))

    assert canceled.status.state is TaskState.CANCELED
    entries = world.entries(asked.id)
    assert isinstance(entries[-2], MessageReceived)
    assert world.executions.stopped == [(world.turn(asked.id), "The task was canceled.")]
    assert check_one_end(world, asked.id) is TaskState.CANCELED


def test_a_waiting_task_is_marked_due_before_it_is_canceled_and_the_mark_goes_with_the_cancel() -> None:
    world = World()
    asked = world.said("m0", "ask")
    with pytest.raises(Died):
        cancel(world, asked.id, world.doomed(Fate(1, Fault.DIES_AFTER)))

    head = world.tasks.head(CALLER.task(asked.id))
    assert head is not None
    assert head.due_at == world.clock.now() + FUNCTION_LIFETIME
    assert head.state is TaskState.INPUT_REQUIRED

    cancel(world, asked.id)
    check_one_end(world, asked.id)


def test_a_cancel_whose_answer_was_lost_and_that_is_repeated_cancels_once() -> None:
    for at in (1, 2, 3):
        world = World()
        task = world.send("m")

        canceled = cancel(world, task.id, world.doomed(Fate(at, Fault.ANSWER_LOST)))

        assert canceled.status.state is TaskState.CANCELED
        assert check_one_end(world, task.id) is TaskState.CANCELED


def test_the_question_of_a_canceled_task_is_gone_from_its_status_and_its_messages_stay() -> None:
    world = World()
    asked = world.said("m0", "ask")

    canceled = cancel(world, asked.id)

    assert canceled.status.message is None
    assert [(said.message_id, said.role) for said in canceled.history] == [("m0", Role.USER)]
    assert all(isinstance(said, Message) for said in canceled.history)


# --- races, for real -------------------------------------------------


def test_of_a_cancel_and_a_turn_that_completes_exactly_one_ends_the_task() -> None:
    for _ in range(200):
        world = World()
        task = world.send("m")
        key = world.turn(task.id)

        canceled, _ = at_once(lambda w=world, t=task: cancel(w, t.id), lambda w=world, k=key: w.invoke(k))  # type: ignore[misc]

        state = check_one_end(world, task.id)
        if isinstance(canceled, Task):
            assert (canceled.status.state, state) == (TaskState.CANCELED, TaskState.CANCELED)
        else:
            assert isinstance(canceled, TaskNotCancelableError)
            assert state is TaskState.COMPLETED


def test_of_two_cancels_exactly_one_ends_the_task() -> None:
    for _ in range(50):
        world = World()
        task = world.said("m", "ask")

        answers = at_once(*(partial(cancel, world, task.id) for _ in range(2)))

        assert sorted(type(answer).__name__ for answer in answers) == ["Task", "TaskNotCancelableError"]
        world.clock.sleep(FUNCTION_LIFETIME.total_seconds())
        sweep(world.ports)  # the second may have left its mark on a head that needs nobody any more
        assert check_one_end(world, task.id) is TaskState.CANCELED


def test_of_a_cancel_and_an_answer_the_task_ends_canceled_and_the_answer_is_in_it_or_refused() -> None:
    for _ in range(50):
        world = World()
        task = world.said("m0", "ask")

        canceled, answered = at_once(
            lambda w=world, t=task: cancel(w, t.id),  # type: ignore[misc]
            lambda w=world, t=task: w.send("m1", task_id=t.id),  # type: ignore[misc]
        )

        assert isinstance(canceled, Task)
        world.clock.sleep(FUNCTION_LIFETIME.total_seconds())
        sweep(world.ports)
        assert check_one_end(world, task.id) is TaskState.CANCELED
        arrived = any(isinstance(entry, MessageReceived) for entry in world.entries(task.id)[1:])
        assert arrived is isinstance(answered, Task)
        assert world.pending() == []
