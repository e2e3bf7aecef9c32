"""A deployment's state on moto, which an operator reaches by its address alone."""

from collections.abc import Iterator

import pytest

from tests.integration.cli.desk import Desk
from tests.integration.ports.backends import moto


@pytest.fixture(scope="package")
def desk() -> Iterator[Desk]:
    """The deployment, empty before each test that leaves it so."""
    with moto() as backend:
        yield Desk(backend)
