"""Server-sent events read from bytes, as the WHATWG has it (HTML, 9.2.6), wherever they are cut into pieces.

Lines end in LF, CR or CRLF and are acted upon the moment they end; a byte order mark in front is dropped;
characters split between pieces come out whole. Knows nothing of what the events say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE_END = re.compile(rb"\r\n|\n|\r")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(Exception):
    """An event has more bytes than are read."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event that holds data. `id` is the one it bears itself, None where it bears none."""

    data: str
    kind: str = "message"
    id: str | None = None


class EventReader:
    """Reads one stream: `last_id` is where it is, `retry` the seconds its server wants between attempts."""

    def __init__(self, most: int) -> None:
        self.last_id: str | None = None
        self.retry: float | None = None
        self._most = most
        self._begun: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._held = 0
        self._clear()

    def _clear(self) -> None:
        self._data: list[str] = []
        self._kind = ""
        self._id: str | None = None
        self._held = 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end in this piece. Raises EventTooLargeError."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        *lines, begun = LINE_END.split(piece)
        for line in lines:
            whole = b"".join([*self._begun, line]) if self._begun else line
            self._begun = []
            self._count(len(line))
            event = self._line(whole)
            if event is not None:
                yield event
        if begun:
            self._count(len(begun))
            self._begun.append(begun)

    def _count(self, more: int) -> None:
        self._held += more
        if self._held > self._most:
            raise EventTooLargeError

    def _line(self, line: bytes) -> Event | None:
        if self._first:
            self._first = False
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line:
            return self._dispatched()
        if line.startswith(b":"):
            self._held -= len(line)
            return None
        name, _, value = line.decode(errors="replace").partition(":")
        self._field(name, value.removeprefix(" "))
        return None

    def _field(self, name: str, value: str) -> None:
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._kind = value
            case "id" if value.isprintable() and value == value.strip():  # else no header brings it back
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry = int(value[:9]) / 1000

    def _dispatched(self) -> Event | None:
        data, kind, own = self._data, self._kind, self._id
        self._clear()
        if own is not None:
            self.last_id = own or None
        if not data:
            return None
        return Event("\n".join(data), kind or "message", own or None)
