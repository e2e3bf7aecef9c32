"""What webhooks must be told of a task, from what its stream said and what GetTask says in the end.

Follows the specification and the README, not the code that delivers: every change of state, every artifact
once it is whole, nothing else. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Streamed = tuple[int, Mapping[str, Any]]
"""An event of a stream: its position in the log, and the StreamResponse."""

WORKING = frozenset({"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"})
"""States in which a turn goes on."""


@dataclass(frozen=True)
class Told:
    """Something that webhooks are told: its place, its id, and the body of the request."""

    position: int
    event_id: str
    body: Mapping[str, Any]

    @property
    def since(self) -> str | None:
        """When it happened, if the body says so."""
        at: str | None = self.body.get("statusUpdate", {}).get("status", {}).get("timestamp")
        return at


def told(task: Mapping[str, Any], streamed: Sequence[Streamed]) -> list[Told]:
    """What webhooks must be told of the task, in order."""
    return list(_told(task, streamed))


def _told(task: Mapping[str, Any], streamed: Sequence[Streamed]) -> Iterator[Told]:
    state, open_artifacts = "TASK_STATE_SUBMITTED", dict[str, None]()
    for position, event in streamed:
        name = f"{task['id']}-{position}"
        if "artifactUpdate" in event:
            update = event["artifactUpdate"]
            artifact_id = update["artifact"]["artifactId"]
            open_artifacts[artifact_id] = None
            if update.get("lastChunk"):
                del open_artifacts[artifact_id]
                yield Told(position, name, _whole(task, artifact_id))
        elif "statusUpdate" in event and event["statusUpdate"]["status"]["state"] != state:
            state = event["statusUpdate"]["status"]["state"]
            if state not in WORKING | {"TASK_STATE_FAILED"}:
                for number, artifact_id in enumerate(open_artifacts, 1):
                    yield Told(position, f"{name}.{number}", _whole(task, artifact_id))
                open_artifacts.clear()
            yield Told(position, name, event)


def _whole(task: Mapping[str, Any], artifact_id: str) -> Mapping[str, Any]:
    (artifact,) = [each for each in task["artifacts"] if each["artifactId"] == artifact_id]
    update = {
        "taskId": task["id"],
        "contextId": task["contextId"],
        "artifact": artifact,
        "lastChunk": True,
    }
    return {"artifactUpdate": update}
