"""ROS as a deployment reaches it. Loading this loads the SDK, which takes most of a second."""

import asyncio

from a2a_agents.iac.catalogue import ROS_CREDENTIALS
from a2a_agents.iac.operations.aliyun_ros import AliyunRos
from a2a_agents.iac.operations.credentials import credentials, kept
from a2a_agents.iac.skills import Deployment

ENDPOINT = "IAC_ROS_ENDPOINT"
"""Variable: where ROS is, if not where its SDK knows it to be."""


async def connected(deployment: Deployment) -> AliyunRos:
    """ROS, with the credentials as they are now.

    Raises:
        NotAuthorizedError: there are none.
    """
    reference = deployment.says(ROS_CREDENTIALS)
    found = await asyncio.to_thread(lambda: credentials(kept(reference)))
    return AliyunRos(found, endpoint=deployment.says(ENDPOINT))
