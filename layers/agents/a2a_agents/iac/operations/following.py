"""Following a stack: which of its events are new, and when to look again.

Events come in pages, with times of whole seconds, and late: what was told already is remembered by id as far
back as one could still come, so that none is told twice and none is missed. Pure.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from a2a_agents.iac.operations.memory import Ongoing
from a2a_agents.iac.operations.ros import StackEvent

LATE = timedelta(minutes=2)
"""How late an event may come to be seen."""

SOON, LATER = 5.0, 30.0
"""Seconds until the next look, at first and after a while."""

SOON_LOOKS = 6
"""Looks after which it is a while."""

MOST_LOOKS = 3000
"""Looks after which a stack is followed no more: about a day."""

MOST_LINES = 30
"""Events told at once; of more only the last are."""


def news(ongoing: Ongoing, events: Sequence[StackEvent]) -> list[StackEvent]:
    """The events that were not told yet, oldest first; from here on they were."""
    known = set(ongoing.seen)
    fresh = [event for event in events if event.event_id not in known]
    if events:
        ongoing.since = max(ongoing.since, _before(max(event.at for event in events)))
        ongoing.seen = [event.event_id for event in events if event.at >= ongoing.since]
    return fresh


def _before(at: str) -> str:
    """The moment from which events may still come, once one of this moment has."""
    try:
        return (datetime.fromisoformat(at) - LATE).isoformat()
    except ValueError:
        return ""


def line(event: StackEvent) -> str:
    """An event in a line."""
    kind = f" ({event.resource_type})" if event.resource_type else ""
    reason = f": {event.reason}" if event.reason and not event.status.endswith("_COMPLETE") else ""
    return f"{event.resource}{kind} {event.status}{reason}"


def told(events: Sequence[StackEvent]) -> str:
    """Events in lines."""
    lines = [line(event) for event in events[-MOST_LINES:]]
    left_out = len(events) - len(lines)
    return "\n".join(([f"… and {left_out} events before these"] if left_out else []) + lines)


def next_look(ongoing: Ongoing) -> float:
    """Seconds until it is worth looking again."""
    return SOON if ongoing.polls <= SOON_LOOKS else LATER
