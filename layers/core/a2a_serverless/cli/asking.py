"""What the agent asks, asked on the terminal: a question, or a permission."""

import sys
import uuid
from typing import NamedTuple

from a2a_serverless.cli.wording import decision, permission_in
from a2a_serverless.protocol.objects import Part, Task


class Answer(NamedTuple):
    """What was answered, under a new message's id."""

    message_id: str
    part: Part


def is_interactive() -> bool:
    """Whether somebody sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def asked_on_terminal(task: Task) -> Answer | None:
    """The answer to what a task waits with, which is shown already; None where nobody answers."""
    asked = permission_in(task)
    try:
        if asked is not None:
            allow = _line("Allow this once? [y/N] ").strip().lower() in ("y", "yes")
            return Answer(str(uuid.uuid4()), Part(data=decision(asked, allow=allow)))
        while not (text := _line("> ").strip()):
            pass
    except (EOFError, KeyboardInterrupt):
        # Who leaves is told how to answer later.
        print()
        return None
    return Answer(str(uuid.uuid4()), Part(text=text))


def _line(prompt: str) -> str:
    return input(prompt)
