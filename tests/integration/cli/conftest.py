"""A deployment's state on moto, which an operator reaches by its address alone."""

from collections.abc import Iterator

import pytest

from tests.integration.cli.desk import Desk
from tests.integration.ports.backends import moto


@pytest.fixture(scope="package")
def deployment() -> Iterator[Desk]:
    """The deployment that these tests share."""
    with moto() as backend:
        yield Desk(backend)


@pytest.fixture
def desk(deployment: Desk) -> Desk:
    """The same, with no poke left of the test before, whichever that was."""
    deployment.poked()
    return deployment
