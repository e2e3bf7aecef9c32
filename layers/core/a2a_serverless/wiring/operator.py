"""What an operator's commands are made of, for a deployment on AWS or on the local stack.

Which deployment is meant is said by the name of its stack, by the variables that its functions read, or by
there being only one; what a stack tells of itself is put into the words of those variables first, so that
there is one way to read them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from a2a_serverless.adapters.aws_access import check_address, session
from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.cloudformation_stacks import CloudFormationStacks, Stack
from a2a_serverless.adapters.dynamodb_documents import DynamoDocuments
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uncounted_metrics import UncountedMetrics
from a2a_serverless.operations.webhooks import delivering
from a2a_serverless.ports import Ports
from a2a_serverless.ports.signing_keys import KeyPorts
from a2a_serverless.settings import OperatorSettings
from a2a_serverless.wiring.webhooks import key_ports
from a2a_serverless.wiring.world import ports

OUTPUTS: Mapping[str, str] = {
    "TasksTable": "TASKS_TABLE",
    "ContentBucket": "CONTENT_BUCKET",
    "TurnStateMachineArn": "TURN_STATE_MACHINE_ARN",
    "PokesQueueUrl": "POKES_QUEUE_URL",
    "DeadLettersQueueUrl": "DEAD_LETTERS_QUEUE_URL",
    "SecretsKeyArn": "SECRETS_KEY",
    # Where the part that is remembered stands alone, as on the local stack.
    "TableName": "TASKS_TABLE",
    "BucketName": "CONTENT_BUCKET",
}
"""The variables that a stack's outputs are the values of."""

PARAMETERS: Mapping[str, str] = {
    "SigningKeyDays": "SIGNING_KEY_DAYS",
    "WebhookAgeSeconds": "WEBHOOK_AGE_SECONDS",
}
"""The variables that its parameters are the values of."""


class NoDeploymentError(Exception):
    """There is no such deployment, or none with webhooks."""


class AmbiguousDeploymentError(Exception):
    """There are several deployments, and none was named."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which deployment is meant, and as whom it is reached; what is None is as the environment has it."""

    stack: str | None = None
    region: str | None = None
    profile: str | None = None
    endpoint_url: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """A deployment as its operator reaches it; `keys` raises ModuleNotFoundError without what makes keys."""

    deployment: str
    ports: Ports
    keys: Callable[[], KeyPorts]


def operator(access: Access) -> Operator:
    """The deployment that is meant.

    Raises:
        NoDeploymentError, AmbiguousDeploymentError: which it is cannot be said.
        SettingsError: what it tells of itself is not enough.
        NotAwsError: something else answers where AWS is said to be.
    """
    name, said, clients = _reached(access)
    if not said.delivers:
        raise NoDeploymentError(f"{name} delivers to no webhooks: it was deployed with Webhooks=off")
    return _made(name, said, clients)


def documents(access: Access, kind: str) -> DynamoDocuments:
    """The documents of a kind that operators keep in the deployment; raises as `operator` does."""
    _, said, clients = _reached(access)
    return DynamoDocuments(DynamoTable(clients.dynamodb(), said.tasks_table, SystemClock()), kind)


def _reached(access: Access) -> tuple[str, OperatorSettings, AwsClients]:
    """The deployment's name, what it tells of itself, and AWS as it is reached."""
    said = OperatorSettings.from_environment({}) if access.stack else OperatorSettings.from_environment()
    name = said.tasks_table
    reached = session(region=access.region, profile=access.profile, endpoint_url=access.endpoint_url)
    clients = AwsClients(reached)
    if access.endpoint_url is not None:
        check_address(clients, access.endpoint_url)
    if not name:
        stack = _stack(CloudFormationStacks(clients.cloudformation()), access.stack)
        name, said = stack.name, OperatorSettings.from_environment(_variables(stack))
    return name, said, clients


def _stack(stacks: CloudFormationStacks, name: str | None) -> Stack:
    if name is not None:
        found = stacks.read(name)
        if found is None:
            raise NoDeploymentError(f"there is no stack {name} in this account and Region")
        if "TASKS_TABLE" not in _variables(found):
            raise NoDeploymentError(f"stack {name} is no deployment of a2a-serverless")
        return found
    deployments = list(_deployments(stacks))
    if not deployments:
        raise NoDeploymentError("there is no deployment in this account and Region: name one with --stack")
    if len(deployments) > 1:
        names = ", ".join(sorted(each.name for each in deployments))
        raise AmbiguousDeploymentError(f"there are several deployments: name one with --stack ({names})")
    return deployments[0]


def _deployments(stacks: CloudFormationStacks) -> Iterator[Stack]:
    for stack in stacks.read_all():
        if not stack.nested and {"TASKS_TABLE", "CONTENT_BUCKET"} <= _variables(stack).keys():
            yield stack


def _variables(stack: Stack) -> dict[str, str]:
    """What the stack tells, in the words of the variables of its functions."""
    outputs = {OUTPUTS[name]: value for name, value in stack.outputs.items() if name in OUTPUTS}
    parameters = {PARAMETERS[name]: value for name, value in stack.parameters.items() if name in PARAMETERS}
    return outputs | parameters


def _made(name: str, said: OperatorSettings, clients: AwsClients) -> Operator:
    made = replace(ports(said, clients=clients), metrics=UncountedMetrics())

    def keys() -> KeyPorts:
        table = DynamoTable(clients.dynamodb(), said.tasks_table, made.clock)
        return key_ports(said, table, delivering(made).seals, made.clock)

    return Operator(name, made, keys)
