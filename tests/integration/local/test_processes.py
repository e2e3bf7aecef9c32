"""Functions in processes of their own: what Lambda does, done by processes that run, crash and hang."""

import json
import os
import re
import signal
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from infra.local.deployment import Function
from infra.local.function_logs import FunctionLog
from infra.local.invocations import Invocation, Outcome
from infra.local.launching import Launcher, Starting
from infra.local.pool import FunctionPool, RequestTooLargeError
from tests.integration.local.conftest import PATIENCE, Lines, PoolOf


def submit(pool: FunctionPool, event: dict[str, Any]) -> Invocation:
    invocation = Invocation(json.dumps(event).encode(), "Root=1-trace")
    pool.submit(invocation)
    return invocation


def outcome(invocation: Invocation) -> Outcome:
    settled = invocation.wait(PATIENCE)
    assert settled is not None
    return settled


def body(invocation: Invocation) -> dict[str, Any]:
    settled = outcome(invocation)
    assert not settled.failed, settled.payload
    decoded: dict[str, Any] = json.loads(json.loads(settled.payload)["body"])
    return decoded


def failure(invocation: Invocation) -> dict[str, Any]:
    settled = outcome(invocation)
    assert settled.failed
    decoded: dict[str, Any] = json.loads(settled.payload)
    return decoded


class Puppet:
    """Only named a process: it asks for an invocation, and nobody is told of its end before it is killed."""

    pid = 0

    def __init__(self, address: str, invoked: SimpleQueue[tuple["Puppet", str]]) -> None:
        host, _, port = address.partition(":")
        self.connection = socket.create_connection((host, int(port)), PATIENCE)
        self._invoked = invoked
        self._killed = threading.Event()
        threading.Thread(target=self._ask, daemon=True).start()

    def wait(self) -> int:
        self._killed.wait()
        return -signal.SIGKILL

    def kill(self) -> None:
        self._killed.set()

    def _ask(self) -> None:
        self.connection.sendall(b"GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: stack\r\n\r\n")
        said = self.connection.recv(65536).decode()
        self.connection.close()
        found = re.search("Lambda-Runtime-Aws-Request-Id: (.*)\r\n", said)
        if found:
            self._invoked.put((self, found[1]))


class Puppets:
    """Makes puppets."""

    def __init__(self) -> None:
        self.made: SimpleQueue[Puppet] = SimpleQueue()
        self.invoked: SimpleQueue[tuple[Puppet, str]] = SimpleQueue()

    def launch(self, address: str, sink: int) -> Puppet:
        puppet = Puppet(address, self.invoked)
        self.made.put(puppet)
        return puppet


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A named pipe: who reads it waits until somebody opens it for writing."""
    made = tmp_path / "gate"
    os.mkfifo(made)
    return made


def test_a_handler_sees_lambdas_own_variables_and_context(pool_of: PoolOf) -> None:
    seen = body(submit(pool_of(), {}))

    assert seen["name"] == "stack-api"
    assert seen["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:stack-api"
    assert seen["task_root"].endswith("/api")
    assert seen["trace"] == "Root=1-trace"
    assert 0 < seen["remaining"] <= 20_000


def test_an_idle_process_is_used_again(pool_of: PoolOf) -> None:
    pool = pool_of()

    assert body(submit(pool, {}))["pid"] == body(submit(pool, {}))["pid"]


def test_invocations_that_overlap_run_in_processes_of_their_own_up_to_the_cap(
    pool_of: PoolOf, gate: Path
) -> None:
    pool = pool_of(cap=2)
    waiting = submit(pool, {"do": "wait", "for": str(gate)})
    meanwhile = [body(submit(pool, {})) for _ in range(2)]
    gate.write_bytes(b"go")

    pids = {body(waiting)["pid"], *(seen["pid"] for seen in meanwhile)}
    assert len(pids) == 2


def test_as_many_invocations_run_at_once_as_there_are_however_few_may_start_at_once(
    pool_of: PoolOf, tmp_path: Path
) -> None:
    pool = pool_of(cap=5)
    gates = [tmp_path / f"gate{number}" for number in range(5)]
    for gate in gates:
        os.mkfifo(gate)
    running = [submit(pool, {"do": "wait", "for": str(gate)}) for gate in gates]
    with ExitStack() as open_gates:
        # A gate opens when its function stands before it: all five do before the first may go on.
        for gate in gates:
            open_gates.enter_context(gate.open("wb"))

    assert len({body(invocation)["pid"] for invocation in running}) == 5


def test_invocations_over_the_cap_wait_for_a_process(pool_of: PoolOf, gate: Path) -> None:
    pool = pool_of(cap=1)
    first = submit(pool, {"do": "wait", "for": str(gate)})
    second = submit(pool, {})
    gate.write_bytes(b"go")

    assert body(first)["pid"] == body(second)["pid"]


def test_an_exception_is_a_function_error_with_its_class_name(pool_of: PoolOf, console: Lines) -> None:
    error = failure(submit(pool_of(), {"do": "raise"}))

    assert (error["errorType"], error["errorMessage"]) == ("LookupError", "nothing here")
    assert any('raise LookupError("nothing here")' in frame for frame in error["stackTrace"])


@pytest.mark.parametrize(("how", "words"), [("leave", "exit status 3"), ("die", "signal: SIGKILL")])
def test_a_process_that_dies_fails_its_invocation_and_the_next_one_gets_another(
    pool_of: PoolOf, console: Lines, how: str, words: str
) -> None:
    pool = pool_of()
    before = body(submit(pool, {}))["pid"]
    invocation = submit(pool, {"do": how})

    assert failure(invocation) == {
        "errorType": "Runtime.ExitError",
        "errorMessage": f"RequestId: {invocation.request_id} Error: Runtime exited with error: {words}",
    }
    assert body(submit(pool, {}))["pid"] != before
    assert console.next_said() == f"function api crashed in the middle of an invocation: {words}"


def test_an_idle_process_that_is_killed_is_replaced(pool_of: PoolOf) -> None:
    pool = pool_of()
    killed = body(submit(pool, {}))["pid"]
    os.kill(killed, signal.SIGKILL)

    replaced = submit(pool, {})
    settled = outcome(replaced)
    # The kill may come to light only after the process was given the invocation; then that one has crashed.
    assert settled.failed or body(replaced)["pid"] != killed


def test_a_process_that_is_dead_is_given_nothing_though_nobody_has_told_yet(pool_of: PoolOf) -> None:
    puppets = Puppets()
    pool = pool_of(launched=lambda *_: puppets)
    pool.start()
    assert pool.wait_until_started(PATIENCE)
    dead = puppets.made.get(timeout=PATIENCE)
    dead.connection.shutdown(socket.SHUT_RDWR)

    invocation = submit(pool, {})

    living, received = puppets.invoked.get(timeout=PATIENCE)
    assert (living is dead, received) == (False, invocation.request_id)


def test_a_function_over_its_time_is_killed_and_its_invocation_fails(
    pool_of: PoolOf, console: Lines, gate: Path
) -> None:
    pool = pool_of(timeout=0.5)
    invocation = submit(pool, {"do": "wait", "for": str(gate)})

    assert failure(invocation) == {
        "errorType": "Sandbox.Timedout",
        "errorMessage": f"RequestId: {invocation.request_id} Error: Task timed out after 0.50 seconds",
    }
    assert console.next_said() == "function api timed out after 0.5 s, process ended"
    assert body(submit(pool, {}))["pid"] > 0


def test_a_handler_that_cannot_be_loaded_fails_every_invocation_with_the_reason(
    pool_of: PoolOf, console: Lines
) -> None:
    pool = pool_of("import not_there")

    for _ in range(2):
        error = failure(submit(pool, {}))
        assert error["errorType"] == "Runtime.ImportModuleError"
        assert "No module named 'not_there'" in error["errorMessage"]
    assert console.next_said().startswith("function api cannot start: Runtime.ImportModuleError: ")


def test_a_process_that_ends_while_starting_fails_its_invocation(pool_of: PoolOf) -> None:
    assert failure(submit(pool_of("import os; os._exit(9)"), {}))["errorType"] == "Runtime.ExitError"


def test_after_a_restart_no_process_of_before_takes_an_invocation(pool_of: PoolOf, gate: Path) -> None:
    pool = pool_of()
    busy = submit(pool, {"do": "wait", "for": str(gate)})
    idle = body(submit(pool, {}))["pid"]

    pool.restart()
    after = body(submit(pool, {}))["pid"]
    gate.write_bytes(b"go")
    finished = body(busy)["pid"]

    assert after not in {idle, finished}
    assert body(submit(pool, {}))["pid"] == after


def test_an_answer_over_6_mb_is_lambdas_error(pool_of: PoolOf) -> None:
    assert failure(submit(pool_of(), {"do": "large"}))["errorType"] == "Function.ResponseSizeTooLarge"


def test_an_event_over_6_mb_never_reaches_the_function(pool_of: PoolOf) -> None:
    with pytest.raises(RequestTooLargeError):
        submit(pool_of(), {"body": "x" * (6 * 1024 * 1024 + 100)})


def test_what_a_function_prints_is_logged_under_its_name(pool_of: PoolOf, console: Lines) -> None:
    pool = pool_of("def handler(event, context): print('hello')")
    submit(pool, {})

    assert console.next_logged() == "api: hello"


@pytest.mark.parametrize("event", [{"queryStringParameters": {"x": "1"}}, {"do": "raise"}, {"do": "large"}])
def test_awss_own_runtime_client_gives_the_same_outcome_as_our_loop(
    pool_of: PoolOf, event: dict[str, Any]
) -> None:
    ours = outcome(submit(pool_of(), event))
    awss = outcome(submit(pool_of(launched=awss_client), event))

    assert comparable(ours) == comparable(awss)


def awss_client(function: Function, variables: dict[str, str], log: FunctionLog) -> Launcher:
    return Starting((sys.executable, "-m", "awslambdaric", "app.handler"), variables, function.folder)


def comparable(settled: Outcome) -> tuple[bool, object]:
    """Leave out what must differ: the process, the clock, the folder, the request."""
    answer = json.loads(settled.payload)
    if settled.failed:
        return True, {name: answer[name] for name in ("errorType", "errorMessage")}
    seen = json.loads(answer.pop("body"))
    return False, (answer, {name: seen[name] for name in ("name", "arn", "trace", "length")})
