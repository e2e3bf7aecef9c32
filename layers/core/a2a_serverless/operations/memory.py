"""What an agent remembers of a conversation: `Turn.state`, kept as JSON from turn to turn.

Stored before the event that names it, under a key of its own each time, so that a turn which was fenced off
overwrites nothing. Which of the stored ones is the conversation's is the log's business.
"""

import json
from collections.abc import Mapping
from typing import Any

from a2a_serverless.agent import Turn
from a2a_serverless.operations.recorder import InvalidUpdateError
from a2a_serverless.ports import Ports, TurnKey

MOST_STATE = 1024 * 1024
"""Bytes of JSON that a conversation may remember."""


def read_state(ports: Ports, key: TurnKey, kept: str | None) -> dict[str, Any]:
    """What the conversation remembers; nothing when that is gone, which somebody hears of."""
    if kept is None:
        return {}
    try:
        content = ports.contents.get(kept)
    except KeyError as gone:
        ports.incidents.report(gone, task=key.task.task_id, turn=str(key.turn))
        return {}
    state: dict[str, Any] = json.loads(content)
    return state


def save_state(ports: Ports, key: TurnKey, turn: Turn, *, before: str, kept: str) -> str | None:
    """Keep the agent's state if it changed since this segment began with `kept`; returns its key.

    What a checkpoint of this very turn kept is named again: only the turn's end makes it the context's. What
    another task kept is kept anew: content lives about as long as the task that stored it, a context longer.
    """
    if not isinstance(turn.state, Mapping):
        raise InvalidUpdateError("turn.state must stay a mapping")
    try:
        after = json.dumps(turn.state, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidUpdateError("turn.state holds something that is not JSON") from error
    keeper = kept.rpartition("/")[2]
    if after == before and keeper.startswith(f"{key.name}-"):
        return kept
    if after == before and (not kept or keeper.startswith(f"{key.task.task_id}-")):
        return None
    if len(after) > MOST_STATE:
        raise InvalidUpdateError("turn.state holds more than 1 MB")
    task = key.task
    place = f"state/{task.tenant}/{task.owner}/{turn.context_id}/{key.name}-{ports.identifiers.new()}"
    ports.contents.put(place, after.encode(), "application/json")
    return place
