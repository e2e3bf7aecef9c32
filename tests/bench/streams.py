"""Streams of the local stack as people feel them: how soon they begin, how late they are, many at once.

And what one of them asks of the table in a minute, counted in this process where its requests are sent.
"""

import asyncio
import json
import statistics
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from a2a_serverless.agent import Agent, ArtifactChunk, InputRequired, Part, Turn, Update
from a2a_serverless.operations.streams import subscribe_to_task
from a2a_serverless.protocol.requests import SubscribeToTaskRequest
from tests.bench import agents
from tests.bench.cloud import CALLER, Cloud, cloud
from tests.bench.ledger import Ledger, tally
from tests.bench.local_stack import Stack, running
from tests.bench.result import Result, percentile

TICKS = 100
MANY, TICKS_OF_MANY = 50, 200
BEGINNINGS = 10
MINUTE = 60


@dataclass(frozen=True)
class Seen:
    """One stream as its reader saw it: when it was asked for, and each event with the moment it was there."""

    asked: float
    events: Sequence[tuple[float, Any]]

    def first(self) -> float:
        """Milliseconds to the first event."""
        return (self.events[0][0] - self.asked) * 1000

    def lags(self) -> list[float]:
        """Milliseconds from the agent's making a part to the reader's having it."""
        return [
            (arrived - part["data"]) * 1000
            for arrived, event in self.events
            if "artifactUpdate" in event
            for part in event["artifactUpdate"]["artifact"]["parts"]
        ]


def streams() -> Iterator[Result]:
    """Print time to first event, lag of a stream alone, and of many subscribers of one busy task."""
    with running() as stack:
        _streamed(stack, "tick 1")
        beginnings = [_streamed(stack, "tick 1").first() for _ in range(BEGINNINGS)]
        details = {"p50": round(statistics.median(beginnings)), "samples": BEGINNINGS}
        yield Result("time to first event, p95", percentile(beginnings, 95), "ms", "", details)
        lags = _streamed(stack, f"tick {TICKS}").lags()
        details = {
            "p50": round(statistics.median(lags)),
            "p99": round(percentile(lags, 99)),
            "events": len(lags),
        }
        yield Result("stream lag, p95", percentile(lags, 95), "ms", "<= 150, p50 <= 60", details)
        yield _many(stack)
    with cloud(_ticking) as deployment:
        yield _asked(deployment, "a stream that flows", "tick")
        yield _asked(deployment, "a stream that is idle", "ask")


def _ticking(_: Ledger) -> Agent:
    """Asks a question, or has something new ten times a second for more than a minute."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        if turn.message.parts[0].text == "ask":
            yield InputRequired("What next?")
            return
        for number in range(int(MINUTE / agents.TICK) + 100):
            yield ArtifactChunk("ticks", parts=[Part(data=number)])
            await asyncio.sleep(agents.TICK)

    return agent


def _asked(deployment: Cloud, what: str, text: str) -> Result:
    """How often a stream of a task looks at the table in its first minute."""
    task = deployment.send(text, wait=text == "ask")
    until = deployment.ports.clock.now() + timedelta(seconds=MINUTE)
    deployment.forget()
    frames = subscribe_to_task(deployment.ports, CALLER, SubscribeToTaskRequest(id=task.id), until)
    seen = sum(frame is not None for frame in frames)
    sent = [each for each in deployment.api.sent if each.operation in ("GetItem", "BatchGetItem")]
    details = {
        "events": seen,
        "read units": sum(each.units.read for each in sent),
        "reads": tally(sent, by=lambda each: each.name),
    }
    return Result(f"reads a minute of {what}", len(sent), "requests", "", details)


def _many(stack: Stack) -> Result:
    """Many subscribers of one task: what each has seen, and how late."""
    connection = stack.connection()
    message = {
        "messageId": str(uuid.uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": f"tick {TICKS_OF_MANY}"}],
    }
    params = {"message": message, "configuration": {"returnImmediately": True}}
    task_id = stack.call("SendMessage", params, connection)["task"]["id"]
    connection.close()
    with ThreadPoolExecutor(MANY) as readers:
        seen = list(readers.map(lambda _: _followed(stack, task_id), range(MANY)))
    lags = [lag for each in seen for lag in each.lags()]
    bodies = {json.dumps([event for _, event in each.events[1:]]) for each in seen}
    complete = sum(len(each.lags()) == TICKS_OF_MANY for each in seen)
    details = {
        "complete": complete,
        "different": len(bodies),
        "lag p50, ms": round(statistics.median(lags)),
        "lag p99, ms": round(percentile(lags, 99)),
    }
    return Result(
        f"streams of one task with {TICKS_OF_MANY} parts at once", MANY, "streams", "all alike", details
    )


def _streamed(stack: Stack, text: str) -> Seen:
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
    return _read(stack, "/message:stream", {"message": message})


def _followed(stack: Stack, task_id: str) -> Seen:
    return _read(stack, f"/tasks/{task_id}:subscribe", {}, **{"Last-Event-ID": "1"})


def _read(stack: Stack, path: str, body: Any, **headers: str) -> Seen:
    connection = stack.connection()
    asked = time.time()
    given = {"Content-Type": "application/json", "A2A-Version": "1.0", **headers}
    connection.request("POST", path, json.dumps(body), given)
    lines = ((time.time(), line) for line in connection.getresponse() if line.startswith(b"data: "))
    events = [(arrived, json.loads(line[6:])) for arrived, line in lines]
    connection.close()
    return Seen(asked, events)
