"""How a function's process comes to be: started afresh, or copied from one that has loaded the handler.

Either way it is a process of its own, known by its id. Copies are made on Linux, of functions that can be
copied; all others are started afresh, as every one is elsewhere.
"""

import contextlib
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from infra.local.copies import CannotCopyError, GoneError
from infra.local.originals import Original


class Process(Protocol):
    """A function's process."""

    @property
    def pid(self) -> int:
        """Its id."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, or the signal that ended it as a negative number."""

    def kill(self) -> None:
        """End it at once; without effect when it has ended."""


class Launcher(Protocol):
    """Makes processes of one function."""

    def launch(self, address: str, sink: int) -> Process:
        """Make one, whose Runtime API is at `address` and whose log goes to the descriptor `sink`."""


class Starting:
    """Starts every process afresh, with `command`."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], folder: Path) -> None:
        self._command = command
        self._variables = variables
        self._folder = folder

    def launch(self, address: str, sink: int) -> Process:
        return subprocess.Popen(  # noqa: S603 - our own runtime loop
            self._command,
            env={**self._variables, "AWS_LAMBDA_RUNTIME_API": address},
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            # A Ctrl-C at the terminal is for the stack, which ends its processes in order.
            start_new_session=True,
        )


class Copying:
    """Copies one original as long as that is possible, and starts processes afresh when it is not."""

    def __init__(self, new_original: Callable[[], Original], afresh: Launcher) -> None:
        self._new_original = new_original
        self._afresh = afresh
        self._original: Original | None = None
        self._possible = True
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Load the handler ahead of the first process."""
        self._current()

    def launch(self, address: str, sink: int) -> Process:
        for _ in range(2):  # an original that ended a moment ago is known to have when it has been asked
            original = self._current()
            if original is not None:
                with contextlib.suppress(GoneError):
                    return original.copy(address, sink)
        return self._afresh.launch(address, sink)

    def renew(self) -> None:
        """Load the handler again before the next process, as a deployment does."""
        with self._lock:
            original, self._original, self._possible = self._original, None, True
        if original is not None:
            original.retire()

    def close(self) -> None:
        """End the original, and with it every copy."""
        with self._lock:
            original, self._original, self._possible = self._original, None, False
        if original is not None:
            original.close()

    def _current(self) -> Original | None:
        with self._lock:
            if self._possible and (self._original is None or self._original.gone):
                try:
                    self._original = self._new_original()
                except CannotCopyError:
                    self._original, self._possible = None, False
            return self._original if self._possible else None
