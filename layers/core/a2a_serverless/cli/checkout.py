"""The sources that some commands work on: the deployment's template, its functions, the local stack.

They are no part of the package that is installed, so these commands look for a checkout of them.
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from a2a_serverless.cli.exits import Exit, Failure

SIGNS = ("template.yaml", "infra/local/__main__.py", "functions", "layers/agents")
"""What a checkout has."""

NEEDED = {"moto": "moto", "yaml": "pyyaml"}
"""What the local stack imports, and under what name it is installed."""


def found_checkout(below: Path | None = None) -> Path | None:
    """The checkout one is in or, failing that, the one this package is run from."""
    here = below or Path.cwd()
    for place in (here, *here.parents, Path(__file__).resolve().parents[4]):
        if all((place / sign).exists() for sign in SIGNS):
            return place
    return None


def checkout() -> Path:
    """As above.

    Raises:
        Failure: there is none.
    """
    found = found_checkout()
    if found is None:
        raise Failure(
            Exit.NOTHING,
            "this needs the sources, and there is no checkout of a2a-serverless here",
            "clone it and go there; a package that is installed has no template, functions or local stack",
        )
    return found


def local_stack(root: Path) -> Mapping[str, str]:
    """The environment in which `python -m infra.local` runs, wherever one is.

    Raises:
        Failure: what it needs is not installed.
    """
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise Failure(
            Exit.FAILED,
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            f"{sys.executable} -m pip install -r {root / 'infra' / 'local' / 'requirements.txt'}",
        )
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
