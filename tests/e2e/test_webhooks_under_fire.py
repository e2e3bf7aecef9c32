"""Webhooks while receivers misbehave and functions are killed.

`python -m tests.bench webhooks-under-fire` is the same with a thousand tasks and the times of the template.
"""

from pathlib import Path

from tests.e2e.fire.storm import Fire, under_fire
from tests.e2e.stack import PATIENCE

FIRE = Fire(
    tasks=25,
    clients=8,
    pauses={"push": (1, 2), "fanout": (2, 4)},
    patience=3 * PATIENCE,
    calm=0.3,
    timeout=1,
    longest=2,
    parallelism=4,
    # Longer than a delivery and its lease of three timeouts: a poke that comes sooner finds the dead at work,
    # and then only the sweep helps.
    visibility=8,
)


def test_everything_arrives_in_order_though_receivers_fail_and_functions_are_killed(tmp_path: Path) -> None:
    outcome = under_fire(FIRE, tmp_path)

    assert outcome.faults == []
    assert outcome.crashes["push"] > 0
    assert outcome.dead == outcome.letters == outcome.redriven > 0
    assert outcome.fates().keys() >= {"taken", "lost", "reset", "410", "429", "500", "503"}
