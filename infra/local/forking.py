"""A process that has loaded a function's handler and makes copies of itself: each copy is an environment.

Started as `python -P -m infra.local.forking DESCRIPTOR`, the descriptor of a socket to the stack. A copy
starts in milliseconds where a fresh process takes most of a second, and shares its memory until it writes to
it; in everything else it is a process like any other, alone with its Runtime API. Linux only. Knows no pool.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from a2a_runtime.handler import HandlerUnavailable, extend_search_path, load_handler
from a2a_runtime.loop import main as live
from infra.local.copy_protocol import MAX_MESSAGE_BYTES, ROOM

PR_SET_PDEATHSIG: Final = 1


@dataclass(frozen=True)
class Copy:
    """What a copy is to be."""

    address: str
    """Its Runtime API."""
    sink: int
    """Descriptor of its log."""


class Original:
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
                message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
                if not message:
                    return None
                if not descriptors:
                    self._retired = True
                elif copy := self._copy(json.loads(message), descriptors[0]):
                    reading.close()
                    writing.close()
                    return copy
        return None

    def _copy(self, asked: Mapping[str, Any], sink: int) -> Copy | None:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            return Copy(asked["address"], sink)
        os.close(sink)
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
    """Load the handler, say whether copies can be made, make them; in a copy, be an environment."""
    control = socket.socket(fileno=descriptor)
    os.environ.update(json.loads(control.recv(MAX_MESSAGE_BYTES)))
    obstacle = load() or why_not()
    say(control, {"obstacle": obstacle})
    if obstacle:
        return 0
    gc.collect()
    gc.freeze()
    original = os.getpid()
    copy = Original(control).serve()
    if copy is None:
        return 0
    end_with(original)
    for stream in (1, 2):
        os.dup2(copy.sink, stream)
    os.close(copy.sink)
    os.environ["AWS_LAMBDA_RUNTIME_API"] = copy.address
    del os.environ[ROOM]
    show_environment(os.environ)
    return live(os.environ)


def load() -> str:
    """Load the handler as the runtime loop would; return why it cannot be."""
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


def end_with(original: int) -> None:
    """Have the kernel end this process when its original ends, so that none is ever left over."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != original:
        os._exit(1)


def say(control: socket.socket, message: Mapping[str, object]) -> None:
    """Tell the stack; when it is gone, the next look at the socket says so."""
    with contextlib.suppress(OSError):
        control.send(json.dumps(message).encode())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
