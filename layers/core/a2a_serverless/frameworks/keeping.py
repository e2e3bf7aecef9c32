"""Where the long strings of a remembered conversation lie: as files of its workspace, named by their digest.

A state of a conversation is small; an image that somebody sent is not, and a model wants to see it again in
the next turn. What is kept is JSON in which `{"a2a:file": {"name": …, "bytes": …}}` stands for such a string.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from a2a_serverless.agent import Workspace

LONG = 16 * 1024
"""Characters from which on a string is kept as a file."""

FOLDER = ".conversation/"
MARK = "a2a:file"


async def put_away(workspace: Workspace, value: Any) -> Any:  # noqa: ANN401  any JSON
    """The value with its long strings kept as files."""
    if isinstance(value, str) and len(value) >= LONG:
        content = value.encode("utf-8", "surrogatepass")
        name = FOLDER + hashlib.sha256(content).hexdigest()
        await workspace.write(name, content)
        return {MARK: {"name": name, "bytes": len(content)}}
    if isinstance(value, Mapping):
        return {key: await put_away(workspace, each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [await put_away(workspace, each) for each in value]
    return value


async def bring_back(workspace: Workspace, value: Any) -> Any:  # noqa: ANN401  any JSON
    """The value with its files read; raises FileNotFoundError when one is gone."""
    if isinstance(value, dict):
        if set(value) == {MARK}:
            return (await workspace.read(value[MARK]["name"])).decode("utf-8", "surrogatepass")
        return {key: await bring_back(workspace, each) for key, each in value.items()}
    if isinstance(value, list):
        return [await bring_back(workspace, each) for each in value]
    return value


def sizes(value: Any) -> dict[str, int]:  # noqa: ANN401  any JSON
    """The files that a kept value names, and their sizes in bytes."""
    return dict(_files(value))


def names(value: Any) -> set[str]:  # noqa: ANN401  any JSON
    """The files that a kept value names."""
    return set(sizes(value))


async def tidy(workspace: Workspace, value: Any) -> None:  # noqa: ANN401  any JSON
    """Delete the files that a kept value does not name."""
    needed = names(value)
    for file in await workspace.list(FOLDER):
        if file.name not in needed:
            await workspace.delete(file.name)


def _files(value: Any) -> Iterator[tuple[str, int]]:  # noqa: ANN401  any JSON
    if isinstance(value, dict):
        if set(value) == {MARK}:
            yield value[MARK]["name"], value[MARK]["bytes"]
        else:
            for each in value.values():
                yield from _files(each)
    elif isinstance(value, list):
        for each in value:
            yield from _files(each)
