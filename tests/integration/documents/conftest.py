"""Whoever asks an emulator here asks the one in this process, whatever the environment points at."""

import pytest


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
