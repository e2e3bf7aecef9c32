"""What an agent asks its caller's permission for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Permission:
    """Something the agent does only when its caller allows it.

    Attributes:
        tool: what would be called, for example `ros.delete_stack`.
        title: the question in a few words, shown to people.
        purpose, effect: why, and what it changes.
        target: what it is done to, for example a stack's name.
        arguments: what the tool would be given, as JSON. The decision is bound to them: other arguments are
        another question. They are shown to the caller, so they hold no secrets.
        read_only: it changes nothing.
    """

    tool: str
    title: str
    purpose: str = ""
    effect: str = ""
    target: str = ""
    arguments: Mapping[str, Any] | None = None
    read_only: bool = False
