"""What becomes of a request at a receiver under fire: left to chance, and to the same chance every time.

Pure. Chance depends on the event and on how often it came, not on which thread was faster; an event that met
with enough misfortune is taken, so that everything ends.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass

TAKEN = "taken"
LOST = "lost"
"""Taken, but the answer never arrives."""

ARRIVED = frozenset({TAKEN, LOST})
"""Fates of which the receiver says that it has had the event."""

GONE = "410"

RATES: Mapping[str, float] = {
    "500": 0.04,
    "503": 0.02,
    "429": 0.04,
    "silent": 0.01,
    "reset": 0.03,
    LOST: 0.02,
}
"""Which share of the requests is answered with a status, or not at all."""

HUNG_UP = 0.01
"""Share of connections that are reset before anything was read."""

MOST_MISFORTUNES = 4


@dataclass(frozen=True)
class Chance:
    """The fates that a seed holds in store; without one nothing ever goes wrong."""

    seed: int | None

    def fate(self, path: str, event_id: str, times: int) -> str:
        """What becomes of a request that tells this path of an event, which has come `times` times before."""
        if self.seed is None or times >= MOST_MISFORTUNES:
            return TAKEN
        drawn = self._draw(path, event_id, times)
        for fate, rate in RATES.items():
            drawn -= rate
            if drawn < 0:
                return fate
        return TAKEN

    def hangs_up(self, connection: int) -> bool:
        """Whether the connection of that number is reset at once."""
        return self.seed is not None and self._draw("connection", connection) < HUNG_UP

    def _draw(self, *about: object) -> float:
        return random.Random(f"{self.seed} {about}").random()  # noqa: S311  it must be repeatable
