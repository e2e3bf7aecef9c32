"""Which implementations a test is run against: `world` and `queues` mean all three, `stored` the emulators.

Emulators are started when the first test wants one and live until the folder is done.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests.integration.ports.backends import Backend, ministack, moto
from tests.integration.ports.queues import Queues, fake_queues, stored_queues
from tests.integration.ports.world import StoredWorld, World, fake_world, stored_world

EMULATORS: dict[str, Callable[[], AbstractContextManager[Backend]]] = {"moto": moto, "ministack": ministack}

Start = Callable[[str], Backend]
"""Gives the emulator of that name, started when it is first asked for."""


@contextmanager
def emulators() -> Iterator[Start]:
    """Emulators of one's own, each started when it is asked for and stopped in the end."""
    running: dict[str, Backend] = {}
    with ExitStack() as stack:

        def start(name: str) -> Backend:
            if name not in running:
                running[name] = stack.enter_context(EMULATORS[name]())
            return running[name]

        yield start


@pytest.fixture(scope="package")
def started() -> Iterator[Start]:
    """The emulators that the folder shares."""
    with emulators() as start:
        yield start


@pytest.fixture(params=["fake", *EMULATORS])
def world(request: pytest.FixtureRequest) -> World:
    """Each implementation of the ports."""
    if request.param == "fake":
        return fake_world()
    return stored_world(request.getfixturevalue("started")(request.param))


@pytest.fixture(params=[*EMULATORS])
def stored(request: pytest.FixtureRequest, started: Start) -> StoredWorld:
    """Each emulator."""
    return stored_world(started(request.param))


@pytest.fixture(params=["fake", *EMULATORS])
def queues(request: pytest.FixtureRequest) -> Queues:
    """Each implementation of the queues, with nothing in them."""
    if request.param == "fake":
        return fake_queues()
    return stored_queues(request.getfixturevalue("started")(request.param))
