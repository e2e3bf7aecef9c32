"""The skill as a deployment configures it: its model, its region, and ROS where it may be asked."""

from collections.abc import AsyncIterator

from a2a_agents.iac.catalogue import MODEL, ROS_CREDENTIALS
from a2a_agents.iac.generation.checking import Check, checker
from a2a_agents.iac.generation.models import UnusableModelError, model_named
from a2a_agents.iac.generation.writing import write
from a2a_agents.iac.operations import REGION
from a2a_agents.iac.operations.ros import Ros
from a2a_agents.iac.skills import Deployment
from a2a_serverless.agent import Rejected, Turn, Update


async def run(turn: Turn, deployment: Deployment) -> AsyncIterator[Update]:
    """The work of one turn."""
    try:
        model = model_named(deployment.says(MODEL))
    except UnusableModelError as error:
        yield Rejected(f"Templates cannot be written here: {error}.")
        return

    async def connect() -> Ros:
        from a2a_agents.iac.operations.connecting import connected  # noqa: PLC0415  loads the SDK

        return await connected(deployment)

    def checks(region: str) -> Check:
        return checker(connect if deployment.says(ROS_CREDENTIALS) else None, region)

    async for update in write(turn, model, checks, region=deployment.says(REGION)):
        yield update
