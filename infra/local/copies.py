"""The line to a process that makes copies of itself: what is asked over it, and what is told of each copy.

Knows neither what was loaded nor what the copies are for.
"""

import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from infra.local.copy_protocol import MAX_MESSAGE_BYTES


class CannotCopyError(Exception):
    """The process cannot be copied; the text says why."""


class GoneError(CannotCopyError):
    """The process has ended."""


class Copied:
    """A process that is a copy; the one it was copied from tells of its end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status = 0
        self._ended = threading.Event()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._pid

    def wait(self) -> int:
        """Wait for its end; return its exit status, or the signal that ended it as a negative number."""
        self._ended.wait()
        return self._status

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, but not longer than that; return whether it has come."""
        return self._ended.wait(seconds)

    def kill(self) -> None:
        """End it at once; without effect when it has ended."""
        if not self._ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def end(self, status: int) -> None:
        """Say how it ended."""
        self._status = status
        self._ended.set()


class Line:
    """The line to a process that is copied, from when it was told what to load; `bury` waits for its end.

    Raises:
        CannotCopyError: It says why it cannot be copied, or hangs up.
    """

    def __init__(
        self, control: socket.socket, told: Mapping[str, object], bury: Callable[[], object]
    ) -> None:
        self._control = control
        self._bury = bury
        with contextlib.suppress(OSError):
            control.send(json.dumps(told).encode())
        said = self._receive()
        obstacle = json.loads(said)["obstacle"] if said else "it ended while loading"
        if obstacle:
            control.close()
            bury()
            raise CannotCopyError(obstacle)
        self._tokens = count()
        self._made: dict[int, Copied] = {}
        """By token, until whoever asked has taken them."""
        self._copies: dict[int, Copied] = {}
        self._told = threading.Condition()
        self.gone = False
        threading.Thread(target=self._listen, name="copies", daemon=True).start()

    def copy(self, what: Mapping[str, object], *descriptors: int) -> Copied:
        """Have a copy made; raise GoneError when there is nobody any more to be copied."""
        with self._told:
            token = next(self._tokens)
            asked = json.dumps({"token": token, **what}).encode()
            with contextlib.suppress(OSError):
                socket.send_fds(self._control, [asked], list(descriptors))
            self._told.wait_for(lambda: token in self._made or self.gone)
            if token not in self._made:
                raise GoneError("who would be copied has ended")
            return self._made.pop(token)

    def copies(self) -> Sequence[Copied]:
        """Those that have not ended."""
        with self._told:
            return tuple(self._copies.values())

    def retire(self) -> None:
        """Have no more copies made; it ends when the last of those there are does."""
        with contextlib.suppress(OSError):
            self._control.send(b"retire")

    def _listen(self) -> None:
        with self._control:
            while message := self._receive():
                with self._told:
                    self._take(json.loads(message))
                    self._told.notify_all()
        self._bury()
        with self._told:
            self.gone = True
            # The kernel ends the copies of a process that is gone.
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
