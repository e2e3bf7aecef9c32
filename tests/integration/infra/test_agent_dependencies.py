"""What agents import besides goes into a layer of its own, locked, and without what is deployed anyway."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.infra.declared import ROOT

AGENTS = ROOT / "layers" / "agents"
LOCK = runpy.run_path(str(AGENTS / "lock.py"), run_name="lock")


def installed(name: str, version: str) -> dict[str, Any]:
    """One entry of pip's report."""
    return {
        "metadata": {"name": name, "version": version},
        "download_info": {"archive_info": {"hashes": {"sha256": f"{name.lower()}{version}"}}},
    }


def test_the_lock_leaves_out_what_is_deployed_and_keeps_what_was_taken_out_of_it() -> None:
    report = {
        "install": [
            installed("Strands_Agents", "1.62.0"),
            installed("boto3", "1.43.1"),
            installed("pydantic", "2.14.4"),
        ]
    }
    deployed = LOCK["pins"](
        "boto3==1.43.1 \\\n    --hash=sha256:a\npydantic==2.14.4 \\\n    --hash=sha256:b\n"
    )

    assert "".join(LOCK["locked"](report, deployed)) == (
        "pydantic==2.14.4 \\\n    --hash=sha256:pydantic2.14.4\n"
        "strands-agents==1.62.0 \\\n    --hash=sha256:strands_agents1.62.0\n"
    )


def test_releases_are_chosen_beside_those_that_are_deployed() -> None:
    pins = LOCK["pins"](LOCK["DEPLOYED"].read_text(encoding="utf-8"))

    assert {"boto3", "pydantic", "pydantic-core", "typing-extensions"} <= pins.keys()


def test_what_is_locked_is_what_is_asked_for() -> None:
    asked = (AGENTS / "requirements.in").read_text(encoding="utf-8")
    locked = (AGENTS / "requirements.txt").read_text(encoding="utf-8")

    names = [
        re.split(r"[<>=\[ ]", line)[0] for line in asked.splitlines() if line and not line.startswith("#")
    ]
    assert locked.startswith(LOCK["HEADER"])
    assert {LOCK["canonical"](name) for name in names} <= LOCK["pins"](locked).keys()
    assert bool(names) == bool(LOCK["pins"](locked))


def test_every_framework_that_there_is_a_bridge_for_can_be_asked_for() -> None:
    asked = (AGENTS / "requirements.in").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ("a2a-sdk", "langgraph", "openai-agents", "pydantic-ai", "strands")

    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            assert f"#   {requirement}\n" in asked


def for_turns() -> list[str]:
    """The packages that the API's functions do not have."""
    named = re.fullmatch(
        r"FOR_TURNS := \$\(addprefix (\S+/),(.+)\)",
        (AGENTS / "for-turns.mk").read_text(encoding="utf-8").splitlines()[-1],
    )
    assert named
    return [named[1] + name for name in named[2].split()]


def test_what_is_for_turns_only_is_there() -> None:
    assert all((AGENTS / package / "__init__.py").is_file() for package in for_turns())


@pytest.mark.parametrize("agent", ["iac", "support", "fulfilment"])
def test_a_card_is_made_without_what_is_for_turns_only(agent: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "layers" / "core" / "a2a_serverless", tmp_path / "a2a_serverless")
    shutil.copytree(AGENTS / "a2a_agents", tmp_path / "a2a_agents")
    for package in (*for_turns(), "a2a_serverless/cli", "a2a_serverless/client", "a2a_serverless/frameworks"):
        shutil.rmtree(tmp_path / package)

    subprocess.run(
        [sys.executable, "-c", f"from a2a_agents.{agent} import profile; assert profile.skills"],
        env={"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"},
        cwd=tmp_path,
        check=True,
    )
