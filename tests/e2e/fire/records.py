"""What receivers under fire have recorded, as it comes in, and what somebody waits for among it."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.e2e.fire.fates import ARRIVED
from tests.e2e.stack import PATIENCE, ROOT


@dataclass(frozen=True)
class Arrival:
    """One request, and what became of it."""

    fate: str
    at: float
    path: str
    event_id: str
    headers: Mapping[str, str]
    body: str

    @property
    def taken(self) -> bool:
        """Whether the receiver has had the event by this."""
        return self.fate in ARRIVED

    @cached_property
    def payload(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Event = tuple[str, str]
"""The path and the event id of something to be told."""


class Records:
    """Everything that arrived anywhere, in the order of each receiver."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.hung_up = 0
        self._taken: set[Event] = set()
        self._missing: set[Event] = set()
        self._changed = threading.Condition()

    def add(self, facts: Mapping[str, Any]) -> None:
        """Take down a line of a receiver's."""
        with self._changed:
            if "path" not in facts:
                self.hung_up += 1
                return
            arrival = Arrival(**facts)
            self.arrivals.append(arrival)
            if arrival.taken:
                event = arrival.path, arrival.event_id
                self._taken.add(event)
                self._missing.discard(event)
            self._changed.notify_all()

    def of_path(self) -> dict[str, list[Arrival]]:
        """The arrivals so far by path."""
        found: dict[str, list[Arrival]] = {}
        with self._changed:
            for arrival in self.arrivals:
                found.setdefault(arrival.path, []).append(arrival)
        return found

    def wait_until(self, seen: Callable[[Sequence[Arrival]], bool], seconds: float) -> None:
        """Wait until the arrivals so far are what is waited for; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: seen(self.arrivals), seconds):
                raise TimeoutError(f"{len(self.arrivals)} requests have arrived")

    def wait_for(self, events: Iterable[Event], seconds: float, *, but: int = 0) -> set[Event]:
        """Wait until all of these but so many have been taken; returns those that were not."""
        with self._changed:
            self._missing = set(events) - self._taken
            self._changed.wait_for(lambda: len(self._missing) <= but, seconds)
            return set(self._missing)


@dataclass(frozen=True)
class Receiver:
    """One running receiver."""

    process: "subprocess.Popen[str]"
    scheme: str
    port: int
    _said: "SimpleQueue[dict[str, Any]]" = field(repr=False)

    def url(self, path: str) -> str:
        """An address of it."""
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    def forgive(self) -> None:
        """Let it take from now on what was gone."""
        if self.process.stdin is not None:
            self.process.stdin.write("forgive\n")
            self.process.stdin.flush()
        self._said.get(timeout=PATIENCE)


@contextmanager
def receiving(
    records: Records, *, seed: int | None = None, silence: float = 0.0, certificate: Path | None = None
) -> Iterator[Receiver]:
    """A receiver whose records are kept there; by HTTPS with a certificate, unlucky with a seed."""
    arguments = ["--silence", str(silence)]
    if seed is not None:
        arguments += ["--seed", str(seed)]
    if certificate is not None:
        arguments += ["--certificate", str(certificate)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.fire.target", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: SimpleQueue[dict[str, Any]] = SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, records, said), daemon=True)
    reader.start()
    try:
        port = said.get(timeout=PATIENCE)["port"]
        yield Receiver(process, "https" if certificate else "http", port, said)
    finally:
        process.kill()
        process.wait(PATIENCE)
        reader.join(PATIENCE)
        if process.stdin is not None:
            process.stdin.close()


def _read(process: "subprocess.Popen[str]", records: Records, said: "SimpleQueue[dict[str, Any]]") -> None:
    """Keep every line about a request; queue the others."""
    if process.stdout is not None:
        with process.stdout as lines:
            for line in lines:
                facts = json.loads(line)
                if "fate" in facts:
                    records.add(facts)
                else:
                    said.put(facts)
