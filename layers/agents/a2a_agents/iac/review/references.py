"""Who refers to what in a ROS or CloudFormation template."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from a2a_agents.iac.review.nodes import Entry, Listing, Mapping, Node, Scalar, children
from a2a_agents.iac.review.source import Span


class Refers(StrEnum):
    """By what."""

    REF = "Ref"
    GET_ATT = "Fn::GetAtt"
    SUB = "Fn::Sub"
    CONDITION = "Condition"
    FIND_IN_MAP = "Fn::FindInMap"
    DEPENDS_ON = "DependsOn"


@dataclass(frozen=True)
class Reference:
    """A name that should be declared elsewhere in the template."""

    by: Refers
    name: str
    at: Span
    attribute: str = ""


VARIABLE = re.compile(r"\$\{([^!${}][^${}]*)\}")


def references(node: Node) -> Iterator[Reference]:
    """The references in a value and below it."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Mapping):
            for entry in current.entries:
                yield from _of(entry)
            if len(current.entries) == 1:
                yield from condition(current)
        waiting.extend(reversed(list(children(current))))


def _of(entry: Entry) -> Iterator[Reference]:
    value = entry.value
    if entry.name == Refers.REF and isinstance(value, Scalar) and isinstance(value.value, str):
        yield Reference(Refers.REF, value.value, value.at)
    elif entry.name == Refers.GET_ATT:
        yield from _get_att(value)
    elif entry.name == Refers.SUB:
        yield from _sub(value)
    elif entry.name == "Fn::If" and isinstance(value, Listing) and value.items:
        first = value.items[0]
        if isinstance(first, Scalar) and isinstance(first.value, str):
            yield Reference(Refers.CONDITION, first.value, first.at)
    elif entry.name == Refers.FIND_IN_MAP and isinstance(value, Listing) and value.items:
        first = value.items[0]
        if isinstance(first, Scalar) and isinstance(first.value, str):
            yield Reference(Refers.FIND_IN_MAP, first.value, first.at)


def _get_att(value: Node) -> Iterator[Reference]:
    if isinstance(value, Scalar) and isinstance(value.value, str):
        name, _, attribute = value.value.partition(".")
        yield Reference(Refers.GET_ATT, name, value.at, attribute)
    elif isinstance(value, Listing) and value.items:
        first = value.items[0]
        if isinstance(first, Scalar) and isinstance(first.value, str):
            rest = (str(each.value) if isinstance(each, Scalar) else "" for each in value.items[1:])
            name, _, attribute = first.value.partition(".")
            yield Reference(Refers.GET_ATT, name, first.at, attribute or ".".join(rest))


def _sub(value: Node) -> Iterator[Reference]:
    own: set[str] = set()
    text = value
    if isinstance(value, Listing) and value.items:
        text = value.items[0]
        if len(value.items) > 1 and isinstance(value.items[1], Mapping):
            own = {entry.name for entry in value.items[1].entries}
    if not isinstance(text, Scalar) or not isinstance(text.value, str):
        return
    # In a block of text the lines are cut differently than the value; then the whole is pointed to.
    literal = text.at.text
    for found in VARIABLE.finditer(text.value):
        name, _, attribute = found.group(1).strip().partition(".")
        if name in own or not name:
            continue
        place = literal.find(found.group())
        start = text.at.start + place if place >= 0 else text.at.start
        at = Span(text.at.source, start, start + len(found.group())) if place >= 0 else text.at
        yield Reference(Refers.SUB, name, at, attribute)


def condition(mapping: Mapping) -> Iterator[Reference]:
    """The condition that a resource, an output or another condition names.

    Elsewhere the key means other things, so that it is looked at only where it stands alone, or where asked.
    """
    value = mapping.get("Condition")
    if isinstance(value, Scalar) and isinstance(value.value, str):
        yield Reference(Refers.CONDITION, value.value, value.at)


def depends_on(resource: Mapping) -> Iterator[Reference]:
    """What a resource says it waits for."""
    value = resource.get("DependsOn")
    items = value.items if isinstance(value, Listing) else (value,)
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            yield Reference(Refers.DEPENDS_ON, item.value, item.at)
