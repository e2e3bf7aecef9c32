"""How much of a template is read, and what is said of one that cannot be."""

from a2a_agents.iac.review.source import Span

MOST_NODES = 50_000
"""Values in one file, with what its aliases stand for."""
MOST_DEPTH = 100
"""Levels of nesting. The languages' own limits are lower."""


class Unreadable(Exception):
    """A file is not what it should be; says why and where."""

    def __init__(self, why: str, at: Span) -> None:
        super().__init__(why)
        self.why = why
        self.at = at
