"""Following a log: to where a turn settles, or for as long as somebody listens.

Turns and callers never talk to each other: a turn appends to the log, whoever waits reads on from a
position. Reads go by key, one small request each: soon after something happened, ever more rarely while
nothing does. They may lag behind the log, which costs a moment and never an event.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.tasks.fold import Folding, LoggedTask
from a2a_serverless.tasks.log import LoggedEvent, TaskKey

T = TypeVar("T")

READ_AT_ONCE = 100
"""Events asked for at once; more than an agent writes between two reads."""

GROWTH = 1.25
"""How much longer each further pause is while nothing arrives."""

QUIET_AFTER = 10.0
LONGEST = 1.0
"""After `QUIET_AFTER` seconds without an event pauses grow on to `LONGEST` seconds."""


@dataclass(frozen=True, slots=True)
class Tempo:
    """How often a reader looks: `soon` seconds after the last event, then up to `attentive` seconds apart.

    One who wants every event is quick again after each. One who waits for the last of them need not be.
    """

    soon: float
    attentive: float
    quick_again: bool


EVERY_EVENT = Tempo(soon=0.04, attentive=0.15, quick_again=True)
"""At most 25 reads a second while events flow, 7 while an agent thinks, 1 while everybody waits."""

THE_LAST = Tempo(soon=0.08, attentive=0.16, quick_again=False)
"""13 reads for an agent that takes two seconds, and its answer rarely more than 0.15 s late."""


def arrivals(
    ports: Ports, key: TaskKey, position: int, deadline: datetime, tempo: Tempo = EVERY_EVENT
) -> Iterator[tuple[LoggedEvent, ...]]:
    """Every event after `position` in order, in batches as they arrive; an empty one whenever none has.

    Ends at the deadline. Whoever iterates decides when it has seen enough.
    """
    pause, quiet = tempo.soon, 0.0
    while (left := (deadline - ports.clock.now()).total_seconds()) > 0:
        ports.clock.sleep(min(pause, left))
        events = tuple(ports.tasks.events_after(key, position, READ_AT_ONCE))
        yield events
        if events:
            position = events[-1].position
        if events and tempo.quick_again:
            pause, quiet = tempo.soon, 0.0
        else:
            quiet += pause
            pause = min(pause * GROWTH, tempo.attentive if quiet < QUIET_AFTER else LONGEST)


def until_settled(
    ports: Ports, turn: TurnKey, task: LoggedTask | None, deadline: datetime
) -> Generator[None, None, LoggedTask]:
    """Wait for the turn to settle; returns the task then, or as it stands at the deadline.

    Yields each time it has looked in vain, so that whoever waits with somebody on the line can say so.
    """
    task = task if task is not None else ports.tasks.load(turn.task, about=turn.turn)
    if task.over(turn.turn):
        return task
    # No task is made after each look: a text that streams for long is put together once.
    folding = Folding(task)
    for events in arrivals(ports, turn.task, task.position, deadline, THE_LAST):
        for event in events:
            folding.apply(event)
        if folding.over(turn.turn):
            break
        yield
    return folding.finished()


def awaited(steps: Generator[None, None, T]) -> T:
    """The result of an operation that waits, for a caller who need not be told that it still does."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
