"""Turns as executions of one Step Functions state machine, which carries their ids and nothing else."""

import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_serverless.ports import ExecutionStatus, TurnKey

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient


@dataclass(frozen=True, slots=True)
class StepFunctionsExecutions:
    """One execution per turn, under the turn's name. Names are unique for 90 days, longer than any turn."""

    client: "SFNClient"
    state_machine_arn: str

    def start(self, turn: TurnKey) -> None:
        """Start the turn's execution; silent when it was started before, whether or not it still runs."""
        with contextlib.suppress(self.client.exceptions.ExecutionAlreadyExists):
            self.client.start_execution(
                stateMachineArn=self.state_machine_arn, name=turn.name, input=execution_input(turn)
            )

    def stop(self, turn: TurnKey, reason: str) -> None:
        """Stop the turn's execution; silent when it does not run."""
        with contextlib.suppress(self.client.exceptions.ExecutionDoesNotExist):
            self.client.stop_execution(executionArn=self._arn(turn), cause=reason)

    def describe(self, turn: TurnKey) -> ExecutionStatus | None:
        """Whether it runs or has ended; None when it was never started."""
        try:
            status = self.client.describe_execution(executionArn=self._arn(turn))["status"]
        except self.client.exceptions.ExecutionDoesNotExist:
            return None
        return "running" if status == "RUNNING" else "ended"

    def _arn(self, turn: TurnKey) -> str:
        return f"{self.state_machine_arn.replace(':stateMachine:', ':execution:')}:{turn.name}"


def execution_input(turn: TurnKey) -> str:
    """The input of a turn's execution, the same bytes each time: equal input makes starting idempotent."""
    task = turn.task
    fields = {"tenant": task.tenant, "owner": task.owner, "task": task.task_id, "turn": turn.turn}
    return json.dumps(fields, separators=(",", ":"))
