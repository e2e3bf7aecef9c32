"""Folding a log into the task it tells of.

`fold` is the only place where events become a task. It starts from nothing or from an earlier fold (a
snapshot) and is associative over both: folding a log in two steps gives what folding it at once gives. It
judges nothing: whether an event may be appended was decided when it was.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Self

from pydantic import Field

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Timestamp
from a2a_serverless.tasks.assembly import Assembly
from a2a_serverless.tasks.content import LoggedArtifact, LoggedMessage, LoggedStatus
from a2a_serverless.tasks.lifecycle import TERMINAL, WAITING
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    LoggedEvent,
    MessageReceived,
    StatusChanged,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
    Voided,
)


class TurnRecord(ProtoModel):
    """A turn: the position of the message that started it (its name), and what is known of that message."""

    position: int
    message_id: str
    received_at: Timestamp | None = None
    claims: dict[str, str] = Field(default_factory=dict)
    accepted_output_modes: tuple[str, ...] = ()


class LoggedTask(ProtoModel):
    """A task as its log tells it up to `position`.

    `open_turn` names the turn that has a message and has not settled. `segments` and `checkpoints` count
    the starts and checkpoints of the latest turn; its next segment begins at `wakes_at` at the earliest.
    `state` is the key of the saved state from which its next
    segment begins. `settled_turn` is the turn that settled last and `settled_state` the key of what it
    saved, if it saved anything. `turn_artifacts` are the artifacts that the latest turn wrote to, and
    `unfinished` those of them without a last chunk. `asked` is the permission that the task waits for, and
    `answers` the one it waited for when the latest turn's message came. A log of voids only has no status:
    such a task does not exist for anybody.
    """

    task_id: str
    position: int = 0
    expires: int = 0
    context_id: str = ""
    status: LoggedStatus | None = None
    history: tuple[LoggedMessage, ...] = ()
    artifacts: tuple[LoggedArtifact, ...] = ()
    turns: tuple[TurnRecord, ...] = ()
    open_turn: int | None = None
    segments: int = 0
    checkpoints: int = 0
    wakes_at: Timestamp | None = None
    state: str | None = None
    settled_turn: int | None = None
    settled_state: str | None = None
    turn_artifacts: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    asked: str | None = None
    answers: str | None = None
    snapshot: int = 0

    @property
    def exists(self) -> bool:
        """Whether any message ever arrived."""
        return self.status is not None

    @property
    def current(self) -> LoggedStatus:
        """The status of a task that exists."""
        if self.status is None:
            raise LookupError("a log of voids has no status")
        return self.status

    @property
    def waiting(self) -> bool:
        """Whether a message may start the next turn."""
        return self.open_turn is None and self.status is not None and self.status.state in WAITING

    @property
    def terminal(self) -> bool:
        """Whether nothing will ever happen to the task again."""
        return self.status is not None and self.status.state in TERMINAL

    def has(self, message_id: str, position: int) -> bool:
        """Whether the message with this id stands at this position; elsewhere it is another use of the id."""
        return any((turn.message_id, turn.position) == (message_id, position) for turn in self.turns)

    def over(self, turn: int) -> bool:
        """Whether that turn has ended, or can never begin because its position holds something else."""
        return self.position >= turn and self.open_turn != turn

    def record_of(self, turn: int) -> TurnRecord:
        """The record of that turn; raises LookupError when no message stands at its position."""
        for record in self.turns:
            if record.position == turn:
                return record
        raise LookupError(f"no turn at position {turn}")


class Folding:
    """A task being folded, event by event: lists instead of tuples, so that a long log takes linear time."""

    def __init__(self, task: LoggedTask) -> None:
        self.base = task
        self.position = task.position
        self.expires = task.expires
        self.context_id = task.context_id
        self.status = task.status
        self.history = list(task.history)
        self.artifacts = {artifact.artifact_id: Assembly.of(artifact) for artifact in task.artifacts}
        self.turns = list(task.turns)
        self.open_turn = task.open_turn
        self.segments = task.segments
        self.checkpoints = task.checkpoints
        self.wakes_at = task.wakes_at
        self.state = task.state
        self.settled_turn = task.settled_turn
        self.settled_state = task.settled_state
        self.turn_artifacts = list(task.turn_artifacts)
        self.unfinished = list(task.unfinished)
        self.asked = task.asked
        self.answers = task.answers

    @property
    def terminal(self) -> bool:
        """Whether nothing will ever happen to the task again."""
        return self.status is not None and self.status.state in TERMINAL

    @property
    def waits_for_authorisation(self) -> bool:
        """Whether the task goes on once something was authorised elsewhere."""
        return self.status is not None and self.status.state is TaskState.AUTH_REQUIRED

    def over(self, turn: int) -> bool:
        """Whether that turn has ended, or can never begin because its position holds something else."""
        return self.position >= turn and self.open_turn != turn

    def apply(self, event: LoggedEvent) -> Self:
        """Take in the event at the next position; raises ValueError for any other."""
        if event.position != self.position + 1:
            raise ValueError(f"position {event.position} does not follow {self.position}")
        self.position = event.position
        self.expires = event.expires
        match event.entry:
            case MessageReceived() as received:
                self._receive(received)
            case TurnStarted() as started:
                self.segments = started.segment
                self.status = started.status if started.segment == 1 else self.status
            case TurnCheckpointed() as checkpoint:
                self.checkpoints = checkpoint.segment
                self.state = checkpoint.state or self.state
                self.wakes_at = checkpoint.wakes_at
            case StatusChanged() as changed:
                self.status = self.status if changed.aside else changed.status
            case ArtifactUpdated() as update:
                self._update(update)
            case TurnSettled() as settled:
                self.status = settled.status
                self.settled_turn = settled.turn
                self.settled_state = settled.state
                self.asked = settled.asks
                self.open_turn = None
            case Voided():
                pass
        return self

    def _receive(self, received: MessageReceived) -> None:
        """A message opens a turn; the question it answers moves from the status into the history."""
        asked = self.status.message if self.status else None
        if asked is not None:
            self.history.append(asked)
        self.history.append(received.message)
        self.turns.append(
            TurnRecord(
                position=self.position,
                message_id=received.message.message_id,
                received_at=received.received_at,
                claims=received.claims,
                accepted_output_modes=received.accepted_output_modes,
            )
        )
        state = TaskState.WORKING if self.status else TaskState.SUBMITTED
        self.status = LoggedStatus(state=state, timestamp=later(self.status, received.received_at))
        self.context_id = received.context_id
        self.open_turn = self.position
        self.segments = self.checkpoints = 0
        self.wakes_at = None
        self.state = received.state
        self.turn_artifacts = []
        self.unfinished = []
        self.answers, self.asked = self.asked, None

    def _update(self, update: ArtifactUpdated) -> None:
        name = update.artifact.artifact_id
        if name not in self.turn_artifacts:
            self.turn_artifacts.append(name)
        if name in self.unfinished and update.last_chunk:
            self.unfinished.remove(name)
        elif name not in self.unfinished and not update.last_chunk:
            self.unfinished.append(name)
        known = self.artifacts.get(name)
        if known is not None and update.append:
            known.add(update)
        else:
            self.artifacts[name] = Assembly.of(update.artifact)

    def finished(self) -> LoggedTask:
        """The task as folded so far."""
        return self.base.model_copy(
            update={
                "position": self.position,
                "expires": self.expires,
                "context_id": self.context_id,
                "status": self.status,
                "history": tuple(self.history),
                "artifacts": tuple(assembly.finished() for assembly in self.artifacts.values()),
                "turns": tuple(self.turns),
                "open_turn": self.open_turn,
                "segments": self.segments,
                "checkpoints": self.checkpoints,
                "wakes_at": self.wakes_at,
                "state": self.state,
                "settled_turn": self.settled_turn,
                "settled_state": self.settled_state,
                "turn_artifacts": tuple(self.turn_artifacts),
                "unfinished": tuple(self.unfinished),
                "asked": self.asked,
                "answers": self.answers,
            }
        )


def later(status: LoggedStatus | None, moment: datetime) -> datetime:
    """`moment`, or the status's own time when that is later: the times of a task's statuses never go back."""
    if status is None or status.timestamp is None:
        return moment
    return max(moment, status.timestamp)


def fold(task: LoggedTask, events: Iterable[LoggedEvent]) -> LoggedTask:
    """The task after `events`, which must stand at the positions right after the task's own.

    Raises:
        ValueError: the positions are not dense.
    """
    folding = Folding(task)
    for event in events:
        folding.apply(event)
    return folding.finished()
