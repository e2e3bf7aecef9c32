"""What a shell completes words with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def completed(here: Path, *words: str) -> list[str]:
    """What the shell is offered for the last word."""
    ended = subprocess.run(
        [sys.executable, "-m", "a2a_serverless.cli"],
        cwd=here,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "layers" / "core"),
            "XDG_CONFIG_HOME": str(here / "own"),
            "_A2A_SERVERLESS_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("a2a-serverless", *words)),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("ta",), ["task"]),
        (("task", "su"), ["subscribe"]),
        (("call", "--cancel"), ["--cancel-on-interrupt"]),
        (("task", "list", "--state", "re"), ["rejected"]),
        (("invoke", "json"), ["jsonrpc"]),
        (("invoke", "sweep", "-e", "sweep.f"), ["sweep.fail.json"]),
        (("call", "--route-name", "or"), ["orders"]),
    ],
)
def test_words_are_completed(tmp_path: Path, words: tuple[str, ...], offered: list[str]) -> None:
    text = '[[routes]]\nname = "orders"\nurl = "https://orders.example"\n[[routes]]\nname = "b"\nurl = "https://b"'
    (tmp_path / "a2a-serverless.toml").write_text(text)

    assert completed(tmp_path, *words) == offered


def test_where_something_is_wrong_nothing_is_offered(tmp_path: Path) -> None:
    (tmp_path / "a2a-serverless.toml").write_text("routes = 7")

    assert completed(tmp_path, "call", "--route-name", "or") == []
