"""A deployment that is sent thousands of requests which are almost right, and what is left of it."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import botocore.session

from tests.e2e.attackers import Forger, access_document, exchange, request
from tests.e2e.fuzz.judging import Exchange, faults
from tests.e2e.fuzz.reading import exchanged
from tests.e2e.fuzz.requests import Known
from tests.e2e.fuzz.requests import request as odd_request
from tests.e2e.receiver import receiving
from tests.e2e.stack import LocalStack, running

AGENT = ("--agent", "tests.conformance.agent:agent")
ALICE, BOB = "Bearer alice-token", "Bearer bob-token"
SECRETS = {
    "token": b"a-token-that-nobody-sees",
    "credentials": b"credentials-that-nobody-sees",
    "words": b"words-that-only-bob-knows",
    "shared": b"a secret that two share",
}
"""What is planted in the deployment and never to be seen again."""

RUNNING = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
OVERDUE = timedelta(minutes=2)
"""What was due so long ago the sweep, once a minute, has overlooked twice."""

QUIET_SECONDS = 120
"""In which everything that was begun must have come to an end."""

FAULTY_LINE = ('"level":"ERROR"', '"level":"CRITICAL"', "Traceback", "Task timed out", "Runtime exited")


@dataclass
class Outcome:
    """What came of it."""

    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    late: int = 0
    tasks: int = 0
    lasted: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, one: Exchange) -> None:
        """Count an exchange and judge it."""
        wrong = [f"{fault}: {one}" for fault in faults(one, SECRETS)]
        with self._lock:
            self.statuses[str(one.answer.status) if one.answer else "none"] += 1
            self.kinds[one.sent.name] += 1
            self.seconds.append(one.seconds)
            self.faults += wrong

    def add_all(self, other: "Outcome") -> None:
        """Count what another deployment answered as well."""
        self.statuses += other.statuses
        self.kinds += other.kinds
        self.seconds += other.seconds
        self.faults += other.faults
        self.late += other.late
        self.tasks += other.tasks
        self.lasted += other.lasted

    def add_again(self, one: Exchange, patience: float) -> None:
        """Judge the second attempt at what took too long: a busy machine is late once and no more."""
        with self._lock:
            self.late += 1
            if one.seconds > patience:
                self.faults.append(f"hung for {one.seconds:.1f} s: {one}")


@dataclass(frozen=True)
class Storm:
    """How many requests, chosen by which seed and from which number on, from how many clients at once.

    After `patience` seconds without a status, twice, a request counts as hanging.
    """

    requests: int
    seed: int = 1
    first: int = 0
    clients: int = 4
    patience: float = 5.0


def rage(storm: Storm, folder: Path) -> Outcome:
    """Send them all, and look at what is left."""
    document = folder / "access.json"
    document.write_text(json.dumps(access_document(Forger())))
    outcome = Outcome()
    with (
        receiving() as receiver,
        running(folder, "--credentials", str(document), "--loopback-webhooks", *AGENT) as stack,
    ):
        known = prepared(stack, receiver.url("/hook"))
        before = [fetched(stack, BOB, f"/tasks/{task}") for task in known.foreign]
        began = time.monotonic()

        def send(number: int) -> None:
            odd = odd_request(storm.seed, number, known)
            one = exchanged(stack.url, number, odd)
            outcome.add(one)
            if one.seconds > storm.patience:
                outcome.add_again(exchanged(stack.url, number, odd), storm.patience)

        with ThreadPoolExecutor(storm.clients) as clients:
            list(clients.map(send, range(storm.first, storm.first + storm.requests)))
        outcome.lasted = time.monotonic() - began
        if [fetched(stack, BOB, f"/tasks/{task}") for task in known.foreign] != before:
            outcome.faults.append("the tasks of somebody else were changed")
        outcome.faults += aftermath(stack)
        outcome.tasks = fetched(stack, ALICE, "/tasks")["totalSize"]
    logs = [log for log in folder.glob("*.log") if log.stem != "turn"]
    outcome.faults += [f"{log.stem} logged {line[:400]}" for log in logs for line in faulty_lines(log)]
    return outcome


# --- a client that does nothing odd ------------------------------------------------


def fetched(stack: LocalStack, who: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """The JSON at an address, or what is answered to a body."""
    headers = (f"Authorization: {who}", "A2A-Version: 1.0", "Content-Type: application/json")
    verb, given = ("POST", json.dumps(body).encode()) if body is not None else ("GET", b"")
    (answer,) = exchange(stack.url, request(verb, path, *headers, body=given))
    if answer.status != 200:
        raise RuntimeError(f"{verb} {path}: {answer}")
    return json.loads(answer.body)


def asked(text: str, **fields: Any) -> dict[str, Any]:
    """A message that says it."""
    return {
        "message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]},
        "configuration": fields,
    }


def prepared(stack: LocalStack, receiver: str) -> Known:
    """A few tasks of two people, some with webhooks that have secrets."""
    hook = {
        "id": "hook",
        "url": receiver,
        "token": SECRETS["token"].decode(),
        "authentication": {"scheme": "Bearer", "credentials": SECRETS["credentials"].decode()},
    }
    mine = [
        fetched(stack, ALICE, "/message:send", asked(text, taskPushNotificationConfig=hook))["task"]
        for text in ("tck-input-required", "tck-artifact-text", "tck-artifact-file", "tck-input-required")
    ]
    his = [
        fetched(stack, BOB, "/message:send", asked(f"{text} {SECRETS['words'].decode()}"))["task"]
        for text in ("tck-input-required", "tck-artifact-text")
    ]
    return Known(
        tasks=[task["id"] for task in mine],
        foreign=[task["id"] for task in his],
        contexts=[task["contextId"] for task in (*mine, *his)],
        receiver=receiver,
        credential=ALICE,
    )


# --- what is left ------------------------------------------------


def aftermath(stack: LocalStack) -> Iterator[str]:
    """What a deployment that has seen it all should not be like."""
    for path in ("/health", "/.well-known/agent-card.json"):
        fetched(stack, ALICE, path)
    for who in (ALICE, BOB):
        task = fetched(stack, who, "/message:send", asked("tck-complete-task"))["task"]
        if task["status"]["state"] != "TASK_STATE_COMPLETED":
            yield f"a plain task ends as {task['status']['state']}"
        fetched(
            stack, who, "/", {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task["id"]}}
        )
    until = time.monotonic() + QUIET_SECONDS
    never = threading.Event()
    while (left := unfinished(stack)) and time.monotonic() < until:
        never.wait(1)
    yield from (f"left over: {each}" for each in left)


def unfinished(stack: LocalStack) -> list[str]:
    """Items of the table that somebody should have finished: messages, turns, and what is long overdue.

    Due in future is a task with a webhook, or one that was looked after a moment ago, as it should be.
    """
    session = botocore.session.get_session()
    session.set_credentials("local", "local")
    client: Any = session.create_client("dynamodb", region_name="us-east-1", endpoint_url=stack.aws)
    (table,) = client.list_tables()["TableNames"]
    found = []
    for page in client.get_paginator("scan").paginate(
        TableName=table, FilterExpression="attribute_exists(due_shard)"
    ):
        for item in page["Items"]:
            state = item.get("state", {}).get("S", "")
            overdue = datetime.now(UTC) - datetime.fromisoformat(item["due_at"]["S"]) > OVERDUE
            dead = item["due_shard"]["S"].startswith("DEAD#")
            if item["sk"]["S"] == "ADMISSION" or state in RUNNING or (overdue and not dead):
                found.append(f"{item['pk']['S']} {item['sk']['S']} {state} due {item['due_at']['S']}")
    client.close()
    return found


def faulty_lines(log: Path) -> list[str]:
    """What a function has logged that says of a fault."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if any(mark in line for mark in FAULTY_LINE)]
