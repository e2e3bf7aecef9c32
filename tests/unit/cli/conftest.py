"""The desk that every test of the command sits at."""

import pytest

from tests.unit.cli.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """A deployment on fakes, and the command to operate it."""
    return Desk()
