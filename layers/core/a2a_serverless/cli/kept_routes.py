"""Routes that were saved: in a file of one's own, or in the registry of a deployment."""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from a2a_serverless.cli.configuration import own_directory, read_file
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.client.routes import Route

REGISTRY: Final = "registry:"
FILE: Final = "routes.toml"


def kept_routes(place: str | None) -> Sequence[Route]:
    """The routes at a place, or in one's own file where none is said.

    Raises:
        Failure: they cannot be read.
    """
    file = Path(place) if place else own_file()
    if place is None and not file.is_file():
        return []
    _, blocks = read_file(file, os.environ)
    return [
        Route(block.get("name"), block.get("url"), block.get("skills") or (), block.get("tags") or ())
        for block in blocks
    ]


def own_file() -> Path:
    """Where routes are kept when nothing else is said."""
    return own_directory() / FILE


def keep_routes(place: Path, routes: Sequence[Route]) -> None:
    """Write the routes in place of those that are there; whoever reads meanwhile sees one or the other.

    Raises:
        Failure: they cannot be written.
    """
    text = "# Written by `a2a-serverless route save`.\n" + "".join(map(_written, routes))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=place.parent, delete=False) as file:
            file.write(text)
        Path(file.name).replace(place)
    except OSError as error:
        raise Failure(Exit.FAILED, f"{place} cannot be written: {error.strerror or error}") from error


def _written(route: Route) -> str:
    lines = [f"name = {_text(route.name)}", f"url = {_text(route.url)}"]
    for member, values in (("skills", route.skills), ("tags", route.tags)):
        if values:
            lines.append(f"{member} = [{', '.join(map(_text, values))}]")
    return "\n[[routes]]\n" + "".join(f"{line}\n" for line in lines)


def _text(value: str) -> str:
    """A text of TOML: as JSON has it, with what a variable would be put into doubled."""
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False).replace("\x7f", "\\u007f")
