"""Operations a deployment does not declare (specification 3.3.4)."""

import pytest

from a2a_serverless.operations.declared import UNDECLARED, require
from a2a_serverless.ports import Policy
from a2a_serverless.protocol.errors import (
    A2AError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_serverless.protocol.operations import OPERATIONS, Operation
from tests.fakes.ports import fake_ports

REFUSALS: dict[str, type[A2AError]] = {
    "SendStreamingMessage": UnsupportedOperationError,
    "SubscribeToTask": UnsupportedOperationError,
    "CreateTaskPushNotificationConfig": PushNotificationNotSupportedError,
    "GetTaskPushNotificationConfig": PushNotificationNotSupportedError,
    "ListTaskPushNotificationConfigs": PushNotificationNotSupportedError,
    "DeleteTaskPushNotificationConfig": PushNotificationNotSupportedError,
    "GetExtendedAgentCard": UnsupportedOperationError,
}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.method)
def test_an_operation_is_refused_exactly_where_its_capability_is_not_declared(operation: Operation) -> None:
    bare, full = Policy(), Policy(capabilities=frozenset(UNDECLARED))

    require(fake_ports(policy=full), operation)
    if operation.method not in REFUSALS:
        require(fake_ports(policy=bare), operation)
        return
    with pytest.raises(REFUSALS[operation.method]):
        require(fake_ports(policy=bare), operation)
