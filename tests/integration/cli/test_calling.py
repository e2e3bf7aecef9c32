"""`a2a-serverless` as it is typed, against a whole deployment: at a terminal, in a pipe, and interrupted."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stack import ROOT, LocalStack, running
from tests.integration.cli.crew import BIG
from tests.integration.cli.terminal import END, INTERRUPT, Terminal

TASK = r"[0-9a-f]{8}-[0-9a-f-]{27}"
TOKEN = "ada-opens-this"
PATHS = os.pathsep.join(map(str, (ROOT / "layers" / "core", ROOT / "layers" / "agents")))


@dataclass(frozen=True)
class Shell:
    """A directory in which commands are typed, nothing being configured."""

    here: Path
    url: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables there."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("A2A_", "AWS_"))}
        own = {"PYTHONPATH": PATHS, "XDG_CONFIG_HOME": str(self.here / "own"), "PYTHONWARNINGS": "error"}
        return {**kept, **own, "A2A_URL": self.url, "A2A_TOKEN": TOKEN}

    def run(
        self, *arguments: str, given: bytes | None = None, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        """What a command prints in a pipe, and how it ends."""
        ended = subprocess.run(
            [sys.executable, "-m", "a2a_serverless.cli", *arguments],
            cwd=self.here,
            env={**self.environment, **variables},
            input=None if given is None else given.decode(),
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return ended

    def read(self, *arguments: str) -> Any:
        """What it tells programs."""
        ended = self.run(*arguments, "--json")
        assert (ended.returncode, ended.stderr) == (0, "")
        return json.loads(ended.stdout)

    def terminal(self, *arguments: str) -> Terminal:
        """The command at a terminal."""
        return Terminal(self.here, self.environment, *arguments)

    def state(self, task: str) -> str:
        """The state of a task."""
        state: str = self.read("task", "get", task)["status"]["state"]
        return state


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A deployment of the crew, which calls webhooks on this machine."""
    options = (
        "--agent",
        "tests.integration.cli.crew:agent",
        "--token",
        f"ada={TOKEN}",
        "--loopback-webhooks",
    )
    with running(tmp_path_factory.mktemp("crew"), *options) as started:
        yield started


@pytest.fixture
def shell(stack: LocalStack, tmp_path: Path) -> Shell:
    """A shell in an empty directory."""
    return Shell(tmp_path, stack.url)


def named(text: str) -> str:
    """The task that is named."""
    found = re.search(TASK, text)
    assert found, text
    return found[0]


def hinted(text: str) -> list[str]:
    """The command line that is hinted at, as it is typed."""
    line = re.search(r"hint: a2a-serverless (.*)", text)
    assert line, text
    return shlex.split(line[1])


def test_in_a_pipe_what_was_made_is_printed_and_nothing_else(shell: Shell) -> None:
    ended = shell.run("call", "-", given=b"report the weather\n")

    assert (ended.returncode, ended.stdout) == (0, "Fair.\nLight wind.\nReported.\n")
    assert re.fullmatch(f"task {TASK}: completed\n", ended.stderr)


def test_in_a_pipe_a_stream_is_lines_without_colour(shell: Shell) -> None:
    ended = shell.run("call", "report the weather", "--stream", TERM="xterm-256color")

    lines = ended.stdout.splitlines()
    assert re.fullmatch(f"task {TASK} of context {TASK}: .*", lines[0])
    assert "working: Looking outside" in lines
    assert lines[-4:] == ["artifact weather (Weather):", "Fair.", "Light wind.", "completed: Reported."]
    assert "\x1b" not in ended.stdout + ended.stderr


def test_at_a_terminal_a_stream_is_alive(shell: Shell) -> None:
    with shell.terminal("call", "report the weather", "--stream") as terminal:
        assert terminal.ends() == 0

    assert "\x1b[" in terminal.raw
    assert "Looking outside" in terminal.text
    assert "Fair.\nLight wind.\nReported.\n" in terminal.text


def test_at_a_terminal_without_colours_there_are_none(shell: Shell) -> None:
    with Terminal(shell.here, {**shell.environment, "NO_COLOR": "1"}, "task", "list") as terminal:
        assert terminal.ends() == 0

    assert "\x1b[3" not in terminal.raw


def test_a_question_is_asked_at_a_terminal_and_its_answer_goes_on(shell: Shell) -> None:
    with shell.terminal("call", "ask") as terminal:
        terminal.shows("Which colour?\n> ")
        terminal.press("red\n")
        assert terminal.ends() == 0

    assert "Painted red.\n" in terminal.text


def test_who_leaves_at_the_question_is_told_how_to_answer_later(shell: Shell) -> None:
    with shell.terminal("call", "ask") as terminal:
        terminal.shows("> ")
        terminal.press(END)
        assert terminal.ends() == 7

    words = hinted(terminal.text)
    answered = shell.run(*words[:-1], "blue")
    assert (answered.returncode, answered.stdout) == (0, "Painted blue.\n")


def test_where_nobody_can_be_asked_the_exit_status_says_that_there_is_a_question(shell: Shell) -> None:
    piped = shell.run("call", "ask")
    with shell.terminal("call", "ask", "--no-input") as terminal:
        assert terminal.ends() == 7

    assert (piped.returncode, piped.stdout) == (7, "Which colour?\n")
    assert "Which colour?\n" in terminal.text
    assert shell.run("call", "--task", named(piped.stderr), "green").stdout == "Painted green.\n"


@pytest.mark.parametrize(("answer", "becomes"), [("y", "Deleted."), ("", "Kept."), ("no", "Kept.")])
def test_a_permission_is_asked_at_a_terminal(shell: Shell, answer: str, becomes: str) -> None:
    with shell.terminal("call", "delete") as terminal:
        terminal.shows("Allow this once? [y/N] ")
        assert '"name": "shop"' in terminal.text
        terminal.press(f"{answer}\n")
        assert terminal.ends() == 0

    assert becomes in terminal.text


def test_a_permission_is_decided_by_a_flag_later(shell: Shell) -> None:
    asked = shell.run("call", "delete")

    assert asked.returncode == 7
    decided = shell.run(*hinted(asked.stderr))
    assert (decided.returncode, decided.stdout) == (0, "Deleted.\n")


def test_ctrl_c_leaves_the_task_at_work_and_says_how_to_follow_it(shell: Shell) -> None:
    with shell.terminal("call", "work", "--stream") as terminal:
        terminal.shows("Hard at work")
        terminal.press(INTERRUPT)
        assert terminal.ends() == 130

    assert "interrupted: task " in terminal.text
    task = named(terminal.text.partition("interrupted: ")[2])
    assert shell.state(task) == "TASK_STATE_WORKING"
    with shell.terminal(*hinted(terminal.text)) as again:
        again.shows("Hard at work")
        again.press(INTERRUPT)
        assert again.ends() == 130
    canceled = shell.run("task", "cancel", task)
    assert canceled.stdout == f"task {task}: canceled\n"


def test_ctrl_c_cancels_where_that_is_wanted(shell: Shell) -> None:
    with shell.terminal("call", "work", "--stream", "--cancel-on-interrupt") as terminal:
        terminal.shows("Hard at work")
        terminal.press(INTERRUPT)
        assert terminal.ends() == 130

    assert re.search(f"interrupted: task {TASK}: canceled", terminal.text)
    assert shell.state(named(terminal.text.partition("interrupted: ")[2])) == "TASK_STATE_CANCELED"


def test_a_time_to_wait_at_most_leaves_the_task_at_work(shell: Shell) -> None:
    ended = shell.run("call", "work", "--timeout", "2")

    assert ended.returncode == 9
    assert ended.stderr.startswith("error: the task goes on after 2 s\n")
    task = named(ended.stderr)
    assert shell.run("task", "cancel", task).returncode == 0
    assert shell.run("task", "subscribe", task).returncode == 6


def test_an_authorisation_elsewhere_is_said(shell: Shell) -> None:
    ended = shell.run("call", "authorise")

    assert (ended.returncode, ended.stdout) == (8, "Sign in at https://idp.example.\n")


def test_who_is_not_let_in_is_told_so(shell: Shell) -> None:
    ended = shell.run("call", "report", A2A_TOKEN="another")

    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr.splitlines()[1].startswith("hint: who calls is said by --token")
    assert "another" not in ended.stderr


def test_a_failure_is_one_line(shell: Shell) -> None:
    ended = shell.run("call", "dance")

    assert (ended.returncode, ended.stdout) == (6, "")
    assert ended.stderr == "error: the task has failed: Nobody knows how to dance.\n"


def test_the_pages_of_a_list_lead_from_one_to_the_next(shell: Shell) -> None:
    context = "three-dances"
    calls = [shell.run("call", "dance", "--no-wait", "--context", context) for _ in range(3)]
    words = ["task", "list", "--page-size", "2", "--since", "2020-01-01", "--context", context]
    seen: list[str] = []

    while words:
        page = shell.run(*words)
        assert page.returncode == 0
        seen += [line.split()[0] for line in page.stdout.splitlines()[1:-1]]
        line = re.search(r"hint: the next page is a2a-serverless (.*)", page.stderr)
        words = shlex.split(line[1]) if line else []

    assert sorted(seen) == sorted(named(call.stderr) for call in calls)
    assert all(re.fullmatch(TASK, each) for each in seen)


def test_small_files_go_with_the_message_and_big_ones_before_it(shell: Shell) -> None:
    (shell.here / "small.txt").write_bytes(b"small")
    (shell.here / "big.bin").write_bytes(b"b" * 2_000_000)

    ended = shell.run("call", "files", "--file", "small.txt", "--file", "big.bin")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "[('small.txt', 5), ('big.bin', 2000000)]\n"


def test_an_uploaded_file_is_named_by_its_part(shell: Shell) -> None:
    (shell.here / "notes.txt").write_bytes(b"notes")

    told = shell.read("upload", "notes.txt")
    part = json.dumps(told["parts"][0])
    ended = shell.run("upload", "notes.txt", "--context", told["contextId"])

    assert told["parts"][0]["url"] == "file:///notes.txt"
    assert ended.stdout == f"{part}\n"


def test_a_big_artifact_is_fetched_and_lands_in_the_directory(shell: Shell) -> None:
    ended = shell.run("call", "big", "--out", "made")

    assert (ended.returncode, ended.stdout) == (0, "saved made/big.zip\n"), ended.stderr
    assert (shell.here / "made" / "big.zip").read_bytes() == b"x" * BIG


def test_webhooks_are_registered_listed_and_taken_away(shell: Shell) -> None:
    task = named(shell.run("call", "ask").stderr)
    secret = ("--notification-token", "hunter2", "--auth-scheme", "Bearer", "--auth-credentials", "hunter3")

    created = shell.run("push", "create", task, "http://127.0.0.1:9/hook", "--id", "w-1", *secret)
    listed = shell.run("push", "list", task)
    got = shell.read("push", "get", task, "w-1")
    deleted = shell.run("push", "delete", task, "w-1")

    assert (created.returncode, created.stdout) == (0, "w-1\n"), created.stderr
    assert listed.stdout.splitlines()[1].split() == ["w-1", "http://127.0.0.1:9/hook", "Bearer"]
    assert got["authentication"] == {"scheme": "Bearer"}
    assert "hunter" not in listed.stdout + json.dumps(got)
    assert deleted.returncode == 0
    assert shell.run("push", "list", task).stdout == "No webhook.\n"


def test_the_deployments_own_card_breaks_no_rule(shell: Shell) -> None:
    card = shell.run("discover")
    linted = shell.run("card", "lint", shell.url)

    assert card.stdout.startswith("Crew 1.0.0\nDoes what it is told.\n")
    assert linted.returncode == 0
    assert all("is not https" in line for line in linted.stdout.splitlines()[:-1])


def test_where_nothing_answers_that_is_said(shell: Shell) -> None:
    ended = shell.run("call", "http://127.0.0.1:9", "Hello")

    assert (ended.returncode, ended.stdout) == (4, "")
    assert ended.stderr.startswith("error: http://127.0.0.1:9: the connection failed")
