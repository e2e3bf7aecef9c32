"""CancelTask (specification 3.1.5): one terminal event at the next position, then the execution is stopped.

The log decides a race with a completing turn; stopping the execution only saves money. A waiting task is
marked due first, so that a canceller dying after its event leaves nobody with a stale head.
"""

from datetime import timedelta

from a2a_serverless.operations.contents import Shown
from a2a_serverless.operations.heads import head_of
from a2a_serverless.ports import Caller, Ports, PositionTakenError, TurnKey
from a2a_serverless.protocol.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.protocol.requests import CancelTaskRequest
from a2a_serverless.tasks.content import LoggedStatus
from a2a_serverless.tasks.fold import LoggedTask, fold, later
from a2a_serverless.tasks.log import LoggedEvent, TaskKey, TurnSettled

FUNCTION_LIFETIME = timedelta(minutes=16)
"""Longer than any Lambda function may live."""


def cancel_task(ports: Ports, caller: Caller, request: CancelTaskRequest) -> Task:
    """Cancel the task and return it as CANCELED.

    Raises:
        TaskNotFoundError: no such task of this caller.
        TaskNotCancelableError: the task has ended, canceled included.
    """
    key = caller.task(request.id)
    writer = ports.identifiers.new()
    task = None
    while task is None:
        task = _cancel_at_next_position(ports, key, writer)
    ports.tasks.write_head(key, head_of(ports.policy, task))
    ports.executions.stop(TurnKey(key, task.turns[-1].position), "The task was canceled.")
    ports.metrics.count("TurnSettled", outcome="canceled")
    return Shown(ports, caller).task(task)


def _cancel_at_next_position(ports: Ports, key: TaskKey, writer: str) -> LoggedTask | None:
    """The canceled task, or None when another event came first and the log has to be read again."""
    task = ports.tasks.load(key)
    if not task.exists:
        raise TaskNotFoundError
    if task.terminal:
        raise TaskNotCancelableError(
            f"The task has ended ({task.current.state.value}) and cannot be canceled."
        )
    now = ports.clock.now()
    if task.open_turn is None:
        ports.tasks.mark_due(key, now + FUNCTION_LIFETIME)
    status = LoggedStatus(state=TaskState.CANCELED, timestamp=later(task.status, now))
    entry = TurnSettled(turn=task.turns[-1].position, status=status)
    event = LoggedEvent(task.position + 1, writer, task.expires, entry)
    try:
        ports.tasks.append(key, event)
    except PositionTakenError:
        ports.metrics.count("PositionConflict")
        return None
    return fold(task, [event])
