"""The pages of the documentation that are what `--help` prints.

`python -m tests.unit.cli.pages` puts them into the document as they are now.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from a2a_serverless.cli.exits import MEANINGS
from a2a_serverless.cli.main import NAME, app

DOCUMENT = Path(__file__).parents[3] / "layers" / "core" / "a2a_serverless" / "cli" / "README.md"
PAGES = re.compile(r"(?<=<!-- pages -->\n).*?(?=<!-- end of pages -->)", re.DOTALL)
STATUSES = re.compile(r"(?<=\| exit status \| means \|\n\|---\|---\|\n)(?:\|.*\n)*")


def paths(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of every command that is no group."""
    below = getattr(command or get_command(app), "commands", None)
    if below is None:
        yield path
        return
    for name, each in below.items():
        yield from paths(each, (*path, name))


def pages() -> str:
    """A page a command, as it prints its help on 80 columns."""
    return "\n".join(_page(path) for path in paths()) + "\n"


def statuses() -> str:
    """The rows of the table of exit statuses."""
    return "".join(f"| {int(status)} | {meaning} |\n" for status, meaning in MEANINGS.items())


def _page(path: tuple[str, ...]) -> str:
    printed = CliRunner().invoke(app, [*path, "--help"], prog_name=NAME).stdout
    return f"### {' '.join((NAME, *path))}\n\n```text\n{printed}```\n"


def main() -> None:
    """Put both into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    text = PAGES.sub(lambda _: pages(), STATUSES.sub(lambda _: statuses(), text))
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
