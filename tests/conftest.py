"""What every test shares: an event loop for Mangum, which would make one of its own and never close it.

And Hypothesis without a watch: how long an example takes is up to a machine that other tests keep busy.
"""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def lent_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that is there as long as tests run."""
    with closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)
        yield loop
        asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def current_loop(lent_loop: asyncio.AbstractEventLoop) -> None:
    """The same loop at the start of every test: `asyncio.run` leaves none behind."""
    asyncio.set_event_loop(lent_loop)
