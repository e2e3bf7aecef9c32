"""Terraform's blocks, as they were read."""

from dataclasses import dataclass, field

from a2a_agents.iac.review.nodes import Entry, Mapping, Scalar
from a2a_agents.iac.review.source import Source, Span


@dataclass(frozen=True, eq=False)
class Block:
    """A block with its labels: `resource "type" "name" { … }`."""

    at: Span
    type: str
    labels: tuple[str, ...]
    head: Span
    body: Mapping


@dataclass
class HclFile:
    """One file: its blocks, attributes outside of them, keys given twice, and names that loops bind."""

    source: Source
    blocks: list[Block] = field(default_factory=list)
    attributes: list[Entry] = field(default_factory=list)
    twice: list[Scalar] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
