"""Writes requirements.txt of requirements.in: what goes into the layer that only the function of turns loads.

Run on the Python that Lambda runs. Releases are chosen together with those of layers/dependencies and for
Lambda's arm64; what lies in that layer is left out, so that no module is there twice. Knows pip, and nothing
of agents.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DEPLOYED = HERE.parent / "dependencies" / "requirements.txt"

HEADER = (
    "# Written by lock.py from requirements.in: for Lambda's Python on arm64,"
    " without what layers/dependencies has.\n"
)

PRUNED = frozenset({"pydantic"})
"""What lies in layers/dependencies less some of it; the build adds that."""

PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)", re.MULTILINE)


def canonical(name: str) -> str:
    """The name of a project in the one spelling that indexes use (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[str, str]:
    """The releases that a lock names, by canonical name."""
    return {canonical(name): version for name, version in PINNED.findall(lock)}


def locked(report: Mapping[str, Any], deployed: Iterable[str]) -> Iterator[str]:
    """The lines of the lock, of pip's report of what it would install."""
    left_out = set(deployed) - PRUNED
    found = {canonical(each["metadata"]["name"]): each for each in report["install"]}
    for name in sorted(found.keys() - left_out):
        each = found[name]
        digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
        yield f"{name}=={each['metadata']['version']} \\\n    --hash=sha256:{digest}\n"


def resolve(requirements: Path, deployed: Mapping[str, str]) -> dict[str, Any]:
    """Ask pip what it would install on Lambda, beside what is deployed anyway."""
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in deployed.items()))
        report = Path(folder) / "report.json"
        command = [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"),
            *("--ignore-installed", "--only-binary=:all:", "--target", folder, "--report", str(report)),
            *("--implementation", "cp", "--python-version", "3.13"),
            *("--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64"),
            *("--requirement", str(requirements), "--constraint", str(constraints)),
        ]
        subprocess.run(command, check=True)  # noqa: S603  pip, of our own arguments
        resolved: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return resolved


def main() -> None:
    """Write the lock beside the requirements."""
    requirements = HERE / "requirements.in"
    lines = requirements.read_text(encoding="utf-8").splitlines()
    lock: list[str] = []
    if any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        deployed = pins(DEPLOYED.read_text(encoding="utf-8"))
        lock += locked(resolve(requirements, deployed), deployed)
    (HERE / "requirements.txt").write_text(HEADER + "".join(lock), encoding="utf-8")


if __name__ == "__main__":
    main()
