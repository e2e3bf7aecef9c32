"""Named pipes by which functions tell a test what they do, and are told when to go on: no sleeps."""

import os
import select
from pathlib import Path

PATIENCE = 30


class Listener:
    """The reading end of a named pipe that functions write lines to."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        # Open for writing too, so that it does not end when a function closes it.
        self._descriptor = os.open(path, os.O_RDWR)

    def line(self) -> str:
        read = b""
        while not read.endswith(b"\n"):
            ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
            assert ready, f"nothing came after {read!r}"
            read += os.read(self._descriptor, 1)
        return read.decode().rstrip("\n")

    def close(self) -> None:
        os.close(self._descriptor)
