"""`a2a-serverless new`, `serve`, `invoke`: an agent of one's own, and the checkout that runs it."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from a2a_serverless.cli.scaffold import Name, as_a_project, in_a_checkout
from tests.unit.cli.caller import Caller

ROOT = Path(__file__).parents[3]
OURS = (ROOT / "layers" / "core", ROOT / "layers" / "agents")

STACK = """
import json, os, sys
print("ready http://127.0.0.1:1", flush=True)
print("aws http://127.0.0.1:2", flush=True)
print(json.dumps([sys.argv[1:], os.getcwd(), os.environ["PYTHONPATH"].split(os.pathsep)[0]]), flush=True)
sys.exit(7)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What looks like a checkout, with a local stack that tells how it was started."""
    for folder in ("infra/local", "functions/jsonrpc", "events", "layers/agents", "tests/unit/agents"):
        (tmp_path / "sources" / folder).mkdir(parents=True)
    root = tmp_path / "sources"
    (root / "template.yaml").write_text("")
    (root / "infra" / "__init__.py").write_text("")
    (root / "infra" / "local" / "__init__.py").write_text("")
    (root / "infra" / "local" / "__main__.py").write_text(STACK)
    (root / "functions" / "jsonrpc" / "app.py").write_text("")
    (root / "events" / "jsonrpc.get.json").write_text("{}")
    shutil.copy(ROOT / "samconfig.toml", root / "samconfig.toml")
    return root


def started(here: Path, *arguments: str, paths: Sequence[Path] = OURS) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process of its own, in a directory."""
    return subprocess.run(
        [sys.executable, "-m", "a2a_serverless.cli", *arguments],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )


def run_tests(here: Path, *tests: str, paths: Sequence[Path] = OURS) -> None:
    """Run the tests that were made, as their README says."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    assert "2 passed" in ended.stdout


def test_a_project_is_made_and_its_test_passes(caller: Caller, tmp_path: Path) -> None:
    ended = caller.run("new", "order-desk", "--directory", ".")

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[:2] == [
        "made order-desk/order_desk/__init__.py",
        "made order-desk/order_desk/profile.py",
    ]
    run_tests(tmp_path / "order-desk")


def test_in_a_checkout_an_agent_stands_beside_the_others_and_can_be_deployed(
    caller: Caller, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (checkout / "samconfig.toml").read_text()
    monkeypatch.chdir(checkout / "layers")

    told = caller.read("new", "Order_Desk")

    assert told["agent"] == "order_desk.agent:agent"
    assert [Path(file).name for file in told["changed"]] == ["samconfig.toml"]
    config = (checkout / "samconfig.toml").read_text()
    assert config.startswith(before)
    deployed = tomllib.loads(config)["order_desk"]["deploy"]["parameters"]
    overrides = "Agent=order_desk.agent:agent AgentProfile=order_desk.profile:profile"
    assert deployed["parameter_overrides"] == overrides
    test = "tests/unit/agents/test_order_desk.py"
    run_tests(checkout, test, paths=[*OURS, checkout / "layers" / "agents"])


def test_without_pytest_it_is_said_what_to_install_first(
    caller: Caller, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {}
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pytest", None)
        for place in (checkout, tmp_path):
            without.chdir(place)
            said[place] = caller.run("new", "order-desk").stdout

    assert "\n  pip install -r tests/requirements.txt\n  pytest --no-cov" in said[checkout]
    assert "\n  cd order-desk\n  pip install pytest\n  pytest\n" in said[tmp_path]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("1st", "'1st' is no name for an agent"),
        ("a/b", "'a/b' is no name for an agent"),
        ("../x", "'../x' is no name for an agent"),
        ("class", "'class' is no name for an agent"),
        ("a" * 65, "is no name for an agent"),
        ("json", "there is a package json already"),
        ("a2a-agents", "there is a package a2a_agents already"),
    ],
)
def test_a_name_that_would_not_do_makes_nothing(
    caller: Caller, tmp_path: Path, name: str, words: str
) -> None:
    ended = caller.run("new", name, "--directory", ".")

    assert (ended.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert words in ended.stderr


def test_nothing_that_is_there_is_overwritten(
    caller: Caller, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "order-desk").mkdir()
    outside = caller.run("new", "order-desk", "--directory", ".")
    assert (outside.exit_code, outside.stderr) == (
        2,
        "error: order-desk is there already\nhint: nothing was written\n",
    )
    monkeypatch.chdir(checkout)
    before = (checkout / "samconfig.toml").read_text()
    (checkout / "tests" / "unit" / "agents" / "test_order_desk.py").write_text("mine")

    inside = caller.run("new", "order-desk")

    assert inside.exit_code == 2
    assert inside.stderr.startswith("error: tests/unit/agents/test_order_desk.py is there already\n")
    assert list((checkout / "layers" / "agents").iterdir()) == []
    assert (checkout / "samconfig.toml").read_text() == before


def test_what_is_made_keeps_the_house_format() -> None:
    name = Name("order-desk", "order_desk", "Order Desk")
    files = {**as_a_project(name), **in_a_checkout(name)}

    for path, text in files.items():
        if path.endswith(".py"):
            checked = subprocess.run(
                [sys.executable, "-m", "ruff", "format", "--check", "--stdin-filename", path, "-"],
                input=text,
                capture_output=True,
                text=True,
                check=False,
                cwd=ROOT,
            )
            assert checked.returncode == 0, path


def test_the_local_stack_takes_the_commands_place(checkout: Path, tmp_path: Path) -> None:
    ended = started(
        checkout / "layers",
        *(
            "serve",
            "my.agent:agent",
            "--port",
            "0",
            "--token",
            "ada=hunter2",
            "--token",
            "bob=x",
            "--buffered",
        ),
        *("--parameter", "Audit=off", "--turn-timeout", "5", "--sign-card", "--log-dir", "logs"),
    )

    arguments, here, path = json.loads(ended.stdout.splitlines()[-1])
    assert ended.returncode == 7
    assert (Path(here), Path(path)) == (checkout / "layers", checkout)
    assert arguments == [
        *("--port", "0", "--agent", "my.agent:agent", "--turn-timeout", "5.0", "--log-dir", "logs"),
        *("--buffered", "--sign-card", "--token", "ada=hunter2", "--token", "bob=x"),
        *("--parameter", "Audit=off"),
    ]


def test_programs_are_told_where_the_local_stack_is(checkout: Path) -> None:
    ended = started(checkout, "serve", "--json")

    assert ended.returncode == 7
    assert json.loads(ended.stdout) == {"url": "http://127.0.0.1:1", "aws": "http://127.0.0.1:2"}
    assert ended.stderr.startswith("[[")


def test_an_address_cannot_be_told_quietly(caller: Caller) -> None:
    assert caller.run("serve", "--json", "--quiet").exit_code == 2


def test_functions_and_their_events_are_listed(
    caller: Caller, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)

    assert caller.run("invoke").stdout.splitlines()[:2] == [
        "function  event",
        "jsonrpc   jsonrpc.get.json",
    ]
    assert caller.read("invoke", "jsonrpc") == {
        "functions": [{"function": "jsonrpc", "events": ["jsonrpc.get.json"]}]
    }


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (("jsonrpk",), 3, "there is no function jsonrpk"),
        (("jsonrpk", "-e", "jsonrpc.get.json"), 3, "there is no function jsonrpk"),
        (("jsonrpc", "-e", "jsonrpc.nothing.json"), 3, "there is no event jsonrpc.nothing.json"),
        (("jsonrpc", "-e", "broken.json"), 2, "the event broken.json is not JSON"),
    ],
)
def test_what_cannot_be_invoked_is_said(
    checkout: Path, arguments: tuple[str, ...], status: int, error: str
) -> None:
    (checkout / "broken.json").write_text("{")

    ended = started(checkout, "invoke", *arguments)

    assert (ended.returncode, ended.stderr.splitlines()[0]) == (status, f"error: {error}")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package where it is installed, far from its sources."""
    place = tmp_path / "installed"
    shutil.copytree(
        ROOT / "layers" / "core" / "a2a_serverless",
        place / "a2a_serverless",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return place


@pytest.mark.parametrize("arguments", [("serve",), ("invoke",)])
def test_without_a_checkout_it_is_said_what_is_needed(
    installed: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    ended = started(tmp_path, *arguments, paths=[installed])

    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.startswith("error: this needs the sources, and there is no checkout")
    assert ended.stderr.splitlines()[1].startswith("hint: clone it")
