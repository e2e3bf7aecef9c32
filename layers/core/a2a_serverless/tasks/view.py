"""What a caller sees of a task: history cut to size, artifacts left out, events worth showing.

Never touches what is stored: every function returns a new value (specification 3.2.4 and 3.1.4).
"""

from collections.abc import Collection
from typing import Any

from a2a_serverless.tasks.content import LoggedArtifact, LoggedStatus
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import ArtifactUpdated, Entry, StatusChanged, TurnSettled, TurnStarted


def trim_history(task: LoggedTask, length: int | None) -> LoggedTask:
    """Keep at most the `length` most recent messages; None keeps them all, 0 none (specification 3.2.4)."""
    if length is None or len(task.history) <= length:
        return task
    return task.model_copy(update={"history": task.history[len(task.history) - length :]})


def without_artifacts(task: LoggedTask) -> LoggedTask:
    """The task without its artifacts (specification 3.1.4, `includeArtifacts`)."""
    return task.model_copy(update={"artifacts": ()})


def shown_status(entry: Entry) -> LoggedStatus | None:
    """The status a stream shows for this entry, if it shows one."""
    match entry:
        case (
            TurnStarted(segment=1, status=status) | StatusChanged(status=status) | TurnSettled(status=status)
        ):
            return status
    return None


def is_aside(entry: Entry) -> bool:
    """Whether the entry only tells what extensions add, for those who activated them."""
    return isinstance(entry, StatusChanged) and entry.aside


def added(entry: Entry, extensions: Collection[str]) -> dict[str, Any]:
    """What the entry says in metadata under these extensions, by their URIs."""
    if not isinstance(entry, StatusChanged):
        return {}
    return {uri: said for uri, said in entry.metadata.items() if uri in extensions}


def shown_artifact(entry: Entry) -> LoggedArtifact | None:
    """The artifact or chunk a stream shows for this entry, if it shows one."""
    return entry.artifact if isinstance(entry, ArtifactUpdated) else None


def visible(entry: Entry) -> bool:
    """Whether a stream shows the entry at all; bookkeeping and voids are not shown."""
    return shown_status(entry) is not None or shown_artifact(entry) is not None
