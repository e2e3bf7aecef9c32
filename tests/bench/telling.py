"""What telling webhooks asks of AWS: tasks with one webhook each, all sides in this process and counted.

Every event is delivered by itself, as it is where little happens. Batches only make it cheaper.
"""

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.operations.sweep import sweep
from a2a_serverless.operations.webhooks import create_config
from a2a_serverless.protocol.requests import AuthenticationInfo, TaskPushNotificationConfig
from tests.bench.cloud import CALLER, Cloud, cloud
from tests.bench.ledger import Sent
from tests.bench.local_stack import PATIENCE
from tests.bench.turn import RUNS, SECONDS_EACH, one_artifact
from tests.e2e.fire.records import Arrival, Receiver, Records, receiving

EVENTS_EACH = 3
"""What a task tells that works and delivers one artifact: working, the artifact, completed."""

WAIT_OF_SWEEP = timedelta(minutes=2)


@dataclass(frozen=True)
class Function:
    """What one of the functions asked for to tell so many events, and how long each invocation took."""

    name: str
    events: int
    sent: Sequence[Sent]
    seconds: Sequence[float]

    @property
    def invocations(self) -> float:
        """For each event."""
        return len(self.seconds) / self.events

    @property
    def seconds_each(self) -> float:
        """Of an invocation."""
        return statistics.fmean(self.seconds)


@dataclass(frozen=True)
class Telling:
    """What it took; `registration` of one webhook, `swept` until a task's webhooks were seen to be told."""

    fanout: Function
    push: Function
    bytes_each: float
    registration: Sequence[Sent]
    swept: Sequence[Sent]


@dataclass(frozen=True)
class Later(SystemClock):
    """The time in some minutes."""

    def now(self) -> datetime:
        return super().now() + WAIT_OF_SWEEP


def measure_telling() -> Telling:
    """Send a few messages with a webhook, one after the other, after one that does not count."""
    with ExitStack() as opened:
        records = Records()
        receiver = opened.enter_context(receiving(records))
        there = opened.enter_context(cloud(one_artifact, seconds_each=SECONDS_EACH))
        send(there, receiver, records)
        there.settle()
        there.forget()
        before = len(records.arrivals)
        task_ids = [send(there, receiver, records) for _ in range(RUNS)]
        there.settle()
        arrivals = records.arrivals[before:]
        fanout = Function("fanout", len(arrivals), (*there.fanout.sent,), (*there.fanouts,))
        push = Function("push", len(arrivals), (*there.push.sent,), (*there.pushes,))
        return Telling(
            fanout=fanout,
            push=push,
            bytes_each=statistics.fmean(map(size_of, arrivals)),
            registration=registered(there, receiver, task_ids[0]),
            swept=swept(there),
        )


def send(there: Cloud, receiver: Receiver, records: Records) -> str:
    """Begin a task with a webhook, and wait until it was told everything; the task's id."""
    before = len(records.arrivals)
    task = there.send(webhook=config(receiver))
    there.ended.acquire()
    records.wait_until(lambda arrivals: len(arrivals) >= before + EVENTS_EACH, PATIENCE)
    return task.id


def config(receiver: Receiver, task_id: str | None = None) -> TaskPushNotificationConfig:
    """A webhook with secrets."""
    return TaskPushNotificationConfig(
        task_id=task_id,
        url=receiver.url("/told"),
        token="a-token-of-the-receiver",
        authentication=AuthenticationInfo(scheme="Bearer", credentials="credentials-of-the-receiver"),
    )


def size_of(arrival: Arrival) -> int:
    """Bytes of a request, but for its first line and what TLS adds."""
    return len(arrival.body) + sum(len(name) + len(value) + 4 for name, value in arrival.headers.items())


def registered(there: Cloud, receiver: Receiver, task_id: str) -> Sequence[Sent]:
    """What registering a webhook by the operation asks for."""
    there.forget()
    create_config(there.ports, CALLER, config(receiver, task_id))
    return (*there.api.sent,)


def swept(there: Cloud) -> Sequence[Sent]:
    """What looking at a task asks for, once all of it has been told; the queries are the sweep's own."""
    there.forget()
    looked_at = sweep(replace(there.ports, clock=Later()))
    if looked_at != RUNS + 1:
        raise RuntimeError(f"{looked_at} tasks were swept")
    asked = [each for each in there.api.sent if each.operation != "Query"]
    return asked[: len(asked) // looked_at]
