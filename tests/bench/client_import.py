"""How much longer a program takes to begin that imports the client than one that imports httpx alone.

All are started by turns, with byte-code from a first start that does not count. What counts is processor
time: what else the machine does meanwhile is nobody's fault. Three programs: one that imports the package,
one that names what most programs name, and one that has everything a first call needs, which a program pays
for when it makes one.
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
AIM = "< 150"
ALONE = "import httpx"
PROGRAMS = (
    ("import of the client beyond httpx", "import httpx, a2a_serverless.client", AIM),
    (
        "the names that most programs use, beyond httpx",
        "from a2a_serverless.client import Bearer, ClientError, Options, connect",
        AIM,
    ),
    (
        "what a first call loads, beyond httpx",
        "from a2a_serverless.client import Client, connect, discover",
        "",
    ),
)


def client_import() -> Iterator[Result]:
    """Print the difference that each program makes."""
    with TemporaryDirectory() as kept:
        programs = [ALONE, *(program for _, program, _ in PROGRAMS)]
        rounds = [[_spent(program, kept) for program in programs] for _ in range(RUNS + 1)][1:]
    httpx, *others = (statistics.median(each) for each in zip(*rounds, strict=True))
    for (name, program, aim), spent in zip(PROGRAMS, others, strict=True):
        details = {"program": program, "it, ms": round(spent, 1), "httpx, ms": round(httpx, 1)}
        yield Result(name, spent - httpx, "ms", aim, details)


def _spent(program: str, kept: str) -> float:
    """Milliseconds of processor time that an interpreter takes to start and run a program.

    Byte-code lies in the folder `kept`, whether or not anybody else keeps some.
    """
    environment = {**clean_environment(), "PYTHONPATH": str(ROOT / "layers" / "core")}
    environment["PYTHONPYCACHEPREFIX"] = kept
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent * 1000
