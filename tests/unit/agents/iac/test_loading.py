"""Modules that take longer to load than an invocation lasts."""

import asyncio
import math
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from a2a_agents.iac.operations.loading import loaded
from a2a_serverless.agent import Message, Part, Permission, Turn
from a2a_serverless.protocol.objects import Role


class Over(BaseException):
    """The invocation ends at a checkpoint."""


class Host:
    """A host whose time is up after so many checkpoints."""

    def __init__(self, passes: float = math.inf) -> None:
        self.passes = passes

    def remaining_seconds(self) -> float:
        return 1.0

    async def checkpoint(self, resume_after: float) -> None:
        self.passes -= 1
        if self.passes < 0:
            raise Over

    async def ask_permission(self, permission: Permission) -> bool:
        return False


def turn(host: Host) -> Turn:
    return Turn(Message(message_id="m", role=Role.USER, parts=(Part(text="x"),)), "task", "context", host)


def test_what_is_loaded_is_there_at_once() -> None:
    assert asyncio.run(loaded(turn(Host()), "json")).__name__ == "json"


def test_loading_goes_on_when_an_invocation_ends_and_the_next_one_finds_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = ModuleType("a_gate")
    gate.opened = threading.Event()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_gate", gate)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "slow_to_load.py").write_text("import a_gate\na_gate.opened.wait(60)\nVALUE = 7\n")

    with pytest.raises(Over):
        asyncio.run(loaded(turn(Host(1)), "slow_to_load"))
    gate.opened.set()

    assert asyncio.run(loaded(turn(Host()), "slow_to_load")).VALUE == 7


def test_what_cannot_be_loaded_raises_why_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            asyncio.run(loaded(turn(Host()), "no_such_module_at_all"))
