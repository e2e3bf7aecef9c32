"""What an agent remembers of a conversation: `Turn.state` and its files, kept from turn to turn.

Stored before the event that names it, under a key of its own each time, so that a turn which was fenced off
overwrites nothing. Which of the stored ones is the conversation's is the log's business.
"""

import json
from collections.abc import Mapping

from a2a_serverless.agent import Turn
from a2a_serverless.operations.remembered import Remembered, outlives, remember, remembered
from a2a_serverless.operations.updates import InvalidUpdateError
from a2a_serverless.operations.workspace import KeptWorkspace
from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.ports.uploads import GoneError
from a2a_serverless.tasks.content import KeptFile

MOST_STATE = 1024 * 1024
"""Bytes of JSON that a conversation may remember."""


def recall(ports: Ports, key: TurnKey, kept: str | None) -> Remembered:
    """What the conversation remembers; nothing when that is gone, which somebody hears of."""
    try:
        return remembered(ports, kept)
    except KeyError as gone:
        ports.incidents.report(gone, task=key.task.task_id, turn=str(key.turn))
        return Remembered()


def save_state(ports: Ports, key: TurnKey, turn: Turn, *, before: str, kept: str) -> str | None:
    """Keep the agent's memory if it changed since this segment began with `kept`; returns its key.

    What a checkpoint of this very turn kept is named again: only the turn's end makes it the context's. What
    another task kept is kept anew: content lives about as long as the task that stored it, a context longer.
    """
    if not isinstance(turn.state, Mapping):
        raise InvalidUpdateError("turn.state must stay a mapping")
    try:
        after = json.dumps(turn.state, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidUpdateError("turn.state holds something that is not JSON") from error
    workspace = turn.workspace if isinstance(turn.workspace, KeptWorkspace) else None
    keeper = kept.rpartition("/")[2]
    unchanged = after == before and not (workspace and workspace.changed)
    if unchanged and keeper.startswith(f"{key.name}-"):
        return kept
    if unchanged and (not kept or keeper.startswith(f"{key.task.task_id}-")):
        return None
    if len(after) > MOST_STATE:
        raise InvalidUpdateError("turn.state holds more than 1 MB")
    files = _lasting(ports, key, workspace) if workspace else {}
    task = key.task
    place = f"state/{task.tenant}/{task.owner}/{turn.context_id}/{key.name}-{ports.identifiers.new()}"
    return remember(ports, place, after, files)


def _lasting(ports: Ports, key: TurnKey, workspace: KeptWorkspace) -> dict[str, KeptFile]:
    """The files, those copied that would go away before this turn's task does."""
    files = workspace.files
    return {name: file for name in files if (file := _lasting_file(ports, key, workspace, files[name]))}


def _lasting_file(ports: Ports, key: TurnKey, workspace: KeptWorkspace, file: KeptFile) -> KeptFile | None:
    if outlives(ports, file, workspace.expires):
        return file
    to = workspace.new_key()
    try:
        ports.uploads.copy(file.key, to)
    except GoneError as gone:
        ports.incidents.report(gone, task=key.task.task_id, turn=str(key.turn))
        return None
    return file.model_copy(update={"key": to, "stored_at": ports.clock.now()})
