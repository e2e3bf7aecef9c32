"""Requests of GetTask and ListTasks, however much happened in a task and however many there are."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

from a2a_serverless.agent import Agent, ArtifactChunk, Part, Turn, Update
from a2a_serverless.operations.heads import head_of
from a2a_serverless.operations.read import get_task as ask_for_task
from a2a_serverless.operations.read import list_tasks as ask_for_tasks
from a2a_serverless.protocol.objects import Message, Role, TaskState
from a2a_serverless.protocol.requests import GetTaskRequest, ListTasksRequest
from a2a_serverless.tasks.content import LoggedStatus, logged, logged_message
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import LoggedEvent, MessageReceived, TurnSettled, TurnStarted
from tests.bench.cloud import CALLER, Cloud, cloud
from tests.bench.ledger import Ledger, tally
from tests.bench.result import Result

CHUNKS = (10, 10_000)
TASKS = (100, 1_200)
"""The second is over the number at which totals stop being exact."""

PAGE = 50


def get_task() -> Iterator[Result]:
    """GetTask of finished and of running tasks with few and with many chunks."""
    settle = threading.Event()

    def chunks(_: Ledger) -> Agent:
        async def agent(turn: Turn) -> AsyncIterator[Update]:
            count, _, then = (turn.message.parts[0].text or "").partition(" ")
            for number in range(int(count)):
                yield ArtifactChunk("report", parts=[Part(text=f"chunk {number}")])
            if then == "wait":
                await asyncio.to_thread(settle.wait)

        return agent

    with cloud(chunks) as running:
        for count in CHUNKS:
            task = running.send(str(count), wait=False)
            running.ended.acquire()
            yield _asked(running, task.id, f"finished task of {count} chunks", "2 (3 with S3)", count)
        for count in (CHUNKS[0], 1_000):
            settle.clear()
            task = running.send(f"{count} wait", wait=False)
            _wait_for_chunks(running, task.id, count)
            yield _asked(running, task.id, f"running task of {count} chunks", "", count)
            settle.set()
            running.ended.acquire()


def _asked(running: Cloud, task_id: str, what: str, aim: str, count: int) -> Result:
    running.forget()
    began = time.perf_counter()
    task = ask_for_task(running.ports, CALLER, GetTaskRequest(id=task_id))
    took = time.perf_counter() - began
    if [len(artifact.parts) for artifact in task.artifacts] != [count]:
        raise RuntimeError(f"{task_id} shows {[len(artifact.parts) for artifact in task.artifacts]}")
    sent = running.api.sent
    details = {
        "requests": tally(sent, by=lambda each: each.name),
        "read units": sum(each.units.read for each in sent),
        "ms": round(took * 1000, 1),
    }
    return Result(what, len(sent), "requests", aim, details)


def _wait_for_chunks(running: Cloud, task_id: str, count: int) -> None:
    """Wait until so many chunks are in the log."""
    key = CALLER.task(task_id)
    position = count + 2
    while not running.ports.tasks.events_after(key, position - 1, 1):
        time.sleep(0.05)


def list_tasks() -> Iterator[Result]:
    """The first page and the one after it, with few tasks and with many."""

    def none(_: Ledger) -> Agent:
        raise NotImplementedError("no turn runs here")

    with cloud(none) as running:
        stored = 0
        for count in TASKS:
            for number in range(stored, count):
                _store(running, number)
            stored = count
            first = ListTasksRequest(page_size=PAGE)
            result, token = _listed(running, first, f"first page of {count} tasks", count)
            yield result
            following = ListTasksRequest(page_size=PAGE, page_token=token)
            yield _listed(running, following, f"second page of {count} tasks", count)[0]
    yield Result(
        "pages of 100,000 tasks",
        None,
        "requests",
        "as at 100",
        {"note": "not measured: a query of the emulator takes time in proportion to the whole table"},
    )


def _listed(running: Cloud, request: ListTasksRequest, what: str, count: int) -> tuple[Result, str]:
    running.forget()
    began = time.perf_counter()
    page = ask_for_tasks(running.ports, CALLER, request)
    took = time.perf_counter() - began
    if len(page.tasks) != PAGE or page.total_size != min(count, 1000):
        raise RuntimeError(f"a page of {len(page.tasks)} of {page.total_size}")
    sent = running.api.sent
    details = {
        "requests": tally(sent, by=lambda each: each.name),
        "read units": sum(each.units.read for each in sent),
        "ms": round(took * 1000, 1),
    }
    return Result(what, len(sent), "requests", "as at 100", details), page.next_page_token


def _store(running: Cloud, number: int) -> None:
    """A finished task as its turn leaves it: three events and a head."""
    ports = running.ports
    key = CALLER.task(ports.identifiers.new())
    context_id, writer = ports.identifiers.new(), ports.identifiers.new()
    at = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=number)
    expires = int((ports.clock.now() + timedelta(days=30)).timestamp())
    message = Message(
        message_id=f"m-{number}", role=Role.USER, parts=(Part(text="go"),), task_id=key.task_id,
        context_id=context_id,
    )  # fmt: skip
    entries = (
        MessageReceived(
            message=logged_message(message, tuple(map(logged, message.parts))),
            context_id=context_id,
            received_at=at,
        ),
        TurnStarted(turn=1, segment=1, status=LoggedStatus(state=TaskState.WORKING, timestamp=at)),
        TurnSettled(turn=1, status=LoggedStatus(state=TaskState.COMPLETED, timestamp=at)),
    )
    events = [LoggedEvent(position, writer, expires, entry) for position, entry in enumerate(entries, 1)]
    for event in events:
        ports.tasks.append(key, event)
    ports.tasks.write_head(key, head_of(ports.policy, fold(LoggedTask(task_id=key.task_id), events)))
