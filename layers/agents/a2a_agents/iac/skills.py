"""What a skill of this agent is: its words on the card, what it needs of a deployment, where its work is.

The contract between the routing and the skills. Light, for every function of the API loads it: what a skill
does lies in a module of its own that is loaded when the skill is first asked for, and never for the card.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Self

from a2a_serverless.agent import AgentSkill, Turn, Update

Run = Callable[[Turn], AsyncIterator[Update]]
"""A skill's work in one turn. It keeps what it remembers in `turn.state` under its own id.

Updates are an agent's: falling off the end completes the task, an InputRequired has its answer brought back
to the same skill.
"""


@dataclass(frozen=True)
class Deployment:
    """What a deployment has configured: the variables of its functions' environment."""

    environment: Mapping[str, str]

    @classmethod
    def from_environment(cls) -> Self:
        """The deployment this process belongs to."""
        return cls(dict(os.environ))

    def says(self, variable: str) -> str:
        """What a variable holds; empty where it is not given."""
        return self.environment.get(variable, "").strip()


Needs = Callable[[Deployment], str | None]
"""Why a deployment cannot offer the skill, in a sentence that its caller may read; None where it can."""


def nothing(_: Deployment) -> str | None:
    """A skill that works everywhere."""
    return None


@dataclass(frozen=True)
class Skill:
    """One thing this agent does.

    Attributes:
        card: what the agent card says of it.
        module: where its work is: a module with a function `run(turn)`, see `Run`.
        needs: what it needs of a deployment.
    """

    card: AgentSkill
    module: str
    needs: Needs = nothing

    @property
    def id(self) -> str:
        """By what callers name it: `metadata.skill` of a message."""
        return self.card.id

    def usable(self, deployment: Deployment) -> str | None:
        """None where the skill works in the deployment, else why it does not."""
        return self.needs(deployment)

    def run(self, turn: Turn) -> AsyncIterator[Update]:
        """Do the work of one turn."""
        work: Run = import_module(self.module).run
        return work(turn)
