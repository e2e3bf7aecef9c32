"""A fake of a client that reads `text/event-stream`: pieces of a body in, events out (HTML, 9.2.6).

Splits lines as strictly as the lenient do: at everything that Python takes for the end of a line, which is
what httpx's `iter_lines` does.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One event: the JSON of its data, and the id it came under if it came under one."""

    data: Any
    id: str | None = None


@dataclass
class EventSource:
    """Reads pieces as they come; an event is there as soon as its blank line is, a comment as its line is.

    `comments` are those that came so far, `rest` what is still without its end.
    """

    pieces: Iterable[bytes]
    comments: list[str] = field(default_factory=list)
    rest: str = ""

    def __iter__(self) -> Iterator[Event]:
        for piece in self.pieces:
            *blocks, self.rest = (self.rest + piece.decode()).split("\n\n")
            for block in blocks:
                event = self._read(block)
                if event is not None:
                    yield event
            while self.rest.startswith(":") and "\n" in self.rest:
                comment, _, self.rest = self.rest.partition("\n")
                self._read(comment)

    def _read(self, block: str) -> Event | None:
        fields: dict[str, str] = {}
        for line in block.splitlines():
            name, _, value = line.partition(":")
            if not name:
                self.comments.append(value.strip())
                continue
            assert name in {"id", "data"}, line
            assert name not in fields, f"{name} comes twice"
            fields[name] = value.removeprefix(" ")
        return Event(json.loads(fields["data"]), fields.get("id")) if fields else None


def events_of(pieces: Iterable[bytes]) -> list[Event]:
    """Every event of a body that ends."""
    source = EventSource(pieces)
    events = list(source)
    assert source.rest == "", "the body ends in the middle of an event"
    return events
