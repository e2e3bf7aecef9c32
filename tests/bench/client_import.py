"""How much longer a program takes to begin that imports the client than one that imports httpx alone.

Both are started by turns, with byte-code from a first start that does not count. What counts is processor
time: what else the machine does meanwhile is nobody's fault.
"""

import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from infra.local.aws import ROOT, clean_environment
from tests.bench.result import Result

RUNS = 9
AIM = 150.0


def client_import() -> Iterator[Result]:
    """Print the difference."""
    with TemporaryDirectory() as kept:
        pairs = [(_spent("a2a_serverless.client", kept), _spent("httpx", kept)) for _ in range(RUNS + 1)][1:]
    client, httpx = (statistics.median(side) for side in zip(*pairs, strict=True))
    details = {"client, ms": round(client, 1), "httpx, ms": round(httpx, 1)}
    yield Result("import of the client beyond httpx", client - httpx, "ms", f"< {AIM:g}", details)


def _spent(module: str, kept: str) -> float:
    """Milliseconds of processor time that an interpreter takes to start and import a module.

    Byte-code lies in the folder `kept`, whether or not anybody else keeps some.
    """
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT / "layers" / "core")}
    environment["PYTHONPYCACHEPREFIX"] = kept
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        cwd=ROOT,
        env=environment,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1000
