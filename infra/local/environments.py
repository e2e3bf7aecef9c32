"""One execution environment: a process on our runtime loop, alone with its Runtime API.

Carries one invocation at a time, kills the process when the function's time is up, and turns a dead process
into the error Lambda gives. Which invocation comes next is the pool's business.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol

from infra.local.console import Console
from infra.local.deployment import Function
from infra.local.function_logs import FunctionLog
from infra.local.invocations import Invocation, Outcome, broken_off, exited, timed_out
from infra.local.launching import Launcher, Process
from infra.local.runtime_api import NextInvocation, RuntimeApi
from infra.local.streams import Stream


class Work(Protocol):
    """Where an environment gets its invocations from and says how it fares."""

    def take(self, environment: "ProcessEnvironment") -> Invocation | None:
        """Wait for the next invocation; None when the environment is to end."""

    def give_back(self, invocation: Invocation) -> None:
        """Take back an invocation that never reached the process."""

    def not_started(self, environment: "ProcessEnvironment", outcome: Outcome | None) -> None:
        """Learn that the process cannot serve; `outcome` is what it said, None when it just ended."""

    def left(self, environment: "ProcessEnvironment") -> None:
        """Learn that the process is gone."""


class ProcessEnvironment:
    """A function's process; `start` has it made."""

    def __init__(
        self, function: Function, work: Work, console: Console, *, launcher: Launcher, log: FunctionLog
    ) -> None:
        self.inbox: SimpleQueue[Invocation | None] = SimpleQueue()
        self.ready = threading.Event()
        """Set when the handler is loaded."""
        self.retired = False
        """Whether it may take no more work."""
        self._function = function
        self._name = function.folder.name
        self._work = work
        self._console = console
        self._launcher = launcher
        self._log = log
        self._api = RuntimeApi(self, self._name)
        self._process: Process | None = None
        self._current: Invocation | None = None
        self._clock: threading.Timer | None = None
        self._ended = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Have the process made, and watch over it."""
        self._api.start()
        threading.Thread(target=self._live, name=self._name, daemon=True).start()

    def end(self) -> None:
        """End the process at once, whatever it does."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()

    def next_invocation(self, left: Callable[[], bool]) -> NextInvocation | None:
        self.ready.set()
        self._break_off()
        invocation = self._work.take(self)
        if invocation is None:
            self.end()
            return None
        with self._lock:
            # A process that dies while it is idle is seen to have left before anybody tells of its end.
            if self._ended or left():
                self._work.give_back(invocation)
                return None
            seconds = self._function.timeout_seconds
            self._current = invocation
            self._clock = threading.Timer(seconds, self._time_out, (invocation,))
            self._clock.daemon = True
            self._clock.start()
        return NextInvocation(
            request_id=invocation.request_id,
            event=invocation.event,
            deadline_ms=int((time.time() + seconds) * 1000),
            function_arn=self._function.arn,
            trace_id=invocation.trace_id,
        )

    def succeed(self, request_id: str, payload: bytes) -> bool:
        return self._settle(request_id, Outcome(payload))

    def fail(self, request_id: str, payload: bytes) -> bool:
        return self._settle(request_id, Outcome(payload, failed=True))

    def begin_stream(self, request_id: str) -> Stream | None:
        with self._lock:
            invocation = self._current
        if invocation is None or invocation.request_id != request_id:
            return None
        return invocation.begin_stream()

    def fail_to_start(self, payload: bytes) -> None:
        self._console.say(f"function {self._name} cannot start: {_reason(payload)}")
        self._work.not_started(self, Outcome(payload, failed=True))

    def _settle(self, request_id: str, outcome: Outcome) -> bool:
        with self._lock:
            invocation = self._current
            if invocation is None or invocation.request_id != request_id:
                return False
            self._current = None
            if self._clock is not None:
                self._clock.cancel()
        return invocation.settle(outcome)

    def _break_off(self) -> None:
        """End what the process left unfinished when it asks for more: the answer to a reader that is gone."""
        with self._lock:
            invocation = self._current
        if invocation is not None:
            self._settle(invocation.request_id, broken_off(invocation))

    def _time_out(self, invocation: Invocation) -> None:
        seconds = self._function.timeout_seconds
        if self._settle(invocation.request_id, timed_out(invocation, seconds)):
            self._console.say(f"function {self._name} timed out after {seconds:g} s, process ended")
            self.end()

    def _live(self) -> None:
        sink = self._log.open()
        try:
            process = self._launcher.launch(self._api.address, sink)
        finally:
            os.close(sink)
        with self._lock:
            self._process = process
            unwanted = self._ended
        if unwanted:
            process.kill()
        self._bury(process.wait())

    def _bury(self, status: int) -> None:
        how = f"signal: {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        with self._lock:
            self._ended = True
            invocation = self._current
        self._api.close()
        crashed = invocation is not None and self._settle(invocation.request_id, exited(invocation, how))
        if crashed and not self.retired:
            self._console.say(f"function {self._name} crashed in the middle of an invocation: {how}")
        if not self.ready.is_set() and not self.retired:
            self._work.not_started(self, None)
        # Wakes the Runtime API's thread if it still waits for work.
        self.inbox.put(None)
        self._work.left(self)


def _reason(payload: bytes) -> str:
    try:
        described = json.loads(payload)
        return f"{described['errorType']}: {described['errorMessage']}"
    except (ValueError, KeyError, TypeError):
        return payload.decode(errors="replace")
