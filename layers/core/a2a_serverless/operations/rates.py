"""How often a caller may call, asked before anything else is done for them.

Limits guard what costs: a turn of the agent, the table. Where it cannot be said how often somebody has
called, the call is let through and the deployment hears of it: limits that stop everybody protect nobody.
"""

from collections.abc import Mapping
from math import ceil

from a2a_serverless.ports import Ports
from a2a_serverless.ports.limits import Bucket, OperationClass, UncountedError
from a2a_serverless.protocol.errors import RateLimitedError

CREATE_FILE = "CreateFile"
"""What asking for an upload is called; the specification has no name for it."""

CLASSES: Mapping[str, OperationClass] = {
    "SendMessage": OperationClass.SEND,
    "SendStreamingMessage": OperationClass.SEND,
    "GetTask": OperationClass.READ,
    "ListTasks": OperationClass.READ,
    "SubscribeToTask": OperationClass.READ,
    "GetTaskPushNotificationConfig": OperationClass.READ,
    "ListTaskPushNotificationConfigs": OperationClass.READ,
    "GetExtendedAgentCard": OperationClass.READ,
    "CancelTask": OperationClass.WRITE,
    "CreateTaskPushNotificationConfig": OperationClass.WRITE,
    "DeleteTaskPushNotificationConfig": OperationClass.WRITE,
    CREATE_FILE: OperationClass.WRITE,
}
"""What is counted together. Content of a task is read like the task."""


def count_call(ports: Ports, method: str, *, tenant: str, owner: str) -> None:
    """Count a call of an operation; `tenant` is one that the caller is known to belong to, else empty.

    Raises:
        RateLimitedError: the caller has called too often of late; nothing was done.
    """
    operations = CLASSES[method]
    limit = ports.policy.rate_limits.get(operations)
    if limit is None or ports.rate_limits is None:
        return
    try:
        wait = ports.rate_limits.take(Bucket(tenant, owner, operations), limit)
    except UncountedError as error:
        ports.metrics.count("CallUncounted")
        ports.incidents.report(error, operation=method)
        return
    if wait is not None:
        ports.metrics.count("CallRateLimited", operations=operations)
        raise RateLimitedError(retry_after=ceil(wait.total_seconds()))
