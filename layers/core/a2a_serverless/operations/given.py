"""What an agent is given for its turn: the message, and what came before it, with its content brought back.

Content that was put away is fetched when the agent looks at it, except that of its message. Knows how a task
is logged and what a turn looks like from inside, and writes nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar, overload

from a2a_serverless.agent import Artifact, Host, Message, Turn
from a2a_serverless.operations.contents import inlined
from a2a_serverless.operations.memory import read_state
from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.protocol.objects import Part
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedPart
from a2a_serverless.tasks.fold import LoggedTask

Kept = TypeVar("Kept")


def turn_for(ports: Ports, key: TurnKey, task: LoggedTask, host: Host) -> Turn:
    """The turn as its agent sees it, once its segment was begun."""
    record = task.record_of(key.turn)
    *earlier, message = task.history
    return Turn(
        message=_message(ports, message),
        task_id=task.task_id,
        context_id=task.context_id,
        host=host,
        history=_BroughtBack([partial(_message, ports, one) for one in earlier]),
        artifacts=_BroughtBack([partial(_artifact, ports, one) for one in task.artifacts]),
        state=read_state(ports, key, task.state),
        caller=dict(record.claims),
        accepted_output_modes=record.accepted_output_modes,
        segment=task.segments,
    )


def _fields(logged: LoggedMessage | LoggedArtifact) -> dict[str, Any]:
    return {name: getattr(logged, name) for name in logged.model_fields_set}


def _parts(ports: Ports, parts: Sequence[LoggedPart]) -> tuple[Part, ...]:
    return tuple(inlined(ports.contents, part) for part in parts)


def _message(ports: Ports, message: LoggedMessage) -> Message:
    return Message(**{**_fields(message), "parts": _parts(ports, message.parts)})


def _artifact(ports: Ports, artifact: LoggedArtifact) -> Artifact:
    return Artifact(**{**_fields(artifact), "parts": _parts(ports, artifact.parts)})


class _BroughtBack(Sequence[Kept], Generic[Kept]):
    """Messages or artifacts whose stored content is brought back only when the agent looks at one."""

    def __init__(self, fetches: Sequence[Callable[[], Kept]]) -> None:
        self._fetches = fetches

    def __len__(self) -> int:
        return len(self._fetches)

    @overload
    def __getitem__(self, index: int) -> Kept: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Kept]: ...
    def __getitem__(self, index: int | slice) -> Kept | Sequence[Kept]:
        if isinstance(index, slice):
            return [fetch() for fetch in self._fetches[index]]
        return self._fetches[index]()
