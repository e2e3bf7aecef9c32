"""How a rehearsed caller decides about what an agent asks permission for."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from a2a_serverless.agent.permissions import Permission
from a2a_serverless.agent.rehearsal.told import RehearsalError

Decisions = Callable[[Permission], bool] | Mapping[str, bool] | Sequence[bool]
"""How a caller decides: by a function, by the tool's name, or one decision after the other."""


def key_of(permission: Permission) -> str:
    """The question as such: with other arguments it is another."""
    return json.dumps(asdict(permission), sort_keys=True)


def answer(permission: Permission, task_id: str, *, allow: bool) -> dict[str, Any]:
    """The caller's decision as it travels."""
    return {
        "schemaVersion": 1,
        "kind": "permission",
        "taskId": task_id,
        "inputId": permission.tool,
        "decision": "allow_once" if allow else "deny",
    }


def decider(decisions: Decisions | None) -> Callable[[Permission], bool] | None:
    """The caller who decides in this way; None for one who does not."""
    if decisions is None or callable(decisions):
        return decisions
    if isinstance(decisions, Mapping):
        by_tool = decisions

        def by_name(permission: Permission) -> bool:
            if permission.tool not in by_tool:
                raise RehearsalError(f"no decision about {permission.tool} was given")
            return by_tool[permission.tool]

        return by_name
    waiting = list(decisions)

    def next_one(permission: Permission) -> bool:
        if not waiting:
            raise RehearsalError(f"no decision is left for {permission.tool}")
        return waiting.pop(0)

    return next_one
