"""A function's pool of real processes, on our runtime loop unless a test wants another."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import pytest

from infra.local.aws import ROOT, clean_environment
from infra.local.console import Console
from infra.local.deployment import Function
from infra.local.environments import ProcessEnvironment, Work
from infra.local.function_logs import FunctionLog
from infra.local.launching import Copying, Launcher, Starting
from infra.local.originals import Ancestry
from infra.local.pool import FunctionPool
from infra.local.stack import BOOTSTRAP, LAYERS, ancestry, lambda_variables, original
from tests.integration.local.handlers import API, write

PATIENCE = 20

collect_ignore = [] if sys.platform == "linux" else ["test_copies.py"]


class Lines(Console):
    """A console whose lines a test waits for, since they are written by other threads."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self._said: SimpleQueue[str] = SimpleQueue()
        self._logged: SimpleQueue[str] = SimpleQueue()

    def say(self, line: str) -> None:
        self._said.put(line)

    def log(self, source: str, line: str) -> None:
        self._logged.put(f"{source}: {line}")

    def next_said(self) -> str:
        return self._said.get(timeout=PATIENCE)

    def next_logged(self) -> str:
        return self._logged.get(timeout=PATIENCE)


@pytest.fixture
def console() -> Iterator[Lines]:
    made = Lines()
    yield made
    made.close()


PoolOf = Callable[..., FunctionPool]
LauncherOf = Callable[[Function, dict[str, str], FunctionLog], Launcher]


def our_loop(function: Function, variables: dict[str, str], log: FunctionLog) -> Launcher:
    return Starting((str(BOOTSTRAP), sys.executable), variables, function.folder)


@pytest.fixture
def copying() -> Iterator[LauncherOf]:
    """Make launchers that copy; their originals end with the test."""
    made: list[Copying | Ancestry] = []

    def make(function: Function, variables: dict[str, str], log: FunctionLog) -> Launcher:
        known = {**variables, "PYTHONPATH": ":".join(map(str, (LAYERS[-1], ROOT)))}
        afresh = our_loop(function, known, log)
        common = ancestry([function], [known])
        launcher = Copying(partial(original, common, known, function.folder, log), afresh)
        made.extend((launcher, common))
        return launcher

    yield make
    for each in made:
        each.close()


@pytest.fixture
def pool_of(tmp_path: Path, console: Lines) -> Iterator[PoolOf]:
    """Make the pool of a function; its processes end with the test."""
    pools: list[FunctionPool] = []

    def make(
        source: str = API, *, timeout: float = 20, cap: int = 3, launched: LauncherOf = our_loop
    ) -> FunctionPool:
        function = Function(
            logical_id="ApiFunction",
            name="stack-api",
            folder=write(tmp_path / f"function{len(pools)}" / "api", source),
            handler="app.handler",
            timeout_seconds=timeout,
            memory_mb=128,
            environment={},
        )
        log = FunctionLog("api", None, console)
        launcher = launched(function, {**clean_environment(), **lambda_variables(function)}, log)

        def start(work: Work) -> ProcessEnvironment:
            return ProcessEnvironment(function, work, console, launcher=launcher, log=log)

        pools.append(FunctionPool(start, cap=cap, starting=2))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()
