"""What the person at the terminal sees: news on standard output, functions' log lines on standard error.

Writing happens in a thread of its own and lines are dropped rather than waited for, so that a full pipe that
nobody reads never stops the stack. Knows nothing of what is said.
"""

import contextlib
import os
import queue
import threading
from typing import Final

STDOUT: Final = 1
STDERR: Final = 2
MAX_WAITING_LINES: Final = 10_000


class Console:
    """Writes lines without ever making the caller wait."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._lines: queue.Queue[tuple[int, str] | None] = queue.Queue(MAX_WAITING_LINES)
        self._thread = threading.Thread(target=self._write, name="console", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Tell the person."""
        self._put((STDOUT, line))

    def log(self, source: str, line: str) -> None:
        """Pass on a function's log line, unless these are not wanted."""
        if not self._quiet:
            self._put((STDERR, f"[{source}] {line}"))

    def close(self) -> None:
        """Write what is left, for at most a second."""
        self._put(None)
        self._thread.join(timeout=1)

    def _put(self, item: tuple[int, str] | None) -> None:
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(item)

    def _write(self) -> None:
        while (item := self._lines.get()) is not None:
            descriptor, line = item
            # A closed terminal is no reason to stop.
            with contextlib.suppress(OSError):
                os.write(descriptor, f"{line}\n".encode(errors="replace"))
