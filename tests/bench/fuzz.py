"""Twenty thousand requests that are almost right, to a whole deployment over its sockets.

Which they are follows from a seed and a number, so that one that brought a fault to light can be sent again.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.result import Result, percentile
from tests.e2e.fuzz.storm import Storm, rage

SHOWN = 10


class FaultsError(Exception):
    """Something was answered, logged or left over that should not have been."""


def fuzz(requests: int, seed: int) -> Iterator[Result]:
    """Print the figures; raises FaultsError when anything is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = rage(Storm(requests=requests, seed=seed), Path(folder))
    yield Result(
        "requests",
        len(outcome.seconds),
        "requests",
        "",
        {"seed": seed, **dict(sorted(outcome.statuses.items()))},
    )
    yield Result(
        "kinds of requests", len(outcome.kinds), "kinds", "", {"fewest": min(outcome.kinds.values())}
    )
    yield Result("tasks that came of them", outcome.tasks, "tasks")
    details = {
        "p50": round(statistics.median(outcome.seconds), 3),
        "p99": round(percentile(outcome.seconds, 99), 3),
        "requests/s": round(len(outcome.seconds) / outcome.lasted, 1),
    }
    yield Result("longest wait for a status", max(outcome.seconds), "s", "<= 5", details)
    yield Result("late once, and in time when sent again", outcome.late, "requests")
    yield Result("faults", len(outcome.faults), "faults", "0", {"first": outcome.faults[:SHOWN]})
    if outcome.faults:
        raise FaultsError(f"{len(outcome.faults)} faults")
