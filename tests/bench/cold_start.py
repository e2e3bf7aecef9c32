"""How long a function takes from being spawned to serving, and what it holds in memory then.

functions/jsonrpc, streaming, beside the same job on a2a-sdk and boto3 (`sdk_function`): by turns in one run,
first under the runtime loop, as on Lambda, then under uvicorn, as in a container. All have their byte-code
from a first start that does not count, as layers bring it.
"""

import contextlib
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infra.local.aws import ROOT, clean_environment, credentials
from infra.local.stack import BOOTSTRAP, LAYERS, lambda_variables
from infra.local.template import read_deployment
from tests.bench.memory import resident_mb
from tests.bench.result import Result

RUNS = 9
PATIENCE = 60
NEXT = b"GET /2018-06-01/runtime/invocation/next "
UP = "Application startup complete"
OURS = ROOT / "functions" / "jsonrpc"
THEIRS = Path(__file__).parent / "sdk_function"


@dataclass(frozen=True)
class Started:
    """One start: until it served, how many seconds passed and how many of them were spent; memory then."""

    seconds: float
    processor_seconds: float
    resident_mb: float


def cold_start() -> Iterator[Result]:
    """Print time, processor time and memory of both under each server, and their ratios."""
    ours, theirs = _variables(OURS), _variables(THEIRS)
    yield from _compared("", lambda: _under_loop(ours), lambda: _under_loop(theirs))
    yield from _compared(
        ", uvicorn",
        lambda: _under_uvicorn("tests.bench.asgi:application", ours),
        lambda: _under_uvicorn("app:application", theirs),
    )


def _compared(where: str, ours: Callable[[], Started], theirs: Callable[[], Started]) -> Iterator[Result]:
    runs = [(ours(), theirs()) for _ in range(RUNS + 1)][1:]
    mine, others = zip(*runs, strict=True)
    yield _result(
        f"spawn to ready{where}", "ms", [[each.seconds * 1000 for each in side] for side in (mine, others)]
    )
    spent = [[each.processor_seconds * 1000 for each in side] for side in (mine, others)]
    yield _result(f"processor time of it{where}", "ms", spent)
    yield _result(
        f"memory when ready{where}", "MB", [[each.resident_mb for each in side] for side in (mine, others)]
    )


def _result(what: str, unit: str, sides: Sequence[Sequence[float]]) -> Result:
    mine, other = map(statistics.median, sides)
    details = {f"a2a-sdk and boto3, {unit}": round(other, 1), "ratio": round(mine / other, 2)}
    return Result(what, mine, unit, "<= 0.5 of a2a-sdk and boto3" if unit == "ms" else "< 90", details)


def _variables(folder: Path) -> Mapping[str, str]:
    """The environment of functions/jsonrpc, with the code of a folder."""
    deployment = read_deployment(ROOT)
    (jsonrpc,) = [each for each in deployment.functions.values() if each.folder.name == "jsonrpc"]
    return {
        **clean_environment(),
        **credentials(),
        **jsonrpc.environment,
        **lambda_variables(replace(jsonrpc, folder=folder)),
        "LOCAL_PRINCIPAL": "local",
        "PYTHONPATH": ":".join(map(str, (*LAYERS, ROOT))),
    }


def _under_loop(variables: Mapping[str, str]) -> Started:
    """Start the runtime loop; it serves when it asks for its first invocation."""
    with socket.create_server(("127.0.0.1", 0)) as platform:
        platform.settimeout(PATIENCE)
        address = f"127.0.0.1:{platform.getsockname()[1]}"

        def ready(_: "subprocess.Popen[str]") -> str:
            connection, _ = platform.accept()
            with connection:
                connection.settimeout(PATIENCE)
                said = connection.recv(65536)
            return "" if said.startswith(NEXT) else said.decode(errors="replace")

        return _start(
            [str(BOOTSTRAP), sys.executable], {**variables, "AWS_LAMBDA_RUNTIME_API": address}, ready
        )


def _under_uvicorn(application: str, variables: Mapping[str, str]) -> Started:
    """Start uvicorn; it serves when it says so."""

    def ready(process: "subprocess.Popen[str]") -> str:
        said = []
        for line in process.stderr or ():
            said.append(line)
            if UP in line:
                return ""
        return "".join(said)

    command = [sys.executable, "-m", "uvicorn", "--port", "0", "--app-dir", ".", application]
    return _start(command, variables, ready)


def _start(
    command: Sequence[str], variables: Mapping[str, str], ready: "Callable[[subprocess.Popen[str]], str]"
) -> Started:
    """Start a process and end it when it is `ready`, which returns why it is not if it never will be."""
    before = _processor_seconds()
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=variables,
        cwd=variables["LAMBDA_TASK_ROOT"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        obstacle = ready(process)
        took = time.perf_counter() - began
        memory = 0.0 if obstacle else resident_mb(process.pid)
    finally:
        process.kill()
        with contextlib.suppress(ValueError):
            process.communicate()
    if obstacle:
        raise RuntimeError(f"{variables['LAMBDA_TASK_ROOT']} did not start: {obstacle}")
    return Started(took, _processor_seconds() - before, memory)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
