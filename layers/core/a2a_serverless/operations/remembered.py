"""What a conversation remembers, as it is stored: its agent's state, and which files it keeps.

A conversation without files is stored as its state alone, as it always was. Knows how it is written down, and
not when.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from a2a_serverless.ports import Ports
from a2a_serverless.tasks.content import KeptFile

WITH_FILES = ".files"
"""What the key of stored memory ends in when it says which files there are, and not the state alone."""

SPARE = timedelta(days=1)
"""Of the two days that content outlives its task."""


@dataclass(frozen=True)
class Remembered:
    """The agent's state, and the files by name."""

    state: dict[str, Any] = field(default_factory=dict)
    files: Mapping[str, KeptFile] = field(default_factory=dict)


def remembered(ports: Ports, kept: str | None) -> Remembered:
    """What is stored under the key; raises KeyError when that is gone."""
    if kept is None:
        return Remembered()
    stored: dict[str, Any] = json.loads(ports.contents.get(kept))
    if not kept.endswith(WITH_FILES):
        return Remembered(stored)
    files = {name: KeptFile.model_validate(file) for name, file in stored["files"].items()}
    return Remembered(stored["state"], files)


def remember(ports: Ports, place: str, state: str, files: Mapping[str, KeptFile]) -> str:
    """Store a state, given as JSON, and the files; returns the key."""
    if not files:
        ports.contents.put(place, state.encode(), "application/json")
        return place
    told = json.dumps({name: file.to_dict() for name, file in files.items()})
    ports.contents.put(place + WITH_FILES, f'{{"state":{state},"files":{told}}}'.encode(), "application/json")
    return place + WITH_FILES


def outlives(ports: Ports, file: KeptFile, expires: int) -> bool:
    """Whether a file's bytes lie where they are for as long as a task that expires at `expires`."""
    return (file.stored_at + ports.policy.retention + SPARE).timestamp() >= expires
