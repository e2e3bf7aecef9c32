"""Turns that are canceled, killed or too slow: the task ends once, soon, and says no more than it should."""

import os
import re
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from a2a.utils.errors import TaskNotCancelableError

from tests.e2e.callers import Caller, Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, TOKENS, Call
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, LocalStack

SOON = 10
"""Seconds within which a dead turn must be known to be dead."""

DIED = "The turn ended unexpectedly."
TOO_SLOW = "The agent ran out of time."


def sent(background: ThreadPoolExecutor, stack: LocalStack, text: str) -> "Future[Task]":
    """A blocking SendMessage under way: what it returns is when and how the turn settled."""

    def send() -> Task:
        with Caller(stack, token=TOKENS["alice"]) as caller:
            return caller.send(text)

    return background.submit(send)


@pytest.mark.parametrize("binding", BINDINGS)
def test_canceling_a_running_turn_stops_its_agent_and_its_execution(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk, binding: str
) -> None:
    caller = call(workshop, binding, "alice")
    waiting = sent(background, workshop, desk.order)
    desk.wait_until_working()
    (running,) = caller.list(status=TaskState.TASK_STATE_WORKING).tasks

    canceled = caller.cancel(running.id)

    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    desk.wait_until_stopped()
    assert waiting.result(PATIENCE) == canceled == caller.get(running.id)
    assert desk.execution_outcome(running.id) == "ABORTED"
    with pytest.raises(TaskNotCancelableError):
        caller.cancel(running.id)


def test_a_killed_turn_fails_within_seconds_with_a_reference_that_finds_the_log(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk
) -> None:
    waiting = sent(background, workshop, desk.order)
    desk.wait_until_working()

    os.kill(desk.pid, signal.SIGKILL)
    killed_at = time.monotonic()
    failed = waiting.result(PATIENCE)

    assert time.monotonic() - killed_at < SOON
    assert failed.status.state == TaskState.TASK_STATE_FAILED
    assert reference_in(failed, DIED) in workshop.log_of("sweep")
    # The machine caught the crash and wrote it down: for Step Functions nothing went wrong.
    assert desk.execution_outcome(failed.id) == "SUCCEEDED"
    assert call(workshop, name="alice").get(failed.id) == failed


def reference_in(task: Task, reason: str) -> str:
    """The reference that a failed task gives after the reason, and nothing beside it."""
    (text,) = texts(task.status.message)
    found = re.fullmatch(rf"{re.escape(reason)} Reference: ([0-9a-f-]{{36}})", text)
    assert found, text
    return found[1]


def test_an_agent_that_takes_too_long_fails_before_its_function_is_killed(
    hurried: LocalStack, background: ThreadPoolExecutor, desk: Desk
) -> None:
    waiting = sent(background, hurried, desk.order)
    desk.wait_until_working()

    failed = waiting.result(PATIENCE)

    assert failed.status.state == TaskState.TASK_STATE_FAILED
    assert reference_in(failed, TOO_SLOW) in hurried.log_of("turn")
    desk.wait_until_stopped()


def test_a_turn_that_hangs_is_killed_at_its_timeout_and_fails(
    hurried: LocalStack, background: ThreadPoolExecutor, desk: Desk
) -> None:
    waiting = sent(background, hurried, desk.order)
    desk.wait_until_working()

    os.kill(desk.pid, signal.SIGSTOP)
    failed = waiting.result(PATIENCE)

    assert failed.status.state == TaskState.TASK_STATE_FAILED
    assert reference_in(failed, DIED) in hurried.log_of("sweep")
    desk.wait_until_stopped()


def test_the_next_turn_gets_a_process_of_its_own_after_a_crash(
    workshop: LocalStack, call: Call, background: ThreadPoolExecutor, desk: Desk
) -> None:
    waiting = sent(background, workshop, desk.order)
    desk.wait_until_working()
    os.kill(desk.pid, signal.SIGKILL)
    failed = waiting.result(PATIENCE)

    answered = call(workshop, name="alice").send("echo", context_id=failed.context_id)

    assert answered.id != failed.id
    assert answered.context_id == failed.context_id
    assert answered.status.state == TaskState.TASK_STATE_COMPLETED
