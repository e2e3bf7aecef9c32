"""`python -m infra.local` as a child process, and what a test may see of it from outside.

Started with a free port, waited for by reading what it prints, ended by its pid.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).parents[2]

PATIENCE = 60
"""Seconds after which something that does not happen fails the test; nothing ever waits this long."""


@dataclass(frozen=True)
class LocalStack:
    """One running deployment."""

    process: "subprocess.Popen[str]"
    url: str
    aws: str
    """Where boto3 finds its AWS."""
    logs: Path
    """Folder of the functions' log files."""
    _said: "SimpleQueue[str]" = field(repr=False)

    def replace_functions(self) -> None:
        """End every function process and start others, as a deployment does."""
        self.process.send_signal(signal.SIGHUP)
        while "being replaced" not in self._said.get(timeout=PATIENCE):
            pass

    def said(self) -> list[str]:
        """The lines it has printed since somebody read them last."""
        lines = []
        with suppress(Empty):
            while True:
                lines.append(self._said.get_nowait().rstrip())
        return lines

    def log_of(self, function: str) -> str:
        """What a function has logged so far."""
        return (self.logs / f"{function}.log").read_text(encoding="utf-8")


@contextmanager
def running(
    logs: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[LocalStack]:
    """Start a stack with these arguments, in our environment or another; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.local", "--port", "0", "--log-dir", str(logs), *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: SimpleQueue[str] = SimpleQueue()
    # Read at once, whoever listens, so that the stack never finds its pipe full.
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    try:
        word, _, url = said.get(timeout=PATIENCE).strip().partition(" ")
        if word != "ready":
            raise RuntimeError(f"the local stack did not start: {word} {url}")
        aws = said.get(timeout=PATIENCE).strip().removeprefix("aws ")
        yield LocalStack(process, url, aws, logs, said)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        reader.join(PATIENCE)


def _read(process: "subprocess.Popen[str]", said: "SimpleQueue[str]") -> None:
    """Queue every line, and an empty one at the end."""
    if process.stdout is not None:
        with process.stdout as lines:
            for line in lines:
                said.put(line)
    said.put("")


def descendants(pid: int) -> set[int]:
    """Processes that a process has started, directly or not, and that have not ended."""
    listing = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True
    )
    parents = {int(child): int(parent) for child, parent in map(str.split, listing.stdout.splitlines())}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def processes(stack: LocalStack, function: str) -> set[int]:
    """Every process of a function, by the name of its folder."""
    folder = f"functions/{function}"
    return {
        pid
        for pid in descendants(stack.process.pid)
        if environ_of(pid).get("LAMBDA_TASK_ROOT", "").endswith(folder)
    }


def environ_of(pid: int) -> dict[str, str]:
    """The environment of a process; empty when it has ended meanwhile."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}
