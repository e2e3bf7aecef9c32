"""What is wrong with a card, and where in its JSON: the words that rules are written in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where in the card, and the section of the specification that says so."""

    level: Level
    where: str
    text: str
    section: str


Findings = Iterator[Finding]


def error(where: str, text: str, section: str) -> Finding:
    """What a MUST forbids, or a client cannot use."""
    return Finding(Level.ERROR, where, text, section)


def warning(where: str, text: str, section: str) -> Finding:
    """What a SHOULD forbids, or some readers stumble over."""
    return Finding(Level.WARNING, where, text, section)


def objects(card: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects at a path, each with where it is."""
    found: list[tuple[str, Any]] = [("", card)]
    for step in filter(None, path.split(".")):
        name, many = step.removesuffix("[]"), step.endswith("[]")
        below = [(at(where, name), each.get(name)) for where, each in found if isinstance(each, Mapping)]
        if many:
            below = [
                (f"{where}[{number}]", each)
                for where, listed in below
                if isinstance(listed, list)
                for number, each in enumerate(listed)
            ]
        found = below
    yield from ((where, each) for where, each in found if isinstance(each, Mapping))


def at(where: str, name: str) -> str:
    """Where a member of something is."""
    return f"{where}.{name}" if where else name
