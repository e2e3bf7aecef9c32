"""EventBridge's place in the local stack: a function invoked at a fixed rate, with a schedule's event."""

import json
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from infra.local.console import Console
from infra.local.deployment import ACCOUNT, REGION, STACK, Schedule
from infra.local.invocations import Invocation, new_trace_id
from infra.local.pool import FunctionPool


class Scheduler:
    """Fires one schedule until it is closed; an invocation that still runs does not delay the next."""

    def __init__(self, schedule: Schedule, pool: FunctionPool, console: Console) -> None:
        self._schedule = schedule
        self._pool = pool
        self._console = console
        self._closed = threading.Event()

    def start(self) -> None:
        """Fire from now on, the first time after one period."""
        threading.Thread(target=self._run, name=self._schedule.rule, daemon=True).start()

    def close(self) -> None:
        """Stop firing."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(self._schedule.every_seconds):
            invocation = Invocation(scheduled_event(self._schedule, datetime.now(UTC)), new_trace_id())
            self._pool.submit(invocation)
            threading.Thread(target=self._tell, args=(invocation,), daemon=True).start()

    def _tell(self, invocation: Invocation) -> None:
        outcome = invocation.wait()
        if outcome is not None and outcome.failed and not self._closed.is_set():
            self._console.say(
                f"schedule {self._schedule.rule} failed: {outcome.payload.decode(errors='replace')}"
            )


def scheduled_event(schedule: Schedule, at: datetime, new_id: Callable[[], object] = uuid.uuid4) -> bytes:
    """Return what EventBridge sends to the target of a schedule."""
    return json.dumps(
        {
            "version": "0",
            "id": str(new_id()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": ACCOUNT,
            "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": REGION,
            "resources": [f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{STACK}-{schedule.rule}"],
            "detail": {},
        }
    ).encode()
