"""Nothing that must be fresh is taken at a function's start: a snapshot would hand it to all its copies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.infra.declared import ROOT

WATCH = """
import os, random, secrets, sys, time, traceback, uuid

OURS = ("/layers/core/", "/layers/agents/", "/functions/")
taken = []

def watched(owner, name):
    original = getattr(owner, name)
    def call(*arguments, **named):
        frames = traceback.extract_stack()[:-1]
        # The nearest frame outside the standard library says who wanted it.
        caller = next((each for each in reversed(frames) if "/lib/python" not in each.filename), None)
        if caller and any(part in caller.filename for part in OURS):
            taken.append(f"{name} at {caller.filename}:{caller.lineno}")
        return original(*arguments, **named)
    setattr(owner, name, call)

for owner, names in {
    os: ("urandom",),
    random: ("random", "randint", "choice", "getrandbits", "seed", "uniform"),
    secrets: ("token_bytes", "token_hex", "token_urlsafe", "randbelow", "choice"),
    time: ("time", "time_ns", "monotonic", "monotonic_ns"),
    uuid: ("uuid1", "uuid4"),
}.items():
    for name in names:
        watched(owner, name)

import app
print("\\n".join(taken), end="")
"""

ENVIRONMENT = {
    "AGENT": "a2a_agents.fulfilment:agent",
    "ANONYMOUS": "allowed",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_SECRET_ACCESS_KEY": "none",
    "CONTENT_BUCKET": "bucket",
    "STREAMING": "on",
    "TASKS_TABLE": "table",
    "TURN_STATE_MACHINE_ARN": "arn",
}


def started(folder: Path, program: str) -> str:
    path = ":".join(map(str, (ROOT / "layers" / "core", ROOT / "layers" / "agents", folder)))
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env={**ENVIRONMENT, "PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout


@pytest.mark.parametrize("function", ["card", "http_json", "jsonrpc"])
def test_a_function_takes_no_id_no_time_and_no_random_number_when_it_starts(function: str) -> None:
    assert started(ROOT / "functions" / function, WATCH) == ""


def test_a_function_that_did_would_be_found_out(tmp_path: Path) -> None:
    folder = tmp_path / "functions" / "faulty"
    folder.mkdir(parents=True)
    (folder / "app.py").write_text("import time, uuid\nID = uuid.uuid4()\nAT = time.time()\n", "utf-8")

    found = {line.partition(" ")[0] for line in started(folder, WATCH).splitlines()}

    assert found == {"uuid4", "time"}
