"""Processes that have loaded something and make copies of themselves, each of which goes on from there.

The ancestor, started as `python -P -m infra.local.forking DESCRIPTOR` with the descriptor of a socket to the
stack, loads what the functions have in common; a copy of it loads one function's handler; and a copy of that
is an environment. It starts in milliseconds where a fresh process takes most of a second, and shares its
memory until it writes to it; in everything else it is a process like any other, alone with its Runtime API.
Linux only. Knows no pool.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from a2a_runtime.handler import HandlerUnavailable, extend_search_path, load_handler
from a2a_runtime.logs import start_logging
from a2a_runtime.loop import main as live
from infra.local.copy_protocol import MAX_MESSAGE_BYTES, ROOM

PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True)
class Copy:
    """What a copy was asked for, with the descriptors that came along."""

    asked: Mapping[str, Any]
    descriptors: Sequence[int]


class Copier:
    """The side that is copied: makes copies when asked, and tells when one has ended and how."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._copies: set[int] = set()
        self._retired = False

    def serve(self) -> Copy | None:
        """Serve until there is nothing left to do: None; in a copy, return what that copy is to be."""
        reading, writing = socket.socketpair()
        writing.settimeout(0)
        signal.set_wakeup_fd(writing.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while self._copies or not self._retired:
            readable, _, _ = select.select([self._control, reading], [], [])
            if reading in readable:
                reading.recv(4096)
                self._reap()
            if self._control in readable:
                message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 2)
                if not message:
                    return None
                if not descriptors:
                    self._retired = True
                elif copy := self._copy(json.loads(message), descriptors):
                    reading.close()
                    writing.close()
                    return copy
        return None

    def _copy(self, asked: Mapping[str, Any], descriptors: Sequence[int]) -> Copy | None:
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            end_with(parent)
            return Copy(asked, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._copies.add(pid)
        say(self._control, {"token": asked["token"], "pid": pid})
        return None

    def _reap(self) -> None:
        while self._copies:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._copies.discard(pid)
            say(self._control, {"exited": pid, "status": os.waitstatus_to_exitcode(status)})


def main(descriptor: int) -> int:
    """Be the ancestor: load what it is told, say whether copies can be made, make them."""
    control = socket.socket(fileno=descriptor)
    for module in json.loads(control.recv(MAX_MESSAGE_BYTES))["modules"]:
        # What cannot be loaded is told by the function that needs it.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    copy = copied(control, why_not())
    if copy is None:
        return 0
    sink, line = copy.descriptors
    write_to(sink)
    os.setsid()
    os.chdir(copy.asked["folder"])
    return original(socket.socket(fileno=line))


def original(control: socket.socket) -> int:
    """Be a function's original: load its handler; a copy of it is an environment."""
    os.environ.update(json.loads(control.recv(MAX_MESSAGE_BYTES)))
    time.tzset()
    copy = copied(control, load() or why_not())
    if copy is None:
        return 0
    write_to(*copy.descriptors)
    os.environ["AWS_LAMBDA_RUNTIME_API"] = copy.asked["address"]
    del os.environ[ROOM]
    show_environment(os.environ)
    return live(os.environ)


def copied(control: socket.socket, obstacle: str) -> Copy | None:
    """Say what stands in the way, and if nothing does make copies until no more are wanted: None.

    In a copy, return what that copy is to be.
    """
    say(control, {"obstacle": obstacle})
    if obstacle:
        return None
    gc.collect()
    gc.freeze()
    return Copier(control).serve()


def write_to(sink: int) -> None:
    """Have what is written to the standard streams go there."""
    for stream in (1, 2):
        os.dup2(sink, stream)
    os.close(sink)


def load() -> str:
    """Load the handler as the runtime loop would; return why it cannot be.

    Logging is begun before, as there: a library that writes lines of its own (Powertools) keeps them from the
    handlers that it finds.
    """
    start_logging(os.environ)
    extend_search_path(os.environ)
    try:
        load_handler(os.environ["_HANDLER"])
    except HandlerUnavailable as unavailable:
        return unavailable.failure.error_type
    except BaseException:  # noqa: BLE001 - a module may even leave the process; a fresh one will tell
        traceback.print_exc()
        return "the handler's module ends the process"
    return ""


def why_not() -> str:
    """Return why this process cannot be copied; "" when it can."""
    threads = len([*Path("/proc/self/task").iterdir()])
    if threads > 1:
        return f"{threads} threads"
    try:
        # Whoever looks for the function's processes is not to find this one, which serves nothing.
        show_environment({})
    except OSError as error:
        return f"its memory cannot be written: {error}"
    return ""


def show_environment(environ: Mapping[str, str]) -> None:
    """Write the environment to where others look for it: `/proc/PID/environ` is the memory of the start."""
    # Fields 50 and 51 (proc(5)), counted from behind the program's name, which may hold anything.
    start, end = map(
        int, Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[47:49]
    )
    block = b"\0".join(f"{name}={value}".encode() for name, value in environ.items()) + b"\0"
    # The C library's variables may still point there; one that is set anew has memory of its own.
    for name, value in os.environ.items():
        os.putenv(name, value)
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(block[: end - start].ljust(end - start, b"\0"))


def end_with(parent: int) -> None:
    """Have the kernel end this process when the one it was copied from ends, so that none is left over."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def say(control: socket.socket, message: Mapping[str, object]) -> None:
    """Tell the stack; when it is gone, the next look at the socket says so."""
    with contextlib.suppress(OSError):
        control.send(json.dumps(message).encode())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
