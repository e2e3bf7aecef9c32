"""How long the command takes until it prints help: what whoever types it waits for."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.bench.result import Result

RUNS = 9
TYPED = (("--help",), ("call", "--help"))


def command() -> Iterator[Result]:
    """Print the median of several starts, each in a process of its own, byte-code being there."""
    for arguments in TYPED:
        took = [_timed(*arguments) for _ in range(RUNS + 1)][1:]
        what = f"a2a-serverless {' '.join(arguments)}"
        yield Result(what, statistics.median(took) * 1000, "ms", "<= 500", {"least": round(min(took) * 1000)})


def _timed(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "a2a_serverless.cli", *arguments], stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began
