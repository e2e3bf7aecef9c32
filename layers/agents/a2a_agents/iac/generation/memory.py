"""What the skill remembers of a task: the conversation with the model, the files as they are, what it took.

Kept as JSON in `Turn.state`, within a limit: what is too much of the conversation is forgotten, oldest first.
"""

import json
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from a2a_agents.iac.generation.instructions import EDIT, WRITE, Language
from a2a_agents.iac.generation.model import Said
from a2a_serverless.agent import Turn

KEY = "iac_generation"

MOST_REMEMBERED = 500_000
"""Characters of a conversation's JSON; a host keeps 1 MB of state in all."""

LONG = 400
"""Characters of an argument or a result that may be forgotten."""


class Memory(BaseModel):
    """Everything remembered between invocations. `asked` is the call of `ask_user` that waits."""

    task: str = ""
    heard: str = ""
    region: str = ""
    language: Language | None = None
    conversation: list[Said] = Field(default_factory=list)
    files: dict[str, str] = Field(default_factory=dict)
    asked: str = ""
    asks_region: bool = False
    repairs: int = 0
    steps: int = 0
    tokens: int = 0
    failures: int = 0
    """Times in a row that the model gave no answer."""

    @classmethod
    def of(cls, turn: Turn) -> Self:
        """What is remembered, as this task begins with it or goes on."""
        try:
            kept = cls.model_validate(turn.state.get(KEY) or {})
        except ValidationError:
            # Of another version of this agent.
            return cls(task=turn.task_id)
        return kept if kept.task == turn.task_id else cls(task=turn.task_id, region=kept.region)

    def save(self, turn: Turn) -> None:
        """Keep it in the turn's state."""
        self._slim()
        turn.state[KEY] = self.model_dump(mode="json", exclude_defaults=True)

    def done(self, turn: Turn) -> None:
        """The task is over: only the region stays."""
        turn.state[KEY] = {"region": self.region} if self.region else {}

    def _slim(self) -> None:
        """Forget long texts of the conversation, oldest first, until it fits; files are remembered apart."""
        size = sum(_size(said) for said in self.conversation)
        for said in self.conversation:
            if size <= MOST_REMEMBERED:
                return
            before = _size(said)
            for call in said.calls:
                if call.name in (WRITE.name, EDIT.name):
                    call.arguments = {name: _short(value) for name, value in call.arguments.items()}
            for result in said.results:
                result.text = str(_short(result.text))
            said.text = str(_short(said.text)) if said is not self.conversation[0] else said.text
            size += _size(said) - before


def _size(said: Said) -> int:
    """Characters of a message, as the host counts them."""
    return len(json.dumps(said.model_dump(mode="json")))


def _short(value: object) -> object:
    if not isinstance(value, str) or len(value) <= LONG:
        return value
    return f"{value[:80]} … ({len(value)} characters, forgotten; read_file shows files as they are)"
