"""A file as it was sent, and places in it: where findings point to and corrections are made."""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, eq=False)
class Source:
    """One file's name and text. `first_line` is where it begins in a larger one."""

    name: str
    text: str = field(repr=False)
    first_line: int = 1

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(at + 1 for at, character in enumerate(self.text) if character == "\n")
        return starts

    def line(self, offset: int) -> int:
        """The line a character is in, from 1."""
        return bisect_right(self._line_starts, offset) - 1 + self.first_line

    def column(self, offset: int) -> int:
        """The column a character is in, from 1, in code points."""
        return offset - self._line_starts[bisect_right(self._line_starts, offset) - 1] + 1

    def line_span(self, start: int, end: int) -> tuple[int, int]:
        """The whole lines that a stretch of text touches, with the last one's end of line."""
        first = self.text.rfind("\n", 0, start) + 1
        if end > start and self.text[end - 1] == "\n":
            return first, end
        after = self.text.find("\n", end)
        return first, len(self.text) if after < 0 else after + 1


@dataclass(frozen=True)
class Span:
    """A stretch of a file's text, in characters."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line it begins in, from 1."""
        return self.source.line(self.start)

    @property
    def column(self) -> int:
        """The column it begins in, from 1."""
        return self.source.column(self.start)

    @property
    def end_line(self) -> int:
        """The line it ends in."""
        return self.source.line(max(self.start, self.end - 1))

    @property
    def text(self) -> str:
        """What stands there."""
        return self.source.text[self.start : self.end]
