"""What the skill remembers in the conversation: a wish that becomes a change, and a change until it is over.

Kept as JSON in `Turn.state`. Never holds credentials, nor the value of a parameter that is not to be echoed:
the messages of the task have those, and another task asks for them again.
"""

import hashlib
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.wishes import Wish
from a2a_serverless.agent import Turn

KEY = "aliyun_ros_operations"


class Plan(BaseModel):
    """A change that is ready to be asked permission for. `parameters` are those that may be shown."""

    model_config = ConfigDict(frozen=True)

    action: Action
    region: str
    stack: str
    stack_id: str = ""
    template: str | None = None
    digest: str | None = None
    template_bytes: int = 0
    parameters: dict[str, str] = Field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    retain: tuple[str, ...] = ()
    timeout_minutes: int = 60
    token: str = ""
    effect: str = ""
    before: str = ""
    """The stack as it was: a status and when it got it."""


class Ongoing(BaseModel):
    """A change that ROS is at work on, as far as it was followed."""

    action: Action
    region: str
    stack: str
    stack_id: str
    template: str | None = None
    before: str = ""
    since: str = ""
    seen: list[str] = Field(default_factory=list)
    polls: int = 0


class Memory(BaseModel):
    """Everything the skill remembers of a conversation.

    `earlier` is what another task of it was about to change, or was changing, when it ended: cancelled,
    crashed or left. `step` counts a task's plans, `allowed` is the token of the one that was,
    `tried` says that ROS was asked to carry it out.
    """

    task: str = ""
    heard: str = ""
    wish: Wish = Wish()
    asked: str = ""
    region: str = ""
    stack: str = ""
    step: int = 0
    plan: Plan | None = None
    allowed: str = ""
    tried: bool = False
    ongoing: Ongoing | None = None
    earlier: Plan | None = None
    failures: int = 0

    @classmethod
    def of(cls, turn: Turn) -> Self:
        """What is remembered, as this task begins with it or goes on."""
        try:
            kept = cls.model_validate(turn.state.get(KEY) or {})
        except ValidationError:
            # Of another version of this agent.
            return cls(task=turn.task_id)
        if kept.task == turn.task_id:
            return kept
        return cls(task=turn.task_id, region=kept.region, stack=kept.stack, earlier=kept.plan or kept.earlier)

    def save(self, turn: Turn) -> None:
        """Keep it in the turn's state."""
        kept: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True)
        turn.state[KEY] = kept

    def token(self) -> str:
        """The token of this task's plan: the same however often the plan is carried out."""
        told = hashlib.sha256(f"{self.task}:{self.step}".encode()).hexdigest()
        return f"a2a-{told[:40]}"

    def done(self) -> None:
        """The change is over, however it ended."""
        self.plan = self.ongoing = self.earlier = None
        self.allowed, self.tried, self.failures = "", False, 0
        self.wish = Wish()
