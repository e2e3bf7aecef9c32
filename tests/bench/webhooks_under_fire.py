"""A thousand tasks with two webhooks each, whose receivers misbehave and whose deliverers are killed.

Everything is on the local stack as the template declares it, but for a shorter timeout and shorter pauses: a
poke that somebody died over comes again after six minutes, so it is the sweep that finds most of them.
"""

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.result import Result, percentile
from tests.e2e.fire.outcome import Outcome
from tests.e2e.fire.storm import Fire, under_fire

CLIENTS = 8
PARALLELISM = 6
"""Batches of ten webhooks at once: more only wait longer for the emulator of DynamoDB, which does one thing
at a time."""

PAUSES = {"push": (2.0, 5.0), "fanout": (8.0, 15.0)}
PATIENCE = 400
SHOWN = 20


class BrokenPromiseError(Exception):
    """Something did not arrive, or not in order, or not as it should have."""


def webhooks_under_fire(tasks: int) -> Iterator[Result]:
    """Print the figures; raises BrokenPromiseError when anything is wrong."""
    folder = Path(tempfile.mkdtemp(prefix="under-fire-"))
    say(f"the functions' logs are in {folder}")
    fire = Fire(tasks=tasks, clients=CLIENTS, pauses=PAUSES, patience=PATIENCE, parallelism=PARALLELISM)
    outcome = under_fire(fire, folder, say)
    yield from _arrived(outcome)
    yield from _died(outcome)
    details = {name: round(seconds, 1) for name, seconds in outcome.seconds.items()}
    yield Result("all of it", sum(outcome.seconds.values()), "s", "<= 600", details)
    yield Result("broken promises", len(outcome.faults), "faults", "0", {"first": outcome.faults[:SHOWN]})
    if outcome.faults:
        raise BrokenPromiseError(f"{len(outcome.faults)} faults")
    shutil.rmtree(folder)


def say(how_far: str) -> None:
    """Tell whoever waits."""
    print(how_far, file=sys.stderr, flush=True)


def _arrived(outcome: Outcome) -> Iterator[Result]:
    """How much there was to tell, what it took, and how late it was."""
    yield Result("tasks", len(outcome.tasks), "tasks")
    yield Result("webhooks", len(outcome.hooks), "webhooks")
    yield Result("events to deliver", outcome.events(), "events")
    fates = dict(sorted(outcome.fates().items()))
    details = {"fates": fates, "hung up before a word": outcome.records.hung_up}
    yield Result("requests received", sum(fates.values()), "requests", "", details)
    yield Result("taken again", outcome.duplicates(), "requests")
    delays = outcome.delays()
    details = {
        "p99": round(percentile(delays, 99), 2),
        "max": round(max(delays), 2),
        "changes of state": len(delays),
    }
    yield Result("change of state until it is taken, p50", statistics.median(delays), "s", "", details)


def _died(outcome: Outcome) -> Iterator[Result]:
    """Whoever was killed, and the webhooks that were given up."""
    for function, kills in sorted(outcome.kills.items()):
        details = {"in the middle of an invocation": outcome.crashes.get(function, 0)}
        yield Result(f"processes of {function} killed", kills, "kills", "", details)
    yield Result("webhooks given up", outcome.dead, "webhooks", "", {"with a letter": outcome.letters})
    yield Result("webhooks redriven", outcome.redriven, "webhooks", str(outcome.dead))
