"""Following a log to where a turn settles.

Turns and callers never talk to each other: a turn appends to the log, whoever waits reads on from a
position. Reads go by key, one request each, and get rarer as nothing happens; they may lag, which costs a
moment and never an event.
"""

from collections.abc import Iterator
from datetime import datetime

from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent

READ_AT_ONCE = 25
"""Events asked for in one request."""

PAUSES = (0.05, 0.075, 0.1, 0.15)
"""Seconds between the first reads after something happened; the last goes on."""


def until_settled(ports: Ports, turn: TurnKey, task: LoggedTask | None, deadline: datetime) -> LoggedTask:
    """The task once that turn has settled, or as it stands at the deadline."""
    task = task if task is not None else ports.tasks.load(turn.task, about=turn.turn)
    if task.over(turn.turn):
        return task
    for events in _arrivals(ports, turn, task.position, deadline):
        task = fold(task, events)
        if task.over(turn.turn):
            break
    return task


def _arrivals(
    ports: Ports, turn: TurnKey, position: int, deadline: datetime
) -> Iterator[tuple[LoggedEvent, ...]]:
    """Every batch of events after `position`, as they arrive, until the deadline."""
    quiet = 0
    while True:
        left = (deadline - ports.clock.now()).total_seconds()
        if left <= 0:
            return
        ports.clock.sleep(min(PAUSES[min(quiet, len(PAUSES) - 1)], left))
        events = tuple(ports.tasks.events_after(turn.task, position, READ_AT_ONCE))
        quiet = 0 if events else quiet + 1
        if events:
            position = events[-1].position
            yield events
