"""What a rehearsal tells: turn by turn, what an agent yielded and where that left things."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from a2a_serverless.agent.permissions import Permission
from a2a_serverless.agent.updates import Update
from a2a_serverless.protocol.objects import Artifact, Message, Part, TaskState


class RehearsalError(AssertionError):
    """The agent did what a deployment would not take from it."""


@dataclass(frozen=True)
class RehearsedTurn:
    """One turn: what was said, what the agent yielded, and how the turn ended.

    Attributes:
        updates: everything that was yielded, in order; an outcome is the last of them.
        state, text: where that left the task, and the words that go with it.
        permission: what the turn asked permission for, where it ended with that.
        segments: 1, and one more for each checkpoint that ended an invocation.
    """

    message: Message
    updates: tuple[Update, ...]
    state: TaskState
    text: str = ""
    permission: Permission | None = None
    segments: int = 1


@dataclass(frozen=True)
class Rehearsal:
    """What happened, from the first message to the last.

    Attributes:
        turns: in order, those that decisions started among them.
        artifacts: of the last task, by id.
        saved: the state of the conversation as it would be kept.
        files: its files, by name.
    """

    turns: tuple[RehearsedTurn, ...]
    artifacts: Mapping[str, Artifact]
    saved: Mapping[str, Any]
    files: Mapping[str, bytes]

    @property
    def state(self) -> TaskState:
        """Where the last turn left its task."""
        return self.turns[-1].state

    @property
    def text(self) -> str:
        """The words that the last turn ended with: a question, a reason, or nothing."""
        return self.turns[-1].text

    @property
    def updates(self) -> tuple[Update, ...]:
        """What the last turn yielded."""
        return self.turns[-1].updates

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the artifacts of the last task, by id."""
        return {name: text_of(artifact.parts) for name, artifact in self.artifacts.items()}

    @property
    def asked(self) -> tuple[Permission, ...]:
        """What permission was asked for, in order."""
        return tuple(turn.permission for turn in self.turns if turn.permission is not None)


def text_of(parts: Sequence[Part]) -> str:
    """What the parts say in words."""
    return "".join(part.text for part in parts if part.text is not None)
