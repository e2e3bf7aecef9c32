"""A function's pool of real processes, on our runtime loop unless a test wants another."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue

import pytest

from infra.local.aws import clean_environment
from infra.local.console import Console
from infra.local.environments import ProcessEnvironment, Work
from infra.local.pool import FunctionPool
from infra.local.stack import BOOTSTRAP, lambda_variables
from infra.local.template import Function
from tests.integration.local.handlers import API, write

PATIENCE = 20

OUR_LOOP = (str(BOOTSTRAP), sys.executable)


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


@pytest.fixture
def pool_of(tmp_path: Path, console: Lines) -> Iterator[PoolOf]:
    """Make the pool of a function; its processes end with the test."""
    pools: list[FunctionPool] = []

    def make(
        source: str = API, *, timeout: float = 20, cap: int = 3, command: Sequence[str] = OUR_LOOP
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
        variables = {**clean_environment(), **lambda_variables(function)}

        def start(work: Work) -> ProcessEnvironment:
            return ProcessEnvironment(
                function, work, console, command=command, variables=variables, log_folder=None
            )

        pools.append(FunctionPool(start, cap=cap))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()
