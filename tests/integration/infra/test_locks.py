"""The locked dependencies are those the project asks for, deployed at the releases that were tested."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.integration.infra.declared import ROOT

TESTED = ROOT / "tests" / "requirements.txt"
DEPLOYED = ROOT / "layers" / "dependencies" / "requirements.txt"
SAM = ROOT / ".ci" / "sam.txt"

every_lock = pytest.mark.parametrize("lock", [TESTED, DEPLOYED, SAM], ids=lambda path: path.parent.name)


def entries(lock: Path) -> list[tuple[Requirement, list[str]]]:
    """Each requirement of a lock with its hashes."""
    lines = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = [line.split("--hash=") for line in lines if line.strip() and not line.startswith("#")]
    return [(Requirement(requirement), [each.strip() for each in hashes]) for requirement, *hashes in found]


def versions(lock: Path) -> Mapping[str, str]:
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each, _ in entries(lock)}


def project() -> tuple[list[Requirement], list[Requirement]]:
    """What the deployed code asks for, and what the extras do."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [each for extra in asked["optional-dependencies"].values() for each in extra]
    return [Requirement(each) for each in asked["dependencies"]], [Requirement(each) for each in extras]


def unmet(asked: list[Requirement], locked: Mapping[str, str]) -> list[str]:
    return [
        str(each)
        for each in asked
        if not each.specifier.contains(locked.get(canonicalize_name(each.name), "0"), prereleases=True)
    ]


def test_what_is_deployed_meets_what_the_project_asks_for() -> None:
    dependencies, _ = project()

    assert unmet(dependencies, versions(DEPLOYED)) == []


def test_what_is_tested_meets_what_the_project_and_its_extras_ask_for() -> None:
    dependencies, extras = project()

    assert unmet([*dependencies, *extras], versions(TESTED)) == []


def test_what_is_deployed_is_what_was_tested() -> None:
    tested, deployed = versions(TESTED), versions(DEPLOYED)

    assert {name: tested.get(name) for name in deployed} == deployed


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
