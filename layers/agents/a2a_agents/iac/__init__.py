"""The agent for infrastructure as code: writes, reviews and packs templates, and runs ROS stacks.

Only the routing is here. A skill's work, and the libraries it takes, are loaded when a message is for it; the
card names the skills that work in the deployment it is the card of.
"""

from collections.abc import AsyncGenerator, AsyncIterator

from a2a_agents.iac.catalogue import ARCHIVE_INPUT, SKILLS, TEMPLATE_INPUT
from a2a_agents.iac.routing import INTENTS, ROUTE, Router
from a2a_agents.iac.skills import Deployment, Skill
from a2a_serverless.agent import (
    Agent,
    AgentProfile,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Rejected,
    Turn,
    Update,
)

ENDS = (Completed, Failed, Rejected)


def router(deployment: Deployment) -> Router:
    """How this agent's messages find their skill in a deployment."""
    return Router(SKILLS, deployment, INTENTS, files_mean="iac_review")


def described(routing: Router) -> AgentProfile:
    """What the agent says about itself: its skills are the ones that work here."""
    return AgentProfile(
        name="Infrastructure as Code Agent",
        description=(
            "Works on infrastructure as code for Alibaba Cloud ROS, Terraform and AWS CloudFormation. A"
            " message names the skill it is for in metadata.skill; else its words decide."
        ),
        skills=tuple(skill.card for skill in routing.offered()),
        input_modes=(*TEMPLATE_INPUT, *ARCHIVE_INPUT),
        output_modes=(
            "text/plain",
            "text/markdown",
            "application/yaml",
            "application/json",
            "application/sarif+json",
        ),
    )


def routed(routing: Router) -> Agent:
    """The agent whose messages find their skill so."""

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        """Find the skill, and let it work; what it asks is answered to it."""
        skill = routing.route(turn)
        if not isinstance(skill, Skill):
            yield skill
            return
        turn.state[ROUTE] = {"task": turn.task_id, "skill": skill.id}
        updates = skill.run(turn)
        try:
            async for update in updates:
                if isinstance(update, ENDS):
                    turn.state.pop(ROUTE, None)
                yield update
                if isinstance(update, (InputRequired, AuthRequired, *ENDS)):
                    return
        finally:
            if isinstance(updates, AsyncGenerator):
                await updates.aclose()
        turn.state.pop(ROUTE, None)

    return agent


_ROUTER = router(Deployment.from_environment())

profile = described(_ROUTER)
agent = routed(_ROUTER)
