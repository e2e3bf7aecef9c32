"""The skill `aliyun_ros_operations`: creates, updates, repairs, deletes, follows and diagnoses ROS stacks.

Nothing in the cloud is changed without the caller's permission, asked for before every change with what it
would do. While ROS is at work nothing runs here: the turn ends at a checkpoint and is called again. What
others must not know (credentials, parameters that are not echoed) is in no message, state or log of it.
"""

from collections.abc import AsyncIterator

from a2a_agents.iac.operations.loading import loaded
from a2a_agents.iac.skills import Deployment
from a2a_serverless.agent import Turn, Update

REGION = "IAC_REGION"
"""Variable: the region that is meant where nobody names one."""


async def run(turn: Turn) -> AsyncIterator[Update]:
    """The work of one turn, in the deployment this process belongs to."""
    deployment = Deployment.from_environment()
    work = await loaded(turn, "a2a_agents.iac.operations.work")
    connecting = await loaded(turn, "a2a_agents.iac.operations.connecting")

    async for update in work.operate(
        turn, lambda: connecting.connected(deployment), region=deployment.says(REGION)
    ):
        yield update
