"""Whoever asks an emulator here asks the one in this process, whatever the environment points at."""

import pytest

from tests.integration.infra.declared import REGION


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
