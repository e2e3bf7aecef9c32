"""Processes that are copies of one that has loaded the handler: quick to make, else like any other."""

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infra.local.aws import ROOT, clean_environment
from infra.local.console import Console
from infra.local.deployment import Function
from infra.local.environments import ProcessEnvironment
from infra.local.function_logs import FunctionLog
from infra.local.invocations import Invocation
from infra.local.launching import Copying, Starting
from infra.local.pool import FunctionPool
from infra.local.stack import LAYERS, ancestry, lambda_variables, original
from tests.integration.local.conftest import PATIENCE, LauncherOf, Lines, PoolOf
from tests.integration.local.handlers import write

NOBODY = Starting(("/bin/false",), {}, Path("/"))
"""What starts nothing: whoever is not copied is not there."""

TELLING = """
import json, os, pathlib, random, signal, sys, uuid

LOADED = os.getpid()
CALLS = []

def handler(event, context):
    CALLS.append(1)
    match event.get("do"):
        case "leave":
            sys.exit(3)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise LookupError("nothing here")
        case "wait":
            pathlib.Path(event["for"]).read_bytes()
    return {"pid": os.getpid(), "loaded": LOADED, "calls": len(CALLS), "random": random.random(),
            "uuid": str(uuid.uuid4()), "environ": dict(os.environ), "ppid": os.getppid(), "cwd": os.getcwd()}
"""


def submit(pool: FunctionPool, event: dict[str, Any]) -> Invocation:
    invocation = Invocation(json.dumps(event).encode(), "Root=1-trace")
    pool.submit(invocation)
    return invocation


def answer(invocation: Invocation) -> dict[str, Any]:
    settled = invocation.wait(PATIENCE)
    assert settled is not None
    decoded: dict[str, Any] = json.loads(settled.payload)
    return decoded


def environ_of(pid: int) -> dict[str, str]:
    """The environment of a process as everybody else sees it."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(entry.decode().split("=", 1) for entry in entries if entry)


def parent_of(pid: int) -> int:
    """The process that has started it."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has buried yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def pool(pool_of: PoolOf, copying: LauncherOf) -> FunctionPool:
    return pool_of(TELLING, launched=copying)


def two_at_once(pool: FunctionPool, gate: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    os.mkfifo(gate)
    waiting = submit(pool, {"do": "wait", "for": str(gate)})
    second = answer(submit(pool, {}))
    gate.write_bytes(b"go")
    return answer(waiting), second


def test_copies_are_processes_of_their_own_that_share_nothing_but_their_start(
    pool: FunctionPool, tmp_path: Path
) -> None:
    first, second = two_at_once(pool, tmp_path / "gate")

    assert first["loaded"] == second["loaded"] == first["ppid"]
    assert len({first["pid"], second["pid"], first["loaded"]}) == 3
    assert (first["calls"], second["calls"]) == (1, 1)
    assert first["random"] != second["random"]
    assert first["uuid"] != second["uuid"]


def test_a_copy_is_known_by_its_environment_and_the_original_is_not(pool: FunctionPool) -> None:
    seen = answer(submit(pool, {}))
    shown, original = environ_of(seen["pid"]), environ_of(seen["loaded"])

    assert shown["AWS_LAMBDA_FUNCTION_NAME"] == "stack-api"
    assert shown["LAMBDA_TASK_ROOT"] == seen["cwd"]
    assert shown["AWS_LAMBDA_RUNTIME_API"].startswith("127.0.0.1:")
    assert shown == {name: value for name, value in seen["environ"].items() if name != "_X_AMZN_TRACE_ID"}
    assert original == {}


@pytest.mark.parametrize(("how", "words"), [("leave", "exit status 1"), ("die", "signal: SIGKILL")])
def test_a_copy_that_ends_fails_its_invocation_and_the_next_gets_another(
    pool_of: PoolOf, copying: LauncherOf, how: str, words: str
) -> None:
    pool = pool_of(TELLING, launched=copying, cap=1)
    before = answer(submit(pool, {}))
    error = answer(submit(pool, {"do": how}))
    after = answer(submit(pool, {}))

    assert error["errorType"] == "Runtime.ExitError"
    assert error["errorMessage"].endswith(words) or how == "leave"
    assert after["pid"] != before["pid"]
    assert after["loaded"] == before["loaded"]


def test_a_copy_over_its_time_is_killed(pool_of: PoolOf, copying: LauncherOf, tmp_path: Path) -> None:
    pool = pool_of(TELLING, launched=copying, timeout=0.5)
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    assert answer(submit(pool, {"do": "wait", "for": str(gate)}))["errorType"] == "Sandbox.Timedout"
    assert answer(submit(pool, {}))["calls"] == 1


def test_an_original_that_is_killed_takes_its_copies_along_and_is_replaced(pool: FunctionPool) -> None:
    before = answer(submit(pool, {}))
    os.kill(before["loaded"], signal.SIGKILL)

    # The kernel ends the copy a moment later: it may still answer, or be ended while it does.
    while answer(submit(pool, {})).get("loaded") in {before["loaded"], None}:
        pass
    assert not is_running(before["pid"])


def test_an_ancestor_that_is_killed_takes_everything_along_and_is_replaced(pool: FunctionPool) -> None:
    before = answer(submit(pool, {}))
    ancestor = parent_of(before["loaded"])
    os.kill(ancestor, signal.SIGKILL)

    # As above: what is still there may answer, or be ended while it does.
    while (after := answer(submit(pool, {}))).get("loaded") in {before["loaded"], None}:
        pass
    assert parent_of(after["loaded"]) not in {ancestor, os.getpid()}
    assert not is_running(before["loaded"])
    assert not is_running(before["pid"])


def test_what_two_functions_import_is_loaded_once_for_both(tmp_path: Path) -> None:
    shared = tmp_path / "shared.py"
    shared.write_text("import os\nLOADED = os.getpid()\n", encoding="utf-8")
    handler = "import shared\ndef handler(event, context): return shared.LOADED\n"
    console = Console(quiet=True)
    functions = [
        Function(
            logical_id=name,
            name=name,
            folder=write(tmp_path / name, handler),
            handler="app.handler",
            timeout_seconds=20,
            memory_mb=128,
            environment={},
        )
        for name in ("one", "other")
    ]
    path = {"PYTHONPATH": ":".join(map(str, (tmp_path, LAYERS[-1], ROOT)))}
    variables = [{**clean_environment(), **lambda_variables(each), **path} for each in functions]
    common = ancestry(functions, variables)

    def loaded(function: Function, known: dict[str, str]) -> int:
        log = FunctionLog(function.name, None, console)
        launcher = Copying(partial(original, common, known, function.folder, log), NOBODY)
        start = partial(ProcessEnvironment, function, console=console, launcher=launcher, log=log)
        pool = FunctionPool(start, cap=1, starting=1)
        settled = submit(pool, {}).wait(PATIENCE)
        pool.close()
        launcher.close()
        assert settled is not None
        return int(settled.payload)

    first, second = map(loaded, functions, variables)
    shared.write_text("LOADED = 0\n", encoding="utf-8")
    third = loaded(functions[0], variables[0])
    common.renew()
    fourth = loaded(functions[0], variables[0])
    common.close()
    console.close()

    assert first == second == third > 0
    assert fourth == 0


THREADED = """
import os, threading
LOADED = os.getpid()
threading.Thread(target=threading.Event().wait, daemon=True).start()

def handler(event, context):
    return {"pid": os.getpid(), "loaded": LOADED}
"""


def test_what_a_copy_would_not_survive_is_started_afresh(pool_of: PoolOf, copying: LauncherOf) -> None:
    seen = answer(submit(pool_of(THREADED, launched=copying), {}))

    assert seen["pid"] == seen["loaded"]


@pytest.mark.parametrize(
    ("source", "error"),
    [("import not_there", "Runtime.ImportModuleError"), ("import os; os._exit(9)", "Runtime.ExitError")],
)
def test_a_handler_that_cannot_be_loaded_is_reported_as_ever(
    pool_of: PoolOf, copying: LauncherOf, source: str, error: str
) -> None:
    assert answer(submit(pool_of(source, launched=copying), {}))["errorType"] == error


def test_what_a_copy_prints_is_logged_under_its_functions_name(
    pool_of: PoolOf, copying: LauncherOf, console: Lines
) -> None:
    pool = pool_of("print('loaded')\ndef handler(event, context): print('called')", launched=copying)
    answer(submit(pool, {}))

    assert {console.next_logged(), console.next_logged()} == {"api: loaded", "api: called"}


LOGGING = """
import logging
FOUND = list(logging.root.handlers)

def handler(event, context):
    return {"then": len(FOUND), "new": len(set(logging.root.handlers) - set(FOUND))}
"""


def test_a_copy_logs_by_the_handler_that_its_module_found(pool_of: PoolOf, copying: LauncherOf) -> None:
    assert answer(submit(pool_of(LOGGING, launched=copying), {})) == {"then": 1, "new": 0}
