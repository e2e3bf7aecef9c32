"""Requests that are almost right, a few of them; `python -m tests.bench fuzz` sends twenty thousand."""

from pathlib import Path

from tests.e2e.fuzz.storm import Storm, rage
from tests.e2e.stack import PATIENCE


def test_no_request_that_is_almost_right_brings_a_fault_to_light(tmp_path: Path) -> None:
    outcome = rage(Storm(requests=300, patience=PATIENCE / 2), tmp_path)

    assert outcome.faults == []
    assert {"200", "400", "401", "404"} <= outcome.statuses.keys()
