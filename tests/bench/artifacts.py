"""Large artifacts through the whole deployment: how long it takes, and how much memory it ever takes.

Peaks are what the kernel remembers of each process (`VmHWM`): its largest resident size since it began.
"""

import contextlib
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.bench.local_stack import PATIENCE, Stack, running
from tests.bench.memory import peak_mb
from tests.bench.result import Result
from tests.e2e.stack import descendants

MB = 1024 * 1024
VERSION = {"A2A-Version": "1.0"}
FUNCTIONS = ("turn", "jsonrpc", "http-json")
CHUNKS = 200
TEXT = 20 * MB


def artifacts() -> Iterator[Result]:
    """Print how a large file, many large chunks and a long text go through."""
    with running() as stack:
        yield from _file(stack, 200, "by a link")
    with running("--parameter", "ContentLinks=never") as stack:
        # Lambda streams no more than 200 million bytes in one answer.
        yield from _file(stack, 190, "through the API")
    with running() as stack:
        yield from _chunks(stack)
    with running() as stack:
        yield from _text(stack)


def _file(stack: Stack, megabytes: int, way: str) -> Iterator[Result]:
    """A file from the agent to the client: by a link to S3, or through the API's function."""
    connection = stack.connection()
    stack.send("echo", connection)
    httpx.get(f"{stack.url}/tasks/none", headers=VERSION)
    before = _peaks(stack)
    began = time.perf_counter()
    task = stack.send(f"pack {megabytes}", connection)
    took = time.perf_counter() - began
    [part] = task["artifacts"][0]["parts"]
    yield Result(f"{megabytes} MB file, turn", took, "s", "", {"MB/s": round(megabytes / took)})
    fetched = _fetch(part["url"], part["metadata"]["sha256"])
    yield Result(f"fetched {way}", fetched, "s", "", {"MB/s": round(megabytes / fetched)})
    began = time.perf_counter()
    stack.call("GetTask", {"id": task["id"]}, connection)
    yield Result("GetTask of it", (time.perf_counter() - began) * 1000, "ms")
    yield from _memory(stack, before, f"{megabytes} MB file, fetched {way}")
    connection.close()


def _chunks(stack: Stack) -> Iterator[Result]:
    """Parts of a megabyte each."""
    connection = stack.connection()
    stack.send("echo", connection)
    before = _peaks(stack)
    began = time.perf_counter()
    task = stack.send(f"shovel {CHUNKS}", connection)
    took = time.perf_counter() - began
    shown = len(task["artifacts"][0]["parts"])
    yield Result(f"{CHUNKS} chunks of 1 MB, turn", took, "s", "", {"parts": shown})
    yield from _memory(stack, before, f"{CHUNKS} chunks")
    connection.close()


def _text(stack: Stack) -> Iterator[Result]:
    """20 MB of text, a kilobyte at a time."""
    connection = stack.connection()
    stack.send("echo", connection)
    before = _peaks(stack)
    began = time.perf_counter()
    task = stack.send(f"write {TEXT // 1024}", connection)
    took = time.perf_counter() - began
    [part] = task["artifacts"][0]["parts"]
    yield Result("20 MB of streamed text, turn", took, "s", "", {"size": part["metadata"]["byteSize"]})
    began = time.perf_counter()
    stack.call("GetTask", {"id": task["id"]}, connection)
    yield Result("GetTask of it", (time.perf_counter() - began) * 1000, "ms")
    yield from _memory(stack, before, "20 MB of text")
    connection.close()


def _fetch(url: str, digest: str) -> float:
    """Seconds that fetching it takes; what came is what was made."""
    began, found = time.perf_counter(), hashlib.sha256()
    with httpx.stream("GET", url, follow_redirects=True, timeout=PATIENCE) as answer:
        for piece in answer.iter_bytes(MB):
            found.update(piece)
    if found.hexdigest() != digest:
        raise RuntimeError("other bytes came back")
    return time.perf_counter() - began


def _memory(stack: Stack, before: dict[str, float], of: str) -> Iterator[Result]:
    """The largest process of each function, by what it ever held."""
    for function, peak in _peaks(stack).items():
        known = {"before": round(before[function], 1)} if function in before else {}
        yield Result(f"{of}: peak memory of {function}", peak, "MB", "< 150", known)


def _peaks(stack: Stack) -> dict[str, float]:
    peaks: dict[str, float] = {}
    for pid in descendants(stack.process.pid):
        # A process may end while it is looked at.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            said = Path(f"/proc/{pid}/environ").read_bytes()
            for function in FUNCTIONS:
                if f"AWS_LAMBDA_FUNCTION_NAME=a2a-local-{function}\0".encode() in said:
                    peaks[function] = max(peaks.get(function, 0.0), peak_mb(pid))
    return peaks
