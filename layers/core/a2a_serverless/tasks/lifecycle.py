"""Which states a task has and which moves between them are legal (specification 4.1.3 and 3.1).

Every rule about task states lives here and nowhere else. The specification names the states and says which
are terminal or interrupted; the arrows between the others are ours. Knows no storage, no wire, no clock.
"""

from collections.abc import Mapping

from a2a_serverless.protocol.objects import TaskState

SUBMITTED = TaskState.SUBMITTED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED
AUTH_REQUIRED = TaskState.AUTH_REQUIRED
COMPLETED = TaskState.COMPLETED
FAILED = TaskState.FAILED
CANCELED = TaskState.CANCELED
REJECTED = TaskState.REJECTED

TRANSITIONS: Mapping[TaskState, frozenset[TaskState]] = {
    SUBMITTED: frozenset({WORKING, FAILED, CANCELED, REJECTED}),
    WORKING: frozenset({WORKING, INPUT_REQUIRED, AUTH_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED}),
    INPUT_REQUIRED: frozenset({WORKING, FAILED, CANCELED}),
    AUTH_REQUIRED: frozenset({WORKING, FAILED, CANCELED}),
    COMPLETED: frozenset(),
    FAILED: frozenset(),
    CANCELED: frozenset(),
    REJECTED: frozenset(),
}
"""From a state to those that may follow it. WORKING follows itself: that is how an agent reports progress."""

TERMINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)
"""States a task never leaves."""

WAITING = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})
"""Interrupted states: the turn has ended and a further message starts the next one."""

SETTLED = TERMINAL | WAITING
"""States in which a blocking call returns (specification 3.2.2)."""


class IllegalTransitionError(Exception):
    """A task was asked to move along an arrow that `TRANSITIONS` does not have."""

    def __init__(self, before: TaskState, after: TaskState) -> None:
        super().__init__(f"{before.name} is never followed by {after.name}")
        self.before = before
        self.after = after


def move(before: TaskState, after: TaskState) -> TaskState:
    """Return `after`, or raise `IllegalTransitionError` when it may not follow `before`."""
    if after not in TRANSITIONS[before]:
        raise IllegalTransitionError(before, after)
    return after
