"""Routes that were saved: in a file of one's own, or in the registry of a deployment."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from a2a_serverless.cli.configuration import own_directory, read_file
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.client.routes import Route

if TYPE_CHECKING:
    from a2a_serverless.adapters.dynamodb_documents import DynamoDocuments

REGISTRY: Final = "registry:"
KIND: Final = "routes"
FILE: Final = "routes.toml"

Registry = Callable[[], "AbstractContextManager[DynamoDocuments]"]
"""Reaches the documents of a deployment."""


def kept_routes(place: str | None, registry: Registry) -> Sequence[Route]:
    """The routes at a place, or in one's own file where none is said.

    Raises:
        Failure: they cannot be read.
    """
    if place is not None and place.startswith(REGISTRY):
        name = _name(place)
        with registry() as documents:
            kept = documents.read(name)
        return _read(kept.text) if kept is not None else []
    file = Path(place) if place else own_file()
    return _of_file(file) if place or file.is_file() else []


def keep_routes(
    place: str | None, registry: Registry, change: Callable[[Sequence[Route]], Sequence[Route]]
) -> tuple[str, Sequence[Route]]:
    """Change the routes at a place, as one; gives where that is, and what is there now.

    Raises:
        Failure: they cannot be read or written, or somebody else has written them meanwhile.
    """
    if place is not None and place.startswith(REGISTRY):
        from a2a_serverless.adapters.dynamodb_documents import DocumentChangedError  # noqa: PLC0415  heavy

        name = _name(place)
        with registry() as documents:
            kept = documents.read(name)
            changed = change(_read(kept.text) if kept is not None else [])
            try:
                documents.keep(name, _printed(changed), seen=kept)
            except DocumentChangedError as error:
                raise Failure(Exit.FAILED, f"{place} was changed by somebody else", "say it again") from error
        return place, changed
    file = Path(place) if place else own_file()
    changed = change(_of_file(file) if file.is_file() else [])
    _write(file, changed)
    return str(file), changed


def own_file() -> Path:
    """Where routes are kept when nothing else is said."""
    return own_directory() / FILE


def _name(place: str) -> str:
    name = place.removeprefix(REGISTRY)
    if not name.replace("-", "").replace("_", "").isalnum():
        raise Failure(Exit.USAGE, f"{name!r} is no name of a registry", "such as registry:agents")
    return name


def _of_file(file: Path) -> list[Route]:
    _, blocks = read_file(file, os.environ)
    return [
        Route(block.get("name"), block.get("url"), block.get("skills") or (), block.get("tags") or ())
        for block in blocks
    ]


def _write(file: Path, routes: Sequence[Route]) -> None:
    """Write the routes in place of those that are there; whoever reads meanwhile sees one or the other."""
    text = "# Written by `a2a-serverless route save`.\n" + "".join(map(_written, routes))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as written:
            written.write(text)
        Path(written.name).replace(file)
    except OSError as error:
        raise Failure(Exit.FAILED, f"{file} cannot be written: {error.strerror or error}") from error


def _written(route: Route) -> str:
    lines = [f"name = {_text(route.name)}", f"url = {_text(route.url)}"]
    for member, values in (("skills", route.skills), ("tags", route.tags)):
        if values:
            lines.append(f"{member} = [{', '.join(map(_text, values))}]")
    return "\n[[routes]]\n" + "".join(f"{line}\n" for line in lines)


def _text(value: str) -> str:
    """A text of TOML: as JSON has it, with what a variable would be put into doubled."""
    return json.dumps(value.replace("$", "$$"), ensure_ascii=False).replace("\x7f", "\\u007f")


def members(route: Route) -> dict[str, Any]:
    """A route as JSON."""
    return {"name": route.name, "url": route.url, "skills": list(route.skills), "tags": list(route.tags)}


def _printed(routes: Sequence[Route]) -> str:
    return json.dumps({"schemaVersion": 1, "routes": [members(route) for route in routes]})


def _read(text: str) -> list[Route]:
    return [Route(**each) for each in json.loads(text)["routes"]]
