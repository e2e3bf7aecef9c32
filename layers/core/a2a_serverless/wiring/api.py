"""What the bindings answer from: the world, the agent's profile, who is let in. Never loads the agent."""

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.bindings.service import Endpoint
from a2a_serverless.settings import Settings
from a2a_serverless.wiring.decided import admittance, policy
from a2a_serverless.wiring.deployer import answer, profile
from a2a_serverless.wiring.world import ports


def endpoint(settings: Settings) -> Endpoint:
    """What a binding answers from."""
    clients = AwsClients()
    return Endpoint(
        ports(settings, policy(settings, profile(settings)), answer(settings), clients),
        admittance(settings, clients),
        streaming=settings.streaming,
        stream_time=settings.stream_time,
    )
