"""Executions: the turns that run, one Step Functions execution each."""

from dataclasses import dataclass
from typing import Literal, Protocol

from a2a_serverless.tasks.log import TaskKey


@dataclass(frozen=True, slots=True)
class TurnKey:
    """One turn of one task, named by the position of its message; also the input of its execution."""

    task: TaskKey
    turn: int

    @property
    def name(self) -> str:
        """The name of its execution: unique, so starting it twice starts it once."""
        return f"{self.task.task_id}-{self.turn}"


ExecutionStatus = Literal["running", "ended"]


class Executions(Protocol):
    """Step Functions, as far as turns go: one execution per turn."""

    def start(self, turn: TurnKey) -> None:
        """Start the turn's execution; silent when it was started before, whether or not it still runs."""

    def stop(self, turn: TurnKey, reason: str) -> None:
        """Stop the turn's execution; silent when it does not run."""

    def describe(self, turn: TurnKey) -> ExecutionStatus | None:
        """Whether it runs or has ended; None when it was never started."""
