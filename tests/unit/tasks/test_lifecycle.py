"""The table of task states."""

import pytest

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.lifecycle import (
    SETTLED,
    TERMINAL,
    TRANSITIONS,
    WAITING,
    IllegalTransitionError,
    move,
)


def test_every_state_has_a_row_and_leads_only_to_states() -> None:
    assert TRANSITIONS.keys() == set(TaskState)
    assert all(following <= set(TaskState) for following in TRANSITIONS.values())


def test_the_terminal_and_interrupted_states_are_those_of_the_specification() -> None:
    assert {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED} == TERMINAL
    assert {TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED} == WAITING
    assert SETTLED == TERMINAL | WAITING


def test_every_state_that_is_not_terminal_can_be_canceled_and_can_fail() -> None:
    for state in set(TaskState) - TERMINAL:
        assert move(state, TaskState.CANCELED) is TaskState.CANCELED
        assert move(state, TaskState.FAILED) is TaskState.FAILED


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("after", list(TaskState))
def test_a_terminal_state_is_never_left(state: TaskState, after: TaskState) -> None:
    with pytest.raises(IllegalTransitionError, match=f"{state.name} is never followed by {after.name}"):
        move(state, after)


def test_a_waiting_task_goes_on_by_working() -> None:
    for state in WAITING:
        assert move(state, TaskState.WORKING) is TaskState.WORKING
