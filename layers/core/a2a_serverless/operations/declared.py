"""Operations that a deployment may leave out, and what the specification answers for those it does (3.3.4).

What a deployment declares on its card is what it serves: both read the same set.
"""

from collections.abc import Mapping

from a2a_serverless.ports import Ports
from a2a_serverless.protocol.errors import (
    A2AError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.operations import Capability, Operation

UNDECLARED: Mapping[Capability, type[A2AError]] = {
    "streaming": UnsupportedOperationError,
    "push_notifications": PushNotificationNotSupportedError,
    "extended_agent_card": UnsupportedOperationError,
}


def require(ports: Ports, operation: Operation) -> None:
    """Refuse an operation whose capability this deployment does not declare, whatever its parameters.

    Raises:
        UnsupportedOperationError: streaming, or the extended card, is not declared.
        PushNotificationNotSupportedError: push notifications are not declared.
    """
    capability = operation.capability
    if capability is not None and capability not in ports.policy.capabilities:
        raise UNDECLARED[capability]
