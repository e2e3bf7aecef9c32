"""Requests of a blocking SendMessage whose agent works two seconds and delivers one artifact."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from a2a_serverless.agent import Agent, ArtifactChunk, Turn, Update
from a2a_serverless.protocol.objects import TaskState
from tests.bench.cloud import Cloud, cloud
from tests.bench.ledger import Ledger, Sent, by_phase, tally
from tests.bench.result import Result

AGENT_SECONDS = 2.0
RECORDING_SECONDS = 0.1
"""Of the agent's time, what it lies idle after its artifact, so that phases do not overlap."""

SECONDS_EACH = 0.005
"""What a request to DynamoDB from Lambda takes, about."""

RUNS = 3


@dataclass(frozen=True)
class Measured:
    """Several such turns: what each side sent, how long it took, what the machine did.

    The tasks have no webhooks, which the fanout has to find out.
    """

    api: tuple[Sent, ...]
    turn: tuple[Sent, ...]
    api_seconds: float
    turn_seconds: float
    transitions: float
    fanout: tuple[Sent, ...]
    fanouts: float
    fanout_seconds: float
    stored_bytes: float
    metrics: frozenset[tuple[str, tuple[tuple[str, str], ...]]]


def one_artifact(ledger: Ledger) -> Agent:
    """Works for two seconds, then delivers."""

    async def agent(_: Turn) -> AsyncIterator[Update]:
        ledger.enter("record")
        await asyncio.sleep(AGENT_SECONDS - RECORDING_SECONDS)
        yield ArtifactChunk("report", "All is well. " * 20, last_chunk=True)
        await asyncio.sleep(RECORDING_SECONDS)
        ledger.enter("settle")

    return agent


def measure(running: Cloud) -> Measured:
    """Send a few messages, one after the other, after one that does not count."""
    run(running)
    running.settle()
    running.forget()
    running.table.items.clear()
    api_seconds, transitions = 0.0, 0
    for _ in range(RUNS):
        seconds, entered = run(running)
        api_seconds += seconds
        transitions += entered
    running.settle()
    counted = (running.ports.metrics, running.turn_ports.metrics)
    return Measured(
        api=tuple(running.api.sent),
        turn=tuple(running.turn.sent),
        api_seconds=api_seconds / RUNS,
        turn_seconds=sum(running.turns) / RUNS,
        transitions=transitions / RUNS,
        fanout=tuple(running.fanout.sent),
        fanouts=len(running.fanouts) / RUNS,
        fanout_seconds=sum(running.fanouts) / RUNS,
        stored_bytes=running.table.stored_bytes() / RUNS,
        metrics=frozenset(key for metrics in counted for key in getattr(metrics, "detailed", ())),
    )


def run(running: Cloud) -> tuple[float, int]:
    """One such turn: how long the answer took, and how many transitions are billed."""
    began = time.perf_counter()
    task = running.send()
    seconds = time.perf_counter() - began
    if task.status.state is not TaskState.COMPLETED or len(task.artifacts) != 1:
        raise RuntimeError(f"the turn ended as {task.status}")
    running.ended.acquire()
    events = running.history(task)
    entered = sum(event["type"].endswith("StateEntered") for event in events)
    tries = sum(event["type"] in ("TaskScheduled", "LambdaFunctionScheduled") for event in events)
    return seconds, max(entered, tries)


def turn() -> Iterator[Result]:
    """Print the requests by operation, phase by phase."""
    with cloud(one_artifact, seconds_each=SECONDS_EACH) as running:
        measured = measure(running)
    everything = [*measured.api, *measured.turn]
    tail = [each for each in measured.api if each.phase == "tail"]
    steady = [each for each in everything if each.phase != "tail"]
    dynamodb = [each for each in steady if each.service == "dynamodb"]
    details = {phase: _each(counted) for phase, counted in by_phase(dynamodb).items()}
    yield Result("DynamoDB without the tail", len(dynamodb) / RUNS, "requests", "<= 12", {"phases": details})
    for service, operation, aim in (
        ("stepfunctions", "StartExecution", "1"),
        ("s3", "PutObject", "0"),
        ("s3", "GetObject", "0"),
    ):
        found = [each for each in steady if (each.service, each.operation) == (service, operation)]
        yield Result(operation, len(found) / RUNS, "requests", aim)
    yield Result("state transitions", measured.transitions, "transitions", "1")
    reads = tally(tail, by=lambda each: each.name)
    yield Result("tail", len(tail) / RUNS, "requests", "<= 10", {"reads": _each(reads)})
    late = measured.api_seconds - AGENT_SECONDS
    yield Result("answer later than the agent's own time", late * 1000, "ms", "", {"each request ms": 5})
    units = {
        side: {
            "write": sum(each.units.write for each in sent) / RUNS,
            "read": sum(each.units.read for each in sent) / RUNS,
        }
        for side, sent in (("without the tail", steady), ("tail", tail))
    }
    total = sum(each["write"] for each in units.values())
    yield Result("DynamoDB write units, indexes included", total, "units", "", {"units": units})


def _each(counted: dict[str, int]) -> dict[str, float]:
    return {name: number / RUNS for name, number in counted.items()}
