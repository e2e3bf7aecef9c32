"""What people read of tasks: states, messages, artifacts, tools. Text in, text out; knows no terminal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from a2a_serverless.cli.output import readable, shown
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.objects import Artifact, Message, Part, Task, TaskState, TaskStatus

STATES: Mapping[TaskState, str] = {
    TaskState.SUBMITTED: "submitted",
    TaskState.WORKING: "working",
    TaskState.COMPLETED: "completed",
    TaskState.FAILED: "failed",
    TaskState.CANCELED: "canceled",
    TaskState.INPUT_REQUIRED: "waits for an answer",
    TaskState.REJECTED: "rejected",
    TaskState.AUTH_REQUIRED: "waits for an authorisation",
}
"""The state of a task, as it is said."""

PHASES = {"started": "begins", "input": "is given", "completed": "is done", "failed": "has failed"}


def state_of(task: Task) -> str:
    """Where the task stands."""
    return STATES[task.status.state]


def said(message: Message | None) -> str:
    """What a message says, in lines; empty for none."""
    return "\n".join(map(of_part, message.parts)) if message is not None else ""


def of_part(part: Part) -> str:
    """What a part says, or what it is where it is not to be read."""
    if part.text is not None:
        return readable(part.text)
    if part.which() == "data":
        return readable(json.dumps(part.data, indent=2, ensure_ascii=False))
    name = part.filename or part.media_type or "a file"
    kind = f", {part.media_type}" if part.filename and part.media_type else ""
    if part.url is not None:
        return shown(f"[{name}{kind}: {part.url}]")
    return shown(f"[{name}{kind}: {len(part.raw or b''):,} bytes]")


def title_of(artifact: Artifact) -> str:
    """An artifact's name for people."""
    named = f" ({artifact.name})" if artifact.name and artifact.name != artifact.artifact_id else ""
    return shown(f"{artifact.artifact_id}{named}")


def of_artifacts(artifacts: Sequence[Artifact]) -> Iterator[str]:
    """What the artifacts hold, each under its name where there are several."""
    for number, artifact in enumerate(artifacts):
        if len(artifacts) > 1:
            yield f"{'' if number == 0 else chr(10)}# {title_of(artifact)}"
        yield from (of_part(part).removesuffix("\n") for part in artifact.parts)


def asides(metadata: Mapping[str, Any]) -> Iterator[str]:
    """What is told beside a task, by tools and models."""
    tools = metadata.get(Extension.TOOLS.uri)
    for each in tools.get("calls", ()) if isinstance(tools, Mapping) else ():
        yield shown(
            f"tool {each.get('name')} {PHASES.get(each.get('phase'), each.get('phase'))}{_of_call(each)}"
        )
    thinking = metadata.get(Extension.THINKING.uri)
    if isinstance(thinking, Mapping) and thinking.get("text"):
        yield shown(f"thinking: {thinking['text']}")
    usage = metadata.get(Extension.USAGE.uri)
    if isinstance(usage, Mapping):
        model = f", {usage['model']}" if usage.get("model") else ""
        yield shown(f"tokens: {usage.get('inputTokens', 0)} in, {usage.get('outputTokens', 0)} out{model}")


def _of_call(call: Mapping[str, Any]) -> str:
    given = next((call[member] for member in ("input", "output", "error") if member in call), None)
    if given is None:
        return ""
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return f": {text if len(text) <= 200 else text[:200] + ' …'}"  # noqa: PLR2004  a line or two


def permission_in(task: Task) -> Mapping[str, Any] | None:
    """The permission that a task asks for, if that is what it waits with."""
    return _permission(task.status)


def _permission(status: TaskStatus) -> Mapping[str, Any] | None:
    if status.state is not TaskState.INPUT_REQUIRED or status.message is None:
        return None
    for part in status.message.parts:
        if (
            isinstance(part.data, Mapping)
            and part.data.get("kind") == "permission"
            and part.data.get("inputId")
        ):
            return part.data
    return None


def question_of(task: Task) -> str:
    """What a task waits with, without what is for programs."""
    return words_of(task.status)


def words_of(status: TaskStatus) -> str:
    """What a status says, without what of a permission is for programs."""
    asked = _permission(status)
    if status.message is None or asked is None:
        return said(status.message)
    lines = [of_part(part) for part in status.message.parts if part.text is not None]
    if arguments := asked.get("arguments"):
        lines.append(readable(f"Arguments: {json.dumps(arguments, indent=2, ensure_ascii=False)}"))
    return "\n".join(lines)


def decision(asked: Mapping[str, Any], *, allow: bool) -> dict[str, Any]:
    """The answer to a question of permission, as it travels."""
    return {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": asked.get("taskId"),
        "inputId": asked.get("inputId"),
        "decision": "allow_once" if allow else "deny",
    }
