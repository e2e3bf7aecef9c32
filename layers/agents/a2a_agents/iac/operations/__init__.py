"""The skill `aliyun_ros_operations`: creates, updates, repairs, deletes, follows and diagnoses ROS stacks.

Nothing in the cloud is changed without the caller's permission, asked for before every change with what it
would do. While ROS is at work nothing runs here: the turn ends at a checkpoint and is called again. What
others must not know (credentials, parameters that are not echoed) is in no message, state or log of it.
"""

import asyncio
from collections.abc import AsyncIterator

from a2a_agents.iac.catalogue import ROS_CREDENTIALS
from a2a_agents.iac.operations.credentials import credentials, kept
from a2a_agents.iac.operations.ros import Ros
from a2a_agents.iac.operations.work import operate
from a2a_agents.iac.skills import Deployment
from a2a_serverless.agent import Turn, Update

ENDPOINT = "IAC_ROS_ENDPOINT"
"""Variable: where ROS is, if not where its SDK knows it to be."""
REGION = "IAC_REGION"
"""Variable: the region that is meant where nobody names one."""


def run(turn: Turn) -> AsyncIterator[Update]:
    """The work of one turn, in the deployment this process belongs to."""
    deployment = Deployment.from_environment()
    return operate(turn, lambda: connected(deployment), region=deployment.says(REGION))


async def connected(deployment: Deployment) -> Ros:
    """ROS, with the credentials as they are now.

    Raises:
        NotAuthorizedError: there are none.
    """
    # The SDK takes most of a second to load: only who uses it waits for it.
    from a2a_agents.iac.operations.aliyun_ros import AliyunRos  # noqa: PLC0415

    reference = deployment.says(ROS_CREDENTIALS)
    found = await asyncio.to_thread(lambda: credentials(kept(reference)))
    return AliyunRos(found, endpoint=deployment.says(ENDPOINT))
