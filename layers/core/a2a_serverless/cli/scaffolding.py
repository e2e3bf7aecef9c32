"""`a2a-serverless new`: the files of an agent of one's own, where they belong."""

import keyword
import re
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from a2a_serverless.cli.checkout import found_checkout
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import print_json
from a2a_serverless.cli.scaffold import Name, as_a_project, environment, in_a_checkout

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
MOST_NAME = 64

CONFIG = "samconfig.toml"


class Made(NamedTuple):
    """Where an agent goes: its files, and the file that is added to where it is deployed from there."""

    root: Path
    files: Mapping[str, str]
    deployed_by: Path | None


def make_agent(typed: str, directory: str | None, *, as_json: bool) -> None:
    """Write the files and say what comes next.

    Raises:
        Failure: the name will not do, or something of it is there already.
    """
    name = read_name(typed)
    made = _planned(name, directory)
    added = _added(made.deployed_by, name) if made.deployed_by else None
    _write(made)
    if made.deployed_by and added is not None:
        made.deployed_by.write_text(added, encoding="utf-8")
    paths = [str(_from_here(made.root / path)) for path in made.files]
    if as_json:
        changed = [str(_from_here(made.deployed_by))] if made.deployed_by else []
        print_json({"agent": f"{name.package}.agent:agent", "made": paths, "changed": changed})
        return
    for path in paths:
        print(f"made {path}")
    for line in _next(name, made):
        print(line)


def read_name(typed: str) -> Name:
    """The name as it is typed, as a package, and as people read it.

    Raises:
        Failure: no package can be called so.
    """
    package = typed.replace("-", "_").lower()
    if not NAME.fullmatch(typed) or len(typed) > MOST_NAME or keyword.iskeyword(package):
        raise Failure(
            Exit.USAGE,
            f"{typed!r} is no name for an agent",
            "letters, digits and hyphens, such as order-desk",
        )
    if find_spec(package) is not None:
        raise Failure(Exit.USAGE, f"there is a package {package} already", "choose another name")
    return Name(typed.lower(), package, " ".join(each.capitalize() for each in re.split("[-_]", typed)))


def _planned(name: Name, directory: str | None) -> Made:
    root = found_checkout() if directory is None else None
    # A checkout that the command merely runs from is not where one works.
    if root is None or not Path.cwd().is_relative_to(root):
        return Made(Path(directory or ".") / name.typed, as_a_project(name), None)
    return Made(root, in_a_checkout(name), root / CONFIG)


def _write(made: Made) -> None:
    """Write the files, none of which may be there."""
    inside = made.deployed_by is not None
    standing = [path for path in made.files if (made.root / path).exists()]
    if standing or (not inside and made.root.exists()):
        there = made.root / standing[0] if standing else made.root
        raise Failure(Exit.USAGE, f"{_from_here(there)} is there already", "nothing was written")
    for path, text in made.files.items():
        place = made.root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            message = f"{_from_here(place)} cannot be written: {error.strerror or error}"
            raise Failure(Exit.FAILED, message) from error


def _added(config: Path, name: Name) -> str | None:
    """The configuration of deployments with an environment for this agent; None where it has one."""
    text = config.read_text(encoding="utf-8") if config.is_file() else "version = 0.1\n"
    try:
        if name.typed in tomllib.loads(text):
            return None
        more = text.rstrip("\n") + "\n" + environment(name)
        tomllib.loads(more)
    except tomllib.TOMLDecodeError as error:
        raise Failure(Exit.USAGE, f"{_from_here(config)} is no TOML", "nothing was written") from error
    return more


def _next(name: Name, made: Made) -> list[str]:
    """What to do now, as it is typed from here."""
    test = next(path for path in made.files if Path(path).name.startswith("test_"))
    go = [] if made.deployed_by else [f"  cd {_from_here(made.root)}"]
    run = f"pytest --no-cov {_from_here(made.root / test)}" if made.deployed_by else "pytest"
    tools = "-r tests/requirements.txt" if made.deployed_by else "pytest"
    changed = (
        [f"{_from_here(made.deployed_by)} has an environment {name.typed} now"] if made.deployed_by else []
    )
    readme = next(path for path in made.files if Path(path).name == "README.md")
    return [
        *changed,
        "",
        "Next:",
        *go,
        *([f"  pip install {tools}"] if find_spec("pytest") is None else []),
        f"  {run}",
        f"  a2a-serverless serve {name.package}.agent:agent",
        '  a2a-serverless call http://127.0.0.1:8080 "Good morning"',
        f"{_from_here(made.root / readme)} tells how it is deployed.",
    ]


def _from_here(path: Path) -> Path:
    """The path as it is typed from where one is."""
    whole = path.resolve()
    here = Path.cwd()
    return whole.relative_to(here) if whole.is_relative_to(here) else whole
