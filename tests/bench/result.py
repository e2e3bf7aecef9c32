"""One number that was measured, with all it takes to understand it."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """What was measured, how much it is, and what it is meant to be; `details` is whatever explains it."""

    what: str
    value: float | None
    unit: str
    aim: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The result as JSON; the value with four digits that mean something."""
        value = self.value if self.value is None else float(f"{self.value:.4g}")
        whole = int(value) if value is not None and value == int(value) else value
        aim = {"aim": self.aim} if self.aim else {}
        return {"what": self.what, "value": whole, "unit": self.unit, **aim, **self.details}


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent of the values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
