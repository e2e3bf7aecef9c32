"""A turn that is under way between somebody who calls and an agent, and how it is held."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.connecting import Agent
from a2a_serverless.cli.views import View, view_for
from a2a_serverless.protocol.objects import Message, Task


@dataclass(frozen=True)
class Session:
    """How one talks: what is waited for, what is shown, what happens on Ctrl-C."""

    calling: Calling
    stream: bool
    wait: bool = True
    ask: bool = False
    cancel: bool = False
    until_ended: bool = False
    out: str | None = None


@dataclass
class Turn:
    """The turn that is under way: with whom, and what is known of it for whoever interrupts it."""

    session: Session
    agent: Agent
    message_id: str = ""
    interactive: bool = False
    task: Task | None = None
    message: Message | None = None
    saved: Sequence[Path] = ()
    view: View = field(init=False)

    def __post_init__(self) -> None:
        self.view = view_for(stream=self.session.stream, as_json=self.session.calling.as_json)

    @property
    def task_id(self) -> str | None:
        """The task, as soon as it is known."""
        return self.task.id if self.task is not None else None
