"""The stacks these tests talk to, each started once, and callers of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.e2e.callers import Caller
from tests.e2e.desk import Desk
from tests.e2e.stack import PATIENCE, LocalStack, running

WORKSHOP = ("--agent", "tests.e2e.agents:agent")
TOKENS = {"alice": "alice-opens-this", "bob": "bob-opens-that"}

WEBHOOK_TIMEOUT = 4
"""Seconds that a webhook of the stack `telling` has to answer."""

BINDINGS = ("JSONRPC", "HTTP+JSON")

Call = Callable[..., Caller]


@pytest.fixture(scope="session")
def fulfilment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The stack as it comes: the fulfilment agent, every caller one principal."""
    with running(tmp_path_factory.mktemp("fulfilment")) as stack:
        yield stack


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """These tests' own agent, and two principals."""
    tokens = (argument for name, token in TOKENS.items() for argument in ("--token", f"{name}={token}"))
    with running(tmp_path_factory.mktemp("workshop"), *WORKSHOP, *tokens) as stack:
        yield stack


@pytest.fixture(scope="session")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """These tests' own agent, in a deployment that calls webhooks on this machine and soon loses patience."""
    hasty = ("--loopback-webhooks", "--parameter", f"WebhookTimeoutSeconds={WEBHOOK_TIMEOUT}")
    with running(tmp_path_factory.mktemp("telling"), *WORKSHOP, *hasty) as stack:
        yield stack


@pytest.fixture(scope="session")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """These tests' own agent, in a function that is killed after eight seconds."""
    with running(tmp_path_factory.mktemp("hurried"), *WORKSHOP, "--turn-timeout", "8") as stack:
        yield stack


@pytest.fixture
def call() -> Iterator[Call]:
    """Make callers that hang up when the test is over."""
    with ExitStack() as callers:

        def connect(
            stack: LocalStack,
            binding: str = "JSONRPC",
            name: str | None = None,
            patience: float | None = PATIENCE,
        ) -> Caller:
            return callers.enter_context(Caller(stack, binding, TOKENS[name] if name else None, patience))

        yield connect


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A place for a working agent to report to."""
    with Desk() as opened:
        yield opened


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    """Threads for calls that a test goes on beside."""
    with ThreadPoolExecutor() as threads:
        yield threads
