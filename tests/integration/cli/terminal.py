"""A terminal with a command in it: what it shows is read as it comes, and keys are pressed."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE = 60
"""Seconds after which something that does not happen fails the test."""

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
INTERRUPT = "\x03"
END = "\x04"


def _at_the_keyboard() -> None:
    """Let Ctrl-C reach the command, also where the tests run in the background, which ignores it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The command as it is typed at a terminal of 100 columns."""

    def __init__(self, here: Path, environment: Mapping[str, str], *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "a2a_serverless.cli", *arguments],
            cwd=here,
            env={**environment, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_at_the_keyboard,  # noqa: PLW1509  nothing else runs in it
        )
        os.close(theirs)
        self.raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """What was shown so far, without what moves the cursor."""
        return CONTROL.sub("", self.raw)

    def shows(self, words: str) -> str:
        """Wait until it shows these words; gives all that was shown."""
        until = time.monotonic() + PATIENCE
        while words not in self.text:
            if not self._read(until):
                raise AssertionError(f"{words!r} does not come after {self.text!r}")
        return self.text

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def ends(self) -> int:
        """Wait for the end of the command; gives its exit status."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        return self.process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            piece = os.read(self._ours, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # nobody is at the other end any more
                return False
            raise
        self.raw += piece.decode(errors="replace")
        return bool(piece)
