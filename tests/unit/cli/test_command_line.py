"""`a2a-serverless` as it is typed: help, mistakes in one line, and nothing loaded that is not needed."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from a2a_serverless.cli.main import app, main
from a2a_serverless.wiring.operator import Access
from tests.unit.cli.desk import Desk

COMMANDS = [("push", "dead-letters"), ("push", "redrive", "--all"), ("push", "rotate-key")]
OF_AGENTS = {
    ("call",),
    ("discover",),
    ("extended-card",),
    ("upload",),
    *(("task", name) for name in ("get", "list", "cancel", "subscribe")),
    *(("push", name) for name in ("create", "get", "list", "delete")),
}
OF_NEITHER = {
    ("new",),
    ("serve",),
    ("invoke",),
    *(("card", name) for name in ("sign", "verify", "lint")),
    *(("route", name) for name in ("preview", "save")),
}
every_command = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)

HEAVY = {"botocore", "boto3", "rich", "cryptography", "aws_lambda_powertools", "httpx", "asyncio"}

LOADED = """
import json, sys
from a2a_serverless.cli.main import app
try:
    app(sys.argv[1:], prog_name="a2a-serverless")
finally:
    print(json.dumps(sorted(name for name in sys.modules if "." not in name)), file=sys.stderr)
"""


def commands(
    command: object = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command that is no group, with its options."""
    command = command or get_command(app)
    below = getattr(command, "commands", None)
    if below is None:
        yield path, {option for parameter in command.params for option in parameter.opts}
        return
    for name, each in below.items():
        yield from commands(each, (*path, name))


def declared() -> Any:
    """What the project says of itself."""
    return tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]


def test_what_is_installed_under_the_commands_name_is_the_command() -> None:
    entry = EntryPoint("a2a-serverless", declared()["scripts"]["a2a-serverless"], "console_scripts")

    assert entry.load() is main


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)], ids=" ".join)
def test_the_command_alone_shows_its_help(desk: Desk, arguments: tuple[str, ...]) -> None:
    result = desk.run(*arguments)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: a2a-serverless [OPTIONS] COMMAND [ARGS]...\n")


def test_a_group_alone_shows_its_help(desk: Desk) -> None:
    result = desk.run("push")

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == desk.run("push", "--help").stdout
    assert all(name in result.stdout for name in ("dead-letters", "redrive", "rotate-key"))


def test_the_version_is_the_packages(desk: Desk) -> None:
    project = declared()

    assert desk.run("--version").stdout in (
        f"{project['name']} {project['version']}\n",
        f"{project['name']}, from its sources\n",
    )


@pytest.mark.parametrize(
    ("arguments", "words", "command"),
    [
        (("pusj",), "No such command 'pusj'. Did you mean 'push'?", ""),
        (("--json",), "No such option: --json", ""),
        (("push", "dead-leters"), "No such command 'dead-leters'. Did you mean 'dead-letters'", " push"),
        (("push", "redrive", "--tsk", "t"), "No such option: --tsk", " push redrive"),
        (("push", "rotate-key", "now"), "Got unexpected extra argument", " push rotate-key"),
        (
            ("push", "rotate-key", "--endpoint-url", "127.0.0.1:8080"),
            "Invalid value for '--endpoint-url' (env var: 'AWS_ENDPOINT_URL'): '127.0.0.1:8080' is no http",
            " push rotate-key",
        ),
        (
            ("push", "rotate-key", "--endpoint-url", "http://[::1"),
            "Invalid value for '--endpoint-url' (env var: 'AWS_ENDPOINT_URL'): 'http://[::1' is no http",
            " push rotate-key",
        ),
        (
            ("push", "rotate-key", "--region", "Frankfurt"),
            "Invalid value for '--region' (env var: 'AWS_REGION'): 'Frankfurt' is no Region",
            " push rotate-key",
        ),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_mistake_is_one_line_that_says_where_help_is(
    desk: Desk, arguments: tuple[str, ...], words: str, command: str
) -> None:
    result = desk.run(*arguments)

    assert (result.exit_code, result.stdout, desk.asked) == (2, "", [])
    assert result.stderr.startswith(f"error: {words}")
    assert result.stderr.endswith(f" (see `a2a-serverless{command} --help`)\n")


def test_every_command_speaks_to_programs_and_says_what_it_is_for() -> None:
    found = dict(commands())

    assert {path[:2] for path in found} == {command[:2] for command in COMMANDS} | OF_AGENTS | OF_NEITHER
    for path, options in found.items():
        assert "--json" in options
        if path in OF_AGENTS:
            assert options >= {"--token", "--route-name", "--jwks", "--trust-jku", "--timeout", "--config"}
        elif path not in OF_NEITHER:
            assert options >= {"--stack", "--region", "--profile", "--endpoint-url"}


@every_command
def test_what_is_typed_says_which_deployment_is_meant(desk: Desk, command: tuple[str, ...]) -> None:
    desk.run(*command, "--stack", "agents", "--region", "eu-west-1", "--profile", "work")

    assert desk.asked == [Access("agents", "eu-west-1", "work", None)]


def test_the_environment_says_what_is_not_typed(desk: Desk) -> None:
    environment = {"A2A_STACK": "agents", "AWS_REGION": "eu-west-1"}

    desk.run("push", "dead-letters", environment=environment)
    desk.run("push", "dead-letters", "--stack", "others", "--region", "eu-north-1", environment=environment)

    assert desk.asked == [Access("agents", "eu-west-1"), Access("others", "eu-north-1")]


def test_a_region_of_the_environment_is_not_an_emulators(desk: Desk) -> None:
    address = "http://127.0.0.1:4566"
    environment = {"AWS_ENDPOINT_URL": address, "AWS_REGION": "eu-west-1"}

    desk.run("push", "dead-letters", environment=environment)
    desk.run("push", "dead-letters", "--region", "eu-west-1", environment=environment)

    assert desk.asked == [Access(endpoint_url=address), Access(region="eu-west-1", endpoint_url=address)]


def test_it_leaves_with_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, status in ((["--help"], 0), (["push", "redrive"], 2)):
        monkeypatch.setattr(sys, "argv", ["a2a-serverless", *arguments])

        with pytest.raises(SystemExit) as leaving:
            main()

        assert leaving.value.code == status
        assert get_command(app).main(arguments, standalone_mode=False) == status


@every_command
def test_a_fault_of_ours_is_not_hidden(desk: Desk, command: tuple[str, ...]) -> None:
    def reach(_: Access) -> None:
        raise ZeroDivisionError

    desk.reach = reach  # type: ignore[method-assign, assignment]

    with pytest.raises(ZeroDivisionError):
        desk.run(*command)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("push", "redrive", "--help"),
        ("push", "redrive"),
        ("card", "verify", "--help"),
        ("call", "--help"),
        ("call", "--no-such-option"),
        ("task", "get"),
    ],
    ids=" ".join,
)
def test_help_and_mistakes_wait_for_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """AWS's SDK alone takes longer than half a second, which is what help may take."""
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=False
    )

    loaded = set(json.loads(ended.stderr.splitlines()[-1]))
    assert "typer" in loaded
    assert loaded & HEAVY == set()


def typed(line: str, unbuffered: str = "") -> "subprocess.CompletedProcess[str]":
    """What a shell makes of a line in which $COMMAND is the command."""
    command = {"COMMAND": f"{sys.executable} -m a2a_serverless.cli", "PYTHONUNBUFFERED": unbuffered}
    environment = {**os.environ, **command}
    return subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, env=environment
    )


unbuffered_or_not = pytest.mark.parametrize("unbuffered", ["", "1"])


@unbuffered_or_not
def test_a_reader_who_leaves_hears_nothing_of_it(unbuffered: str) -> None:
    ended = typed("{ $COMMAND call --help; echo $? >&2; } | true", unbuffered)

    assert ended.stderr in ("1\n", "0\n")


@unbuffered_or_not
def test_what_cannot_be_written_is_said_in_one_line(unbuffered: str, tmp_path: Path) -> None:
    ended = typed(f"ulimit -f 0; $COMMAND call --help > {tmp_path}/help", unbuffered)

    assert (ended.returncode, ended.stderr) == (1, "error: the output cannot be written: File too large\n")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("$COMMAND call --help >&-", 0),
        ("$COMMAND call http://agent.invalid - <&-", 2),
        ("$COMMAND no-such-command >&- 2>&- <&-", 2),
    ],
)
def test_it_does_without_what_is_closed(line: str, status: int) -> None:
    ended = typed(line)

    assert ended.returncode == status
    assert "Traceback" not in ended.stderr
