"""The skill `iac_generation`: a model writes a template, the check finds what is wrong, the model repairs it.

Which model it is, the deployment says in `IAC_MODEL`. What the model says is never run: its tools write text
files under names that stay inside, read them, and ask the caller.
"""

from collections.abc import AsyncIterator

from a2a_agents.iac.operations.loading import loaded
from a2a_agents.iac.skills import Deployment
from a2a_serverless.agent import Turn, Update


async def run(turn: Turn) -> AsyncIterator[Update]:
    """The work of one turn, in the deployment this process belongs to."""
    deployed = await loaded(turn, "a2a_agents.iac.generation.deployed")
    async for update in deployed.run(turn, Deployment.from_environment()):
        yield update
