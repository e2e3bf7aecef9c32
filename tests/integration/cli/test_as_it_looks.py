"""What the documentation shows is what the command prints, and its first steps are what they say."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stack import PATIENCE, ROOT
from tests.integration.cli.captures import CAPTURES, DOCUMENTS, captured
from tests.integration.cli.terminal import Terminal

PATHS = os.pathsep.join(map(str, (ROOT / "layers" / "core", ROOT / "layers" / "agents")))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables that lead nowhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("A2A_", "AWS_"))}
    return {**kept, "PYTHONPATH": PATHS, "XDG_CONFIG_HOME": str(tmp_path / "own")}


def typed(here: Path, environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "a2a_serverless.cli", *arguments],
        cwd=here,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_the_documentation_shows_is_printed() -> None:
    """Where this fails, `python -m tests.integration.cli.captures` writes it anew."""
    with captured() as shown:
        for document in DOCUMENTS:
            assert CAPTURES.findall(document.read_text(encoding="utf-8")) == [shown]


def test_an_agent_of_ones_own_is_made_served_and_called(tmp_path: Path, environment: dict[str, str]) -> None:
    assert typed(tmp_path, environment, "new", "order-desk").returncode == 0
    project = tmp_path / "order-desk"
    serving = subprocess.Popen(
        [
            *(sys.executable, "-m", "a2a_serverless.cli", "serve", "order_desk.agent:agent"),
            *("--port", "0", "--json", "--log-dir", str(tmp_path / "logs")),
        ],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert serving.stdout is not None
    with serving, serving.stdout as said:
        try:
            url = json.loads(said.readline())["url"]
            with Terminal(project, environment, "call", url, "Good morning") as terminal:
                terminal.shows("What is your name?\n> ")
                terminal.press("Ada\n")
                assert terminal.ends() == 0
            assert "Hello, Ada!\n" in terminal.text
        finally:
            serving.send_signal(signal.SIGTERM)
        assert serving.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("function", "event", "outcome"),
    [
        ("jsonrpc", "jsonrpc.send-message.json", {"statusCode": 200}),
        ("card", "card.health.json", {"statusCode": 200, "body": '{"status":"healthy"}'}),
    ],
)
def test_a_function_is_invoked_on_an_event(
    tmp_path: Path, environment: dict[str, str], function: str, event: str, outcome: dict[str, Any]
) -> None:
    ended = typed(ROOT, environment, "invoke", function, "-e", event, "--json", "--quiet")

    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["function"], told["failed"]) == (function, False)
    assert {name: told["payload"][name] for name in outcome} == outcome


def test_a_function_that_fails_is_said_to(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "event.json").write_text("[]")
    event = str(tmp_path / "event.json")

    ended = typed(ROOT, environment, "invoke", "turn", "-e", event, "--quiet")

    assert ended.returncode == 1
    assert "errorType" in ended.stdout
