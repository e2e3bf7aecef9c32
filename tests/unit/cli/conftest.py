"""The desk that every test of the command sits at."""

from pathlib import Path

import pytest

from tests.unit.cli.caller import Caller
from tests.unit.cli.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """A deployment on fakes, and the command to operate it."""
    return Desk()


@pytest.fixture
def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Somebody who calls an agent on paper, in an empty directory and with nothing configured."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    return Caller()
