"""Something that is wrong with the files, as the model and the caller are told of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Weight(StrEnum):
    """How bad it is: an error is repaired, the others are told."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `line` counts from 1; 0 is the file as a whole."""

    file: str
    text: str
    weight: Weight = Weight.ERROR
    rule: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.weight.value} {place}: {self.text}" + (f" [{self.rule}]" if self.rule else "")


MOST_TOLD = 40
"""Problems that are told at once."""


def told(problems: Sequence[Problem]) -> str:
    """Problems in lines, the worst first."""
    order = list(Weight)
    lines = [str(one) for one in sorted(problems, key=lambda one: order.index(one.weight))]
    more = len(lines) - MOST_TOLD
    return "\n".join(lines[:MOST_TOLD]) + (f"\n… and {more} more" if more > 0 else "")


def errors(problems: Sequence[Problem]) -> list[Problem]:
    """What has to be repaired."""
    return [one for one in problems if one.weight is Weight.ERROR]
