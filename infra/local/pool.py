"""All execution environments of one function: which takes an invocation, when one starts or ends.

As on Lambda one environment carries one invocation at a time, an idle one is used again (the last one used
first), and more invocations start more environments. Unlike Lambda, invocations over the cap wait instead of
being throttled.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty
from typing import Final

from infra.local.environments import ProcessEnvironment, Work
from infra.local.invocations import Invocation, Outcome, exited
from infra.local.runtime_api import MAX_PAYLOAD_BYTES

IDLE_SECONDS: Final = 120.0
"""After which an environment without work ends, unless it is the last one."""

StartEnvironment = Callable[[Work], ProcessEnvironment]


class RequestTooLargeError(Exception):
    """The event is larger than Lambda takes."""


class FunctionPool:
    """The environments of one function, at most `cap`, of which at most `starting` start at the same time."""

    def __init__(self, new_environment: StartEnvironment, *, cap: int, starting: int) -> None:
        self._new_environment = new_environment
        self._cap = cap
        self._starting = starting
        self._lock = threading.Lock()
        self._environments: set[ProcessEnvironment] = set()
        self._idle: list[ProcessEnvironment] = []
        self._waiting: deque[Invocation] = deque()
        self._settled_start = threading.Event()
        self._closed = False

    def submit(self, invocation: Invocation) -> None:
        """Hand an invocation to an environment as soon as there is one.

        Raises:
            RequestTooLargeError: The event is over 6 MB.
        """
        if len(invocation.event) > MAX_PAYLOAD_BYTES:
            raise RequestTooLargeError(f"{len(invocation.event)} bytes, more than {MAX_PAYLOAD_BYTES}")
        with self._lock:
            if self._idle:
                self._idle.pop().inbox.put(invocation)
                return
            self._waiting.append(invocation)
        self._grow()

    def start(self) -> None:
        """Start one environment ahead of any invocation."""
        self._spawn()

    def wait_until_started(self, seconds: float) -> bool:
        """Wait until an environment has loaded its handler, or has failed to; False after that time."""
        return self._settled_start.wait(seconds)

    def restart(self) -> None:
        """Let every environment end: idle ones now, busy ones after what they do, as a deployment does."""
        with self._lock:
            for environment in self._environments:
                environment.retired = True
            idle, self._idle = self._idle, []
        for environment in idle:
            environment.inbox.put(None)

    def close(self) -> None:
        """End every process at once."""
        with self._lock:
            self._closed = True
            environments = tuple(self._environments)
            waiting, self._waiting = tuple(self._waiting), deque()
        for environment in environments:
            environment.retired = True
            environment.end()
        for invocation in waiting:
            invocation.settle(exited(invocation, "the local stack stops"))

    def take(self, environment: ProcessEnvironment) -> Invocation | None:
        self._settled_start.set()
        # One that has started makes way for the next to start.
        self._grow()
        with self._lock:
            if environment.retired:
                return None
            if self._waiting:
                return self._waiting.popleft()
            self._idle.append(environment)
        while True:
            try:
                return environment.inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                if self._dismiss(environment):
                    return None

    def give_back(self, invocation: Invocation) -> None:
        with self._lock:
            if self._idle:
                self._idle.pop().inbox.put(invocation)
                return
            self._waiting.appendleft(invocation)
        self._grow()

    def not_started(self, environment: ProcessEnvironment, outcome: Outcome | None) -> None:
        environment.retired = True
        self._settled_start.set()
        with self._lock:
            invocation = self._waiting.popleft() if self._waiting else None
        if invocation is not None:
            invocation.settle(
                outcome or exited(invocation, "the process ended before its handler was loaded")
            )

    def left(self, environment: ProcessEnvironment) -> None:
        with self._lock:
            self._environments.discard(environment)
            if environment in self._idle:
                self._idle.remove(environment)
        self._grow()

    def _dismiss(self, environment: ProcessEnvironment) -> bool:
        """End an environment that has been idle for long; False when it is needed or just got work."""
        with self._lock:
            if environment not in self._idle or len(self._environments) == 1:
                return False
            self._idle.remove(environment)
            environment.retired = True
            return True

    def _grow(self) -> None:
        """Start as many environments as the waiting invocations need and the limits allow."""
        while True:
            with self._lock:
                living = [environment for environment in self._environments if not environment.retired]
                starting = sum(not environment.ready.is_set() for environment in living)
                enough = len(self._waiting) <= starting or starting >= self._starting
                if enough or len(living) >= self._cap or self._closed:
                    return
            self._spawn()

    def _spawn(self) -> None:
        environment = self._new_environment(self)
        with self._lock:
            if self._closed:
                return
            self._environments.add(environment)
        environment.start()
