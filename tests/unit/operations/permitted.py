"""An agent that asks before it deletes, and what its callers say to it."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from a2a_serverless.agent import ArtifactChunk, Completed, Permission, Rejected, Turn, Update
from a2a_serverless.protocol.objects import Part, Task
from tests.unit.operations.world import World, asking, message

DELETE = Permission(
    tool="ros.delete_stack",
    title="Delete the stack web-prod",
    purpose="You asked for it.",
    effect="Everything in it is gone.",
    target="web-prod",
    arguments={"StackId": "s-1", "RetainAll": False},
)


async def careful(turn: Turn) -> AsyncIterator[Update]:
    """Deletes when allowed, and remembers how often it was told what."""
    turn.state["begun"] = turn.state.get("begun", 0) + 1
    allowed = await turn.ask_permission(DELETE)
    turn.state.setdefault("told", []).append(allowed)
    if not allowed:
        yield Rejected("Then not.")
        return
    yield ArtifactChunk("receipt", "deleted", last_chunk=True)
    yield Completed("Deleted.")


def question(task: Task) -> dict[str, Any]:
    """The envelope of the question that a task waits with."""
    assert task.status.message is not None
    (envelope,) = [part.data for part in task.status.message.parts if part.data is not None]
    return dict(envelope)


def decision(asked: Mapping[str, Any], decided: object = "allow_once", **changed: object) -> Part:
    """The part that answers a question; a change to None leaves the member out."""
    given = {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": asked["taskId"],
        "inputId": asked["inputId"],
        "decision": decided,
        **changed,
    }
    return Part(data={name: value for name, value in given.items() if value is not None})


def answered(world: World, message_id: str, task: Task, *parts: Part, **members: Any) -> Task:
    """The task after it was answered and its turns have run."""
    members = {"task_id": task.id, **members}
    world.answer(asking(message(message_id, *parts, **members)))
    world.run_turns()
    return world.get(task.id)
