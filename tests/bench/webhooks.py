"""How late webhooks are told, what each event asks of AWS, and what a million of them cost.

Lateness on the local stack, warm, from the agent's making an artifact to the arrival of its request at a
receiver in another process; the rest from requests that were counted.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace

from infra.local.aws import ROOT
from infra.local.template import read_deployment
from tests.bench.ledger import Sent, tally
from tests.bench.local_stack import PATIENCE, Stack, running
from tests.bench.price import GB, LOG_BYTES_EACH, MILLION, Bill, idle_of_webhooks
from tests.bench.result import Result, percentile
from tests.bench.telling import EVENTS_EACH, Function, Telling, measure_telling
from tests.e2e.fire.records import Arrival, Receiver, Records, receiving


@dataclass(frozen=True)
class _Size:
    """Tasks at the same time, events of each, and seconds between them."""

    tasks: int
    events: int
    pause: float


SIZES = {"at rest": _Size(1, 40, 0.5), "in a burst": _Size(4, 25, 0.0)}

RECEIVER_SECONDS = 0.1
"""Assumed: how long a receiver takes to answer, for which the push function waits."""

TAKEN_OUT = 2
"""Requests by which Lambda takes a batch out of the queue: ReceiveMessage and DeleteMessageBatch."""


def webhooks() -> Iterator[Result]:
    """Print lateness, requests and price."""
    yield from _late()
    telling = measure_telling()
    yield from _asked(telling)
    yield from _priced(telling)
    yield from idle_of_webhooks(Bill("USD a month"))


# --- how late -------------------------------------------------


@dataclass(frozen=True)
class _Ear:
    """A stack, and a receiver that hears of it."""

    stack: Stack
    receiver: Receiver
    records: Records

    def lags(self, name: str, events: int, pause: float) -> Sequence[float]:
        """Have a task tell so many artifacts; milliseconds from the making of each to its arrival."""
        path = f"/{name}"
        message = {"messageId": name, "role": "ROLE_USER", "parts": [{"text": f"tell {events} {pause}"}]}
        configuration = {"taskPushNotificationConfig": {"url": self.receiver.url(path)}}
        connection = self.stack.connection()
        self.stack.call("SendMessage", {"message": message, "configuration": configuration}, connection)
        connection.close()
        self.records.wait_until(lambda arrivals: len(_artifacts(arrivals, path)) >= events, PATIENCE)
        return [(each.at - _made(each)) * 1000 for each in _artifacts(self.records.arrivals, path)]


def _artifacts(arrivals: Sequence[Arrival], path: str) -> list[Arrival]:
    return [each for each in arrivals if each.path == path and "artifactUpdate" in each.payload]


def _made(arrival: Arrival) -> float:
    made: float = arrival.payload["artifactUpdate"]["artifact"]["parts"][0]["data"]
    return made


def _late() -> Iterator[Result]:
    with ExitStack() as opened:
        records = Records()
        receiver = opened.enter_context(receiving(records))
        ear = _Ear(opened.enter_context(running("--loopback-webhooks")), receiver, records)
        for how, size in SIZES.items():
            _lags(ear, "warm", replace(size, events=3, pause=0.0))
            began = time.perf_counter()
            lags = _lags(ear, how.replace(" ", "-"), size)
            took = time.perf_counter() - began
            details = {
                "p99": round(percentile(lags, 99)),
                "events": len(lags),
                "events/s": round(len(lags) / took, 1),
            }
            yield Result(f"artifact until it arrives, {how}, p50", statistics.median(lags), "ms", "", details)


def _lags(ear: _Ear, name: str, size: _Size) -> list[float]:
    with ThreadPoolExecutor(size.tasks) as callers:
        told = [
            callers.submit(ear.lags, f"{name}-{size.tasks}-{number}", size.events, size.pause)
            for number in range(size.tasks)
        ]
        return [lag for each in told for lag in each.result()]


# --- what is asked -------------------------------------------------


def _asked(telling: Telling) -> Iterator[Result]:
    for function in (telling.fanout, telling.push):
        details = {
            "invocations": round(function.invocations, 2),
            "ms each": round(function.seconds_each * 1000),
            "services": _each(function.sent, function.events, lambda each: each.service),
            **_requests(function.sent, function.events),
        }
        asked = len(function.sent) / function.events
        yield Result(f"requests of {function.name}, each event", asked, "requests", "", details)
    for what, sent in (("registering a webhook", telling.registration), ("sweeping its task", telling.swept)):
        yield Result(f"requests of {what}", len(sent), "requests", "", _requests(sent, 1))


def _requests(sent: Sequence[Sent], number: int) -> Mapping[str, Mapping[str, float]]:
    units = {kind: round(_units(sent, kind) / number, 2) for kind in ("write", "read")}
    names = _each(sent, number, lambda each: f"{each.service} {each.name}")
    return {"requests": names, "units": units}


def _each(sent: Sequence[Sent], number: int, by: Callable[[Sent], str]) -> Mapping[str, float]:
    return {name: round(count / number, 2) for name, count in tally(sent, by=by).items()}


def _units(sent: Sequence[Sent], kind: str) -> float:
    units: float = sum(getattr(each.units, kind) for each in sent)
    return units


# --- what it costs -------------------------------------------------


def _priced(telling: Telling) -> Iterator[Result]:
    """The bill of a million events, each told by itself to one webhook of a task that tells three."""
    bill = Bill("USD per million events")
    for function, waits in ((telling.fanout, 0.0), (telling.push, RECEIVER_SECONDS)):
        yield from _function(bill, function, waits)
    asked = [*telling.fanout.sent, *telling.push.sent]
    events = telling.push.events
    for kind in ("write", "read"):
        yield bill.line(f"DynamoDB {kind}s", kind, _units(asked, kind) / events * MILLION)
    sends = sum(each.service == "sqs" for each in asked) / events
    taken = TAKEN_OUT * telling.push.invocations
    yield bill.line("SQS", "sqs", (sends + taken) * MILLION, f"{TAKEN_OUT} a batch by Lambda, assumed")
    opened = sum(each.service == "kms" for each in asked) / events
    yield bill.line("KMS", "kms", opened * MILLION, "once a webhook, process and five minutes")
    yield bill.line("to the Internet", "transfer", telling.bytes_each * MILLION / GB, "without TLS's own")
    yield Result("told, requests and compute", bill.total, bill.unit)
    for what, sent in (("registration", telling.registration), ("sweep", telling.swept)):
        note = f"once a task, which tells {EVENTS_EACH} events"
        for kind in ("write", "read"):
            amount = _units(sent, kind) / EVENTS_EACH * MILLION
            yield bill.line(f"{what}: DynamoDB {kind}s", kind, amount, note)
    sealed = sum(each.service == "kms" for each in telling.registration)
    yield bill.line("registration: KMS", "kms", sealed / EVENTS_EACH * MILLION)
    yield Result("everything", bill.total, bill.unit)


def _function(bill: Bill, function: Function, waits: float) -> Iterator[Result]:
    memory = {each.folder.name: each.memory_mb / 1024 for each in read_deployment(ROOT).functions.values()}
    number, seconds = function.invocations * MILLION, function.seconds_each
    if waits:
        # The receiver of the bench answers at once.
        seconds += waits * function.events / len(function.seconds)
    note = f"{waits:g} s of it assumed to wait for the receiver" if waits else ""
    yield bill.line(f"{function.name}: invocations", "invocation", number)
    yield bill.line(
        f"{function.name}: {seconds:.2f} s each", "gb-second", number * seconds * memory[function.name], note
    )
    yield bill.line(f"{function.name}: logs", "log", number * LOG_BYTES_EACH / GB, "bytes assumed")
