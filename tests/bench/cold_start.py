"""How long a function takes from being spawned to asking for its first invocation.

functions/jsonrpc beside the same job on a2a-sdk and boto3 (`sdk_function`), in the same run, on the same
runtime loop, by turns. Both have their byte-code from a first start that does not count, as layers bring it.
"""

import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from infra.local.aws import ROOT, clean_environment, credentials
from infra.local.stack import BOOTSTRAP, LAYERS, lambda_variables
from infra.local.template import read_deployment
from tests.bench.result import Result

RUNS = 9
PATIENCE = 60
NEXT = b"GET /2018-06-01/runtime/invocation/next "
SDK_FUNCTION = Path(__file__).parent / "sdk_function"


def cold_start() -> Iterator[Result]:
    """Print wall clock and processor time of both, and their ratios."""
    ours = _variables(ROOT / "functions" / "jsonrpc")
    theirs = _variables(SDK_FUNCTION)
    started: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for _ in range(RUNS + 1):
        started["ours"].append(_start(ours))
        started["theirs"].append(_start(theirs))
    for what, index in (("spawn to ready", 0), ("processor time of it", 1)):
        mine, other = (
            statistics.median(run[index] for run in started[side][1:]) for side in ("ours", "theirs")
        )
        details = {"a2a-sdk and boto3, ms": round(other * 1000), "ratio": round(mine / other, 2)}
        yield Result(what, mine * 1000, "ms", "<= 0.5 of a2a-sdk and boto3", details)


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


def _start(variables: Mapping[str, str]) -> tuple[float, float]:
    """Seconds until ready, and processor seconds until then."""
    before = _processor_seconds()
    with socket.create_server(("127.0.0.1", 0)) as platform:
        platform.settimeout(PATIENCE)
        address = f"127.0.0.1:{platform.getsockname()[1]}"
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(BOOTSTRAP), sys.executable],
            env={**variables, "AWS_LAMBDA_RUNTIME_API": address},
            cwd=variables["LAMBDA_TASK_ROOT"],
            stdout=subprocess.DEVNULL,
        )
        try:
            connection, _ = platform.accept()
            with connection:
                connection.settimeout(PATIENCE)
                said = connection.recv(65536)
                took = time.perf_counter() - began
        finally:
            process.kill()
            process.wait()
    if not said.startswith(NEXT):
        raise RuntimeError(f"{variables['LAMBDA_TASK_ROOT']} did not start: {said.decode(errors='replace')}")
    return took, _processor_seconds() - before


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
