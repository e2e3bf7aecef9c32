"""The locked dependencies are those the project asks for, deployed at the releases that were tested."""

import re
import tomllib
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.integration.infra.declared import ROOT

TESTED = ROOT / "tests" / "requirements.txt"
LOCAL = ROOT / "infra" / "local" / "requirements.txt"
DEPLOYED = ROOT / "layers" / "dependencies" / "requirements.txt"
SIGNING = ROOT / "layers" / "signing" / "requirements.txt"
SAM = ROOT / ".ci" / "sam.txt"

BRIDGES = ("a2a-sdk", "langgraph", "openai-agents", "pydantic-ai", "strands")
every_lock = pytest.mark.parametrize(
    "lock", [TESTED, LOCAL, DEPLOYED, SIGNING, SAM], ids=lambda path: path.parent.name
)


def entries(lock: Path) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a lock with its hashes."""
    lines = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = [line.split("--hash=") for line in lines if line.strip() and not line.startswith("#")]
    return [(Requirement(requirement), [each.strip() for each in hashes]) for requirement, *hashes in found]


def versions(lock: Path) -> Mapping[str, str]:
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each, _ in entries(lock)}


def asked(*parts: str) -> list[Requirement]:
    """What the project itself and its extras ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asking = {"itself": project["dependencies"], **project["optional-dependencies"]}
    lists = (asking[part] for part in parts)
    return [Requirement(each) for each in chain.from_iterable(lists)]


@pytest.mark.parametrize(
    ("lock", "parts"),
    [
        (DEPLOYED, ("itself",)),
        (SIGNING, ("signing",)),
        (LOCAL, ("itself", "cli", "local", "signing")),
        (TESTED, ("itself", "cli", "client", "local", "signing", "test", *BRIDGES, "iac")),
    ],
    ids=["deployed", "signing", "local", "tested"],
)
def test_a_lock_meets_what_the_project_asks_for(lock: Path, parts: tuple[str, ...]) -> None:
    locked = versions(lock)

    unmet = [
        str(each)
        for each in asked(*parts)
        if not each.specifier.contains(locked.get(canonicalize_name(each.name), "0"), prereleases=True)
    ]
    assert unmet == []


@pytest.mark.parametrize("lock", [DEPLOYED, SIGNING, LOCAL], ids=["deployed", "signing", "local"])
def test_what_runs_is_what_was_tested(lock: Path) -> None:
    tested, running = versions(TESTED), versions(lock)

    assert {name: tested.get(name) for name in running} == running


def test_no_two_layers_hold_the_same_package() -> None:
    """Lambda unpacks layers one over another: of two releases of a package it would mix the files."""
    assert versions(DEPLOYED).keys() & versions(SIGNING).keys() == set()


@every_lock
def test_every_release_is_pinned_by_hash(lock: Path) -> None:
    for requirement, hashes in entries(lock):
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@every_lock
def test_no_lock_names_a_place_to_load_from(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")

    assert "://" not in text
    assert re.findall(r"^--(?!hash)\S+", text, flags=re.MULTILINE) == []


def test_what_has_no_wheels_elsewhere_is_asked_for_on_linux_only() -> None:
    (awslambdaric,) = [each for each, _ in entries(TESTED) if each.name == "awslambdaric"]

    assert str(awslambdaric.marker) == 'sys_platform == "linux"'
