"""A receiver of webhooks in a process of its own, and what a test learns from it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue
from typing import Any

from a2a.types import StreamResponse, TaskState
from google.protobuf.json_format import Parse

from tests.e2e.stack import PATIENCE, ROOT


@dataclass(frozen=True)
class Arrival:
    """One request that arrived, and what it was answered with."""

    path: str
    headers: Mapping[str, str]
    body: str
    answered: int | str

    @cached_property
    def payload(self) -> StreamResponse:
        """The body as the official types read it, with nothing in it that they do not know."""
        parsed: StreamResponse = Parse(self.body, StreamResponse())
        return parsed

    @property
    def event_id(self) -> str:
        """What the event is known by, however often it comes."""
        return self.headers["x-a2a-event-id"]

    @property
    def attempt(self) -> int:
        """Which attempt at this event it is."""
        return int(self.headers["x-a2a-attempt"])

    @property
    def told(self) -> str:
        """The body in a word: a state, or an artifact's name and text."""
        if self.payload.WhichOneof("payload") == "status_update":
            state: str = TaskState.Name(self.payload.status_update.status.state)
            return state.removeprefix("TASK_STATE_")
        update = self.payload.artifact_update
        assert update.last_chunk
        assert not update.append
        return f"{update.artifact.artifact_id}: {''.join(part.text for part in update.artifact.parts)}"


@dataclass(frozen=True)
class Receiver:
    """One running receiver."""

    process: "subprocess.Popen[str]"
    port: int
    _said: "SimpleQueue[dict[str, Any]]" = field(repr=False)

    def url(self, path: str = "/hook") -> str:
        """An address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def next(self) -> Arrival:
        """The next request, waited for."""
        return Arrival(**self._said.get(timeout=PATIENCE))

    def until(self, *told: str) -> list[Arrival]:
        """All requests up to the first that was taken and says one of this."""
        arrivals = [self.next()]
        while not (arrivals[-1].answered == 204 and arrivals[-1].told in told):
            arrivals.append(self.next())
        return arrivals

    def until_left(self) -> None:
        """Wait until whoever was kept waiting for an answer has gone."""
        assert self._said.get(timeout=PATIENCE)["left"]

    def die(self) -> None:
        """End at once, in the middle of whatever it does."""
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def receiving(
    answers: Mapping[str, Sequence[int | str]] | None = None, *, port: int = 0
) -> Iterator[Receiver]:
    """A receiver that answers like this, on a free port or the one of an earlier one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.receiving", str(port), json.dumps(answers or {})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    said: SimpleQueue[dict[str, Any]] = SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, said), daemon=True)
    reader.start()
    try:
        yield Receiver(process, said.get(timeout=PATIENCE)["port"], said)
    finally:
        process.kill()
        process.wait(PATIENCE)
        reader.join(PATIENCE)


def _read(process: "subprocess.Popen[str]", said: "SimpleQueue[dict[str, Any]]") -> None:
    """Queue every line as what it says."""
    if process.stdout is not None:
        with process.stdout as lines:
            for line in lines:
                said.put(json.loads(line))
