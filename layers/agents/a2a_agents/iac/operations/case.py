"""What every step of a turn works with: the turn, what is remembered, ROS, and the parameters given."""

from dataclasses import dataclass, field

from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.memory import Memory
from a2a_agents.iac.operations.ros import Ros, Stack
from a2a_agents.iac.operations.shown import Shown
from a2a_agents.iac.operations.template import Template
from a2a_serverless.agent import InputRequired, Turn

OWN = "the stack's own"
"""By what name a template goes that nobody brought."""


@dataclass
class Case:
    """One turn at work.

    `region` is meant where nobody names one; `given` are the parameters that the task's messages gave, in
    order, and `parameters` what counts of them.
    """

    turn: Turn
    memory: Memory
    ros: Ros
    region: str = ""
    given: list[tuple[str, str]] = field(default_factory=list, repr=False)
    parameters: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Of one name the last counts."""
        self.parameters = dict(self.given)

    @property
    def shown(self) -> Shown:
        """Takes out of texts what was ever given for parameters, but for those that may be shown."""
        return shown(self.memory, self.given)

    async def pause(self, resume_after: float = 0.0) -> None:
        """A place to go on from."""
        self.memory.save(self.turn)
        await self.turn.checkpoint(resume_after)

    def asking(self, about: str, text: str) -> Ends:
        """End the turn with a question whose answer may be a bare word."""
        self.memory.asked = about
        return Ends(InputRequired(text))

    async def template(self, name: str | None) -> Template | None:
        """A template of the conversation.

        Raises:
            Ends: there is none of this name.
        """
        if name is None:
            return None
        try:
            return Template(name, (await self.turn.workspace.read(name)).decode())
        except (FileNotFoundError, ValueError):
            self.memory.wish = self.memory.wish.model_copy(update={"template": None})
            text = f"This conversation has no template {name!r}. Send it, or name another file."
            raise Ends(InputRequired(text)) from None

    async def own_template(self, stack: Stack) -> Template:
        """The template that a stack has."""
        return Template(OWN, await self.ros.template(stack.region, stack.stack_id))


def shown(memory: Memory, given: list[tuple[str, str]]) -> Shown:
    """Takes out of texts what was ever given for parameters, but for those that a plan found fit to show."""
    public = memory.plan.parameters if memory.plan else {}
    return Shown([value for name, value in given if name not in public])
