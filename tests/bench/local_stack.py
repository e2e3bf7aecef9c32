"""The local stack as people feel it: how soon it is there, how much it bears, how late its answers are."""

import contextlib
import http.client
import json
import random
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.aws import ROOT
from tests.bench.memory import resident_mb
from tests.bench.result import Result, percentile
from tests.e2e.stack import descendants

PATIENCE = 120
STARTS = 3
CLIENTS = 8
TURNS_EACH = 10
SAMPLES = 30
SHORTEST, LONGEST = 0.3, 2.0
READS = 300


@dataclass(frozen=True)
class Stack:
    """A running stack."""

    process: "subprocess.Popen[str]"
    port: int
    seconds_to_ready: float

    def call(self, method: str, params: Mapping[str, Any], connection: http.client.HTTPConnection) -> Any:
        """One JSON-RPC request over a connection that is kept."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        connection.request("POST", "/", body, headers)
        answer = json.loads(connection.getresponse().read())
        if "result" not in answer:
            raise RuntimeError(answer)
        return answer["result"]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def connection(self) -> http.client.HTTPConnection:
        """A connection of one client."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def send(self, text: str, connection: http.client.HTTPConnection) -> Any:
        """A blocking SendMessage; the task."""
        message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        task = self.call("SendMessage", {"message": message}, connection)["task"]
        if task["status"]["state"] != "TASK_STATE_COMPLETED":
            raise RuntimeError(task)
        return task


def local() -> Iterator[Result]:
    """Print times to ready, turns a second, how late answers are, and memory."""
    ready = []
    for _ in range(STARTS - 1):
        with running() as stack:
            ready.append(stack.seconds_to_ready)
    with running() as stack:
        ready.append(stack.seconds_to_ready)
        yield Result("time to ready", statistics.median(ready), "s", "<= 5", {"starts": _rounded(ready)})
        at_rest = _largest_mb(stack, "jsonrpc")
        yield from _late(stack)
        yield from _loaded(stack)
        yield from _memory(stack, at_rest)


def _loaded(stack: Stack) -> Iterator[Result]:
    """Blocking echo turns of several clients, once all their processes run."""
    _echo(stack, 2)
    took, each = _echo(stack, TURNS_EACH)
    details = {"clients": CLIENTS, "turn p50, ms": round(statistics.median(each) * 1000),
               "turn p95, ms": round(percentile(each, 95) * 1000)}  # fmt: skip
    yield Result("blocking echo turns", CLIENTS * TURNS_EACH / took, "turns/s", ">= 8", details)


def _echo(stack: Stack, turns: int) -> tuple[float, Sequence[float]]:
    def client(_: int) -> list[float]:
        connection = stack.connection()
        times = []
        for _ in range(turns):
            began = time.perf_counter()
            stack.send("echo", connection)
            times.append(time.perf_counter() - began)
        connection.close()
        return times

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        each = [seconds for times in clients.map(client, range(CLIENTS)) for seconds in times]
    return time.perf_counter() - began, each


def _late(stack: Stack) -> Iterator[Result]:
    """How long after its agent's end a caller has the answer, and what a turn adds to the agent's time."""
    chance = random.Random(1)  # noqa: S311 - spreads the agent's times
    late, added = [], []
    connection = stack.connection()
    stack.send("take 0", connection)
    for _ in range(SAMPLES):
        asked = time.time()
        task = stack.send(f"take {chance.uniform(SHORTEST, LONGEST):.3f}", connection)
        answered = time.time()
        times = task["artifacts"][0]["parts"][0]["data"]
        late.append((answered - times["ended"]) * 1000)
        added.append((answered - asked - (times["ended"] - times["began"])) * 1000)
    connection.close()
    details = {"p50": round(statistics.median(late)), "samples": SAMPLES}
    yield Result("answer after the agent's end, p95", percentile(late, 95), "ms", "<= 150", details)
    details = {"p50": round(statistics.median(added)), "samples": SAMPLES}
    yield Result("whole turn over the agent's own time, p95", percentile(added, 95), "ms", "", details)


def _memory(stack: Stack, at_rest: float) -> Iterator[Result]:
    connection = stack.connection()
    task = stack.send("echo", connection)
    after_load = _largest_mb(stack, "jsonrpc")
    for _ in range(READS):
        stack.call("GetTask", {"id": task["id"]}, connection)
    connection.close()
    details = {
        "after the turns above": round(after_load, 1),
        f"after {READS} GetTask": round(_largest_mb(stack, "jsonrpc"), 1),
    }
    yield Result("memory of jsonrpc at rest", at_rest, "MB", "< 90, flat", details)


def _largest_mb(stack: Stack, function: str) -> float:
    """Resident memory of the largest of a function's processes (proc(5))."""
    named = f"AWS_LAMBDA_FUNCTION_NAME=a2a-local-{function}\0".encode()
    found = []
    for pid in descendants(stack.process.pid):
        # A process may end while it is looked at.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if named in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(resident_mb(pid))
    return max(found)


@contextmanager
def running(*arguments: str) -> Iterator[Stack]:
    began = time.perf_counter()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "infra.local",
            "--port",
            "0",
            "--quiet",
            "--agent",
            "tests.bench.agents:agent",
            *arguments,
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        first = process.stdout.readline() if process.stdout else ""
        took = time.perf_counter() - began
        if not first.startswith("ready "):
            raise RuntimeError(f"the local stack did not start: {first}")
        # What it goes on to say must not fill the pipe.
        threading.Thread(target=process.communicate, daemon=True).start()
        yield Stack(process, int(first.rpartition(":")[2]), took)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 2) for value in values]
