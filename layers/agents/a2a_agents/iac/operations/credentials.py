"""The credentials for Alibaba Cloud: read from where a reference says, and shown to nobody.

Only references are configured: `secretsmanager:<name or ARN>` or `ssm:<name>`. What lies there is a JSON
object with `accessKeyId`, `accessKeySecret` and, for temporary ones, `securityToken`.
"""

import json
from dataclasses import dataclass, field
from typing import Protocol

from a2a_agents.iac.operations.ros import NotAuthorizedError
from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.aws_values import ParameterValue, SecretsManagerValue
from a2a_serverless.ports.access import UnreadableValueError


@dataclass(frozen=True)
class Credentials:
    """What signs requests. Nothing of it is ever printed."""

    access_key_id: str = field(repr=False)
    access_key_secret: str = field(repr=False)
    security_token: str = field(default="", repr=False)


class KeptValue(Protocol):
    """A secret value that lies somewhere."""

    def read(self) -> str:
        """The value as it is now. Raises UnreadableValueError."""


def kept(reference: str, clients: AwsClients | None = None) -> KeptValue:
    """The value that a reference names.

    Raises:
        NotAuthorizedError: there is no reference, or it is none.
    """
    kind, _, name = reference.partition(":")
    if not reference:
        raise NotAuthorizedError("this deployment names no credentials")
    if kind == "secretsmanager" and name:
        return SecretsManagerValue((clients or AwsClients()).secretsmanager(), name)
    if kind == "ssm" and name:
        return ParameterValue((clients or AwsClients()).ssm(), name)
    raise NotAuthorizedError("what this deployment names as its credentials is no reference to a secret")


def credentials(value: KeptValue) -> Credentials:
    """The credentials as they are now.

    Raises:
        NotAuthorizedError: they cannot be read, or are none.
    """
    try:
        text = value.read()
    except UnreadableValueError as error:
        raise NotAuthorizedError(str(error)) from None
    try:
        found = json.loads(text)
    except ValueError:
        raise NotAuthorizedError("the secret holds no JSON") from None
    if not isinstance(found, dict):
        raise NotAuthorizedError("the secret holds no JSON object")
    names = ("accessKeyId", "accessKeySecret", "securityToken")
    texts = [found.get(name) or "" for name in names]
    if not all(isinstance(one, str) for one in texts):
        raise NotAuthorizedError("the secret's members are not all text")
    for name, one in zip(names[:2], texts, strict=False):
        if not one:
            raise NotAuthorizedError(f"the secret has no {name}")
    return Credentials(*texts)
