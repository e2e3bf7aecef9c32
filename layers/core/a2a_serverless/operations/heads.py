"""What the cache of a log says. One rule for everybody who writes a head: it follows from the fold alone."""

from a2a_serverless.ports import Head, Policy
from a2a_serverless.tasks.fold import LoggedTask


def head_of(policy: Policy, task: LoggedTask, *, snapshot: int = 0, keeps_due: bool = False) -> Head:
    """The head of an existing task: due for a look while a turn is open, or its webhooks may not be told.

    The moment counts from the turn's message, so that a turn that merely goes on moves nothing in the index.
    """
    status = task.current
    if status.timestamp is None:
        raise ValueError("a logged status always has a time")
    begun = task.turns[-1].received_at or status.timestamp
    return Head(
        position=task.position,
        state=status.state,
        status_at=status.timestamp,
        context_id=task.context_id,
        expires=task.expires,
        snapshot=snapshot,
        keeps_due=keeps_due,
        due_at=begun + policy.due_after if task.open_turn is not None else None,
        webhooks_due_at=status.timestamp + policy.due_after,
    )
