"""`python -m infra.local` as a person meets it: it starts, says what is wrong, and ends without a trace."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.aws import ROOT

PATIENCE = 60
COMMAND = (sys.executable, "-m", "infra.local")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.fixture(scope="module")
def stack() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*COMMAND, "--port", "0", "--quiet"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture(scope="module")
def port(stack: subprocess.Popen[str]) -> int:
    assert stack.stdout is not None
    word, url = stack.stdout.readline().split()
    assert word == "ready"
    return int(url.rpartition(":")[2])


def descendants(pid: int) -> set[int]:
    """Processes started by a process, directly or not."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def get(port: int, path: str) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_taken_port_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        ended = run("--port", str(number))

    assert ended.returncode == 2
    assert ended.stderr == f"error: port {number} on 127.0.0.1 is taken: Address already in use\n"


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("not_there.at_all:agent", "module not_there.at_all cannot be imported: ModuleNotFoundError: "),
        ("a2a_agents.echo:nobody", "module a2a_agents.echo has no attribute 'nobody'"),
    ],
)
def test_an_agent_that_cannot_be_imported_is_named_with_the_reason(agent: str, reason: str) -> None:
    ended = run("--port", "0", "--agent", agent)

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: agent {agent}: {reason}")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""


def test_the_deployment_answers_under_the_printed_address(port: int) -> None:
    status, card = get(port, "/.well-known/agent-card.json")

    assert status == 200
    assert isinstance(card, dict)
    assert {interface["url"] for interface in card["supportedInterfaces"]} == {f"http://127.0.0.1:{port}"}


def test_a_hangup_replaces_the_function_processes_and_the_stack_goes_on(
    stack: subprocess.Popen[str], port: int
) -> None:
    assert stack.stdout is not None
    before = function_processes(stack.pid)
    stack.send_signal(signal.SIGHUP)
    while "being replaced" not in stack.stdout.readline():
        pass

    assert get(port, "/health")[0] == 200
    assert before
    assert before.isdisjoint(function_processes(stack.pid))


def function_processes(pid: int) -> set[int]:
    """Processes that carry Lambda's variables."""
    found = set()
    for child in descendants(pid):
        try:
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(variable.startswith(b"AWS_LAMBDA_FUNCTION_NAME=") for variable in variables):
            found.add(child)
    return found


def test_ctrl_c_ends_the_stack_and_everything_it_started() -> None:
    with subprocess.Popen(
        [*COMMAND, "--port", "0"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready http://127.0.0.1:")
        children = descendants(process.pid)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert errors == ""
    assert children
    assert not any(Path(f"/proc/{child}").exists() and alive(child) for child in children)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
