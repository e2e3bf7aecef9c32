"""The skill `iac_generation`: a model writes a template, the check finds what is wrong, the model repairs it.

Which model it is, the deployment says in `IAC_MODEL`. What the model says is never run: its tools write text
files under names that stay inside, read them, and ask the caller.
"""

from collections.abc import AsyncIterator

from a2a_agents.iac.catalogue import MODEL, ROS_CREDENTIALS
from a2a_agents.iac.generation.checking import Check, checker
from a2a_agents.iac.generation.models import UnusableModelError, model_named
from a2a_agents.iac.generation.writing import write
from a2a_agents.iac.operations import REGION, connected
from a2a_agents.iac.skills import Deployment
from a2a_serverless.agent import Rejected, Turn, Update


async def run(turn: Turn) -> AsyncIterator[Update]:
    """The work of one turn, in the deployment this process belongs to."""
    deployment = Deployment.from_environment()
    try:
        model = model_named(deployment.says(MODEL))
    except UnusableModelError as error:
        yield Rejected(f"Templates cannot be written here: {error}.")
        return
    connect = (lambda: connected(deployment)) if deployment.says(ROS_CREDENTIALS) else None

    def checks(region: str) -> Check:
        return checker(connect, region)

    async for update in write(turn, model, checks, region=deployment.says(REGION)):
        yield update
