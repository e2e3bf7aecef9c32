"""An answer on its way from a function's process to whoever invoked the function, piece by piece.

One thread puts, another takes; neither waits longer than it must, and each learns when the other is gone.
Knows no HTTP and no process.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_WAITING_BYTES: Final = 1024 * 1024
"""How far a function may run ahead of a slow reader before its writes wait."""


class StreamBroken(Exception):
    """The answer ends here, and it is not whole."""


class Stream:
    """The pieces of one answer."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pieces: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._ended = False
        self._broken = False
        self._abandoned = False
        self._tell: Callable[[], None] | None = None

    def put(self, piece: bytes) -> bool:
        """Hand on a piece, waiting while the reader is far behind; False when nobody will read it."""
        with self._changed:
            self._changed.wait_for(self._wants_more)
            if self._abandoned or self._ended:
                return False
            self._pieces.append(piece)
            self._waiting_bytes += len(piece)
            self._changed.notify_all()
        return True

    def end(self, *, broken: bool) -> None:
        """Say that no piece follows; the first word on this counts."""
        with self._changed:
            if not self._ended:
                self._ended, self._broken = True, broken
                self._changed.notify_all()

    def take(self, seconds: float) -> bytes | None:
        """Wait for the next piece; b"" when none came in that time, None after the last.

        Raises:
            StreamBroken: The function or its process failed before the answer was whole.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._ended, seconds)
            if self._pieces:
                piece = self._pieces.popleft()
                self._waiting_bytes -= len(piece)
                self._changed.notify_all()
                return piece
            if self._broken:
                raise StreamBroken
            return None if self._ended else b""

    def abandon(self) -> None:
        """Say that nobody reads any more; without effect on a stream that has ended."""
        with self._changed:
            if self._ended or self._abandoned:
                return
            self._abandoned = True
            tell = self._tell
            self._changed.notify_all()
        if tell is not None:
            tell()

    def when_abandoned(self, tell: Callable[[], None]) -> None:
        """Name who is told when nobody reads any more; at once if that is so already."""
        with self._changed:
            self._tell = tell
            already = self._abandoned
        if already:
            tell()

    def _wants_more(self) -> bool:
        return self._waiting_bytes < MOST_WAITING_BYTES or self._abandoned or self._ended
