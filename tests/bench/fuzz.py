"""Twenty thousand requests that are almost right, to whole deployments over their sockets.

Each deployment takes some of them: the emulator below it looks at every item for every listing, and so would
be what is measured in the end. Which requests they are follows from a seed and a number, so that one that
brought a fault to light can be sent again.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.result import Result, percentile
from tests.e2e.fuzz.storm import Outcome, Storm, rage

SHOWN = 10

EACH = 2_000
"""Requests to one deployment."""


class FaultsError(Exception):
    """Something was answered, logged or left over that should not have been."""


def fuzz(requests: int, seed: int) -> Iterator[Result]:
    """Print the figures; raises FaultsError when anything is wrong."""
    outcome = Outcome()
    for first in range(0, requests, EACH):
        with tempfile.TemporaryDirectory() as folder:
            storm = Storm(requests=min(EACH, requests - first), seed=seed, first=first)
            outcome.add_all(rage(storm, Path(folder)))
        print(f"{len(outcome.seconds)} requests, {len(outcome.faults)} faults", file=sys.stderr, flush=True)
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
