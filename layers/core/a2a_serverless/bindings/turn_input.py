"""The input of a turn's execution, as the state machine hands it on: ids and nothing else."""

from collections.abc import Mapping
from typing import Any

from a2a_serverless.ports import TurnKey
from a2a_serverless.tasks.log import TaskKey


def turn_of(given: Mapping[str, Any]) -> TurnKey:
    """The turn that an execution's input names; raises KeyError or ValueError for what is none."""
    task = TaskKey(str(given["tenant"]), str(given["owner"]), str(given["task"]))
    return TurnKey(task, int(given["turn"]))
