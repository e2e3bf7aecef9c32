"""Values that lie where a setting says: in Secrets Manager, in the parameter store, or in the setting."""

from dataclasses import dataclass, field

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.ports.access import SecretValue


@dataclass(frozen=True, slots=True)
class InlineValue:
    """A value that does not change."""

    value: str = field(repr=False)

    def read(self) -> str:
        """The value."""
        return self.value


def kept_value(reference: str, clients: AwsClients) -> SecretValue:
    """The value at `secretsmanager:<name or ARN>` or `ssm:<name>`, or what follows `inline:`."""
    from a2a_serverless.adapters.aws_values import (  # noqa: PLC0415  most deployments keep nothing there
        ParameterValue,
        SecretsManagerValue,
    )

    kind, _, rest = reference.partition(":")
    if kind == "inline":
        return InlineValue(rest)
    if kind == "ssm":
        return ParameterValue(clients.ssm(), rest)
    return SecretsManagerValue(clients.secretsmanager(), rest)
