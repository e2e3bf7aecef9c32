"""One invocation of a function and what came of it, as values that threads hand to each other.

Also the errors that Lambda itself makes, in its words: a state machine and a test match on them. Knows no
process and no HTTP.
"""

import json
import secrets
import threading
import time
import uuid
from dataclasses import dataclass, field

from infra.local.streams import Stream


@dataclass(frozen=True)
class Outcome:
    """What Lambda answers to Invoke."""

    payload: bytes
    failed: bool = False
    """Whether `payload` describes an error (header X-Amz-Function-Error)."""


@dataclass
class Invocation:
    """An event on its way to a function; settled once, by whoever comes first.

    When the invoker takes a streamed answer the pieces come through `stream`, and the outcome only says how
    it ended.
    """

    event: bytes
    trace_id: str
    """Value of X-Amzn-Trace-Id."""
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    takes_stream: bool = False
    """Whether it was invoked by InvokeWithResponseStream."""
    stream: Stream | None = None
    """The streamed answer, once it has begun."""
    _abandoned: bool = False
    _outcome: Outcome | None = None
    _begun: threading.Event = field(default_factory=threading.Event)
    _settled: threading.Event = field(default_factory=threading.Event)
    _once: threading.Lock = field(default_factory=threading.Lock)

    def begin_stream(self) -> Stream | None:
        """Begin a streamed answer; None when the invoker wants it whole, or it is settled already."""
        with self._once:
            if not self.takes_stream or self._outcome is not None or self.stream is not None:
                return None
            self.stream = Stream()
            if self._abandoned:
                self.stream.abandon()
        self._begun.set()
        return self.stream

    def abandon(self) -> None:
        """Say that the invoker waits no longer; the function is not interrupted."""
        with self._once:
            self._abandoned = True
            stream = self.stream
        if stream is not None:
            stream.abandon()

    def settle(self, outcome: Outcome) -> bool:
        """Give the outcome; False when there is one already."""
        with self._once:
            if self._outcome is not None:
                return False
            self._outcome = outcome
        if self.stream is not None:
            self.stream.end(broken=outcome.failed)
        self._begun.set()
        self._settled.set()
        return True

    def wait(self, seconds: float | None = None) -> Outcome | None:
        """Wait for the outcome; None when it has not come in that time."""
        self._settled.wait(seconds)
        return self._outcome

    def wait_for_answer(self, seconds: float) -> Stream | Outcome | None:
        """Wait until a streamed answer begins, or the outcome comes without one; None when neither does."""
        self._begun.wait(seconds)
        return self.stream or self._outcome


def new_trace_id() -> str:
    """Return an X-Ray trace header value."""
    return f"Root=1-{int(time.time()):08x}-{secrets.token_hex(12)};Parent={secrets.token_hex(8)};Sampled=0"


def timed_out(invocation: Invocation, seconds: float) -> Outcome:
    """The function ran longer than it may; Lambda killed it."""
    return _platform_error("Sandbox.Timedout", invocation, f"Task timed out after {seconds:.2f} seconds")


def exited(invocation: Invocation, how: str) -> Outcome:
    """The process ended in the middle of the invocation."""
    return _platform_error("Runtime.ExitError", invocation, f"Runtime exited with error: {how}")


def broken_off(invocation: Invocation) -> Outcome:
    """The process ended the answer before it was whole, and goes on without having said why."""
    return _platform_error("Runtime.TruncatedResponse", invocation, "The response was broken off")


def _platform_error(error_type: str, invocation: Invocation, text: str) -> Outcome:
    message = f"RequestId: {invocation.request_id} Error: {text}"
    return Outcome(json.dumps({"errorType": error_type, "errorMessage": message}).encode(), failed=True)
