"""How a function's process comes to be: started afresh, or copied from one that has loaded the handler.

Either way it is a process of its own, known by its id. Copies are made on Linux, of functions that can be
copied; all others are started afresh, as every one is elsewhere.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from infra.local.copy_protocol import MAX_MESSAGE_BYTES, ROOM

LAMBDAS_OWN: Final = ("AWS_LAMBDA_", "LAMBDA_", "_HANDLER")
"""Variables by which a function's process is known; an original must not be taken for one."""

SPARE_BYTES: Final = 4096

PATIENCE_SECONDS: Final = 2.0
"""How long an original may take to bury its copies."""


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


class Copied:
    """A process that is a copy; its original tells of its end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status = 0
        self._ended = threading.Event()

    @property
    def pid(self) -> int:
        return self._pid

    def wait(self) -> int:
        self._ended.wait()
        return self._status

    def kill(self) -> None:
        if not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def end(self, status: int) -> None:
        """Say how it ended."""
        self._status = status
        self._ended.set()


class CannotCopyError(Exception):
    """The function's process cannot be copied; the text says why."""


class Original:
    """One process that is copied, and its copies.

    Raises:
        CannotCopyError: The handler's module cannot be loaded, or does what a copy would not survive.
    """

    def __init__(self, variables: Mapping[str, str], folder: Path, sink: int) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        plain = {name: value for name, value in variables.items() if not name.startswith(LAMBDAS_OWN)}
        room = sum(len(name) + len(value) + 2 for name, value in variables.items()) + SPARE_BYTES
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-P", "-m", "infra.local.forking", str(theirs.fileno())],
                env={**plain, ROOM: "x" * room},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._tokens = count()
        self._made: dict[int, Copied] = {}
        """By token, until whoever asked has taken them."""
        self._copies: dict[int, Copied] = {}
        self._told = threading.Condition(self._lock)
        self.gone = False
        self._begin(variables)

    def copy(self, address: str, sink: int) -> Copied:
        """Make a copy; raise CannotCopyError when the original is gone."""
        with self._told:
            token = next(self._tokens)
            asked = json.dumps({"token": token, "address": address}).encode()
            with contextlib.suppress(OSError):
                socket.send_fds(self._control, [asked], [sink])
            self._told.wait_for(lambda: token in self._made or self.gone)
            if token not in self._made:
                raise CannotCopyError("the original ended")
            return self._made.pop(token)

    def retire(self) -> None:
        """Make no more copies; it ends when the last of those there are does."""
        with contextlib.suppress(OSError):
            self._control.send(b"retire")

    def close(self) -> None:
        """End all its copies, and it when it has buried them."""
        with self._lock:
            copies = tuple(self._copies.values())
        for copy in copies:
            copy.kill()
        self.retire()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _begin(self, variables: Mapping[str, str]) -> None:
        with contextlib.suppress(OSError):
            self._control.send(json.dumps(dict(variables)).encode())
        said = self._control.recv(MAX_MESSAGE_BYTES)
        obstacle = json.loads(said)["obstacle"] if said else "it ended while loading the handler"
        if obstacle:
            self._control.close()
            self._process.wait()
            raise CannotCopyError(obstacle)
        threading.Thread(target=self._listen, name="original", daemon=True).start()

    def _listen(self) -> None:
        with self._control:
            while message := self._receive():
                with self._told:
                    self._take(json.loads(message))
                    self._told.notify_all()
        self._process.wait()
        with self._told:
            self.gone = True
            # The kernel ends the copies of an original that is gone.
            for copy in self._copies.values():
                copy.end(-signal.SIGKILL)
            self._told.notify_all()

    def _receive(self) -> bytes:
        try:
            return self._control.recv(MAX_MESSAGE_BYTES)
        except OSError:
            return b""

    def _take(self, message: Mapping[str, int]) -> None:
        if "exited" in message:
            self._copies.pop(message["exited"]).end(message["status"])
        else:
            copied = Copied(message["pid"])
            self._made[message["token"]] = self._copies[copied.pid] = copied


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
        original = self._current()
        if original is not None:
            with contextlib.suppress(CannotCopyError):
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
