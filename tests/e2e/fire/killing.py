"""Killing processes of the stack's functions: without warning, one at a time, again and again."""

import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from os import close, pidfd_open
from pathlib import Path

from tests.e2e.stack import LocalStack, descendants

Pauses = Mapping[str, tuple[float, float]]
"""For each function the shortest and the longest pause between two kills, in seconds."""


class Killer:
    """Kills until it is told to stop; `kills` counts them by function."""

    def __init__(self, stack: LocalStack, pauses: Pauses, seed: int) -> None:
        self.kills: Counter[str] = Counter()
        self._stack = stack
        self._enough = threading.Event()
        self._threads = [
            threading.Thread(target=self._kill_now_and_then, args=(function, pause, seed), daemon=True)
            for function, pause in pauses.items()
        ]

    def start(self) -> None:
        """Kill from now on."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Kill no more."""
        self._enough.set()
        for thread in self._threads:
            thread.join()

    def _kill_now_and_then(self, function: str, pause: tuple[float, float], seed: int) -> None:
        chance = random.Random(f"{seed} {function}")  # noqa: S311  it chooses victims
        while not self._enough.wait(chance.uniform(*pause)):
            living = sorted(processes(self._stack, function))
            if living and kill(chance.choice(living), function):
                self.kills[function] += 1


@contextmanager
def killing(stack: LocalStack, pauses: Pauses, seed: int) -> Iterator[Killer]:
    """Kill as long as the block lasts, or until it says that it is enough."""
    killer = Killer(stack, pauses, seed)
    killer.start()
    try:
        yield killer
    finally:
        killer.stop()


def processes(stack: LocalStack, function: str) -> set[int]:
    """The processes of a function that the stack has started and that live."""
    return {pid for pid in descendants(stack.process.pid) if serves(pid, function)}


def kill(pid: int, function: str) -> bool:
    """Kill a process if it is still the function's: an id may have become another's meanwhile."""
    try:
        process = pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not serves(pid, function):
            return False
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
            return True
    finally:
        close(process)
    return False


def serves(pid: int, function: str) -> bool:
    """Whether a process is one of the function's."""
    wanted = f"/functions/{function}"
    with suppress(FileNotFoundError, ProcessLookupError):
        variables = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        return any(each.startswith("LAMBDA_TASK_ROOT=") and each.endswith(wanted) for each in variables)
    return False
