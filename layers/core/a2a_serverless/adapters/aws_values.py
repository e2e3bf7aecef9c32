"""Values that lie in AWS Secrets Manager or in SSM's parameter store, read anew each time they are asked."""

from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from a2a_serverless.ports.access import UnreadableValueError


class SecretsManagerClient(Protocol):
    """What is used of Secrets Manager's client."""

    def get_secret_value(self, *, SecretId: str) -> Any:  # noqa: ANN401, N803  as AWS has them
        """https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html."""


class SsmClient(Protocol):
    """What is used of Systems Manager's client."""

    def get_parameter(self, *, Name: str, WithDecryption: bool) -> Any:  # noqa: ANN401, N803  as AWS has them
        """https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html."""


class SecretsManagerValue:
    """The current version of one secret, by name or ARN; it must be text."""

    def __init__(self, client: SecretsManagerClient, secret: str) -> None:
        self._client = client
        self._secret = secret

    def read(self) -> str:
        """The secret as it is now."""
        try:
            answer = self._client.get_secret_value(SecretId=self._secret)
        except (ClientError, BotoCoreError) as error:
            raise UnreadableValueError(f"the secret cannot be read: {_reason(error)}") from None
        text = answer.get("SecretString")
        if not isinstance(text, str):
            raise UnreadableValueError("the secret is not text")
        return text


class ParameterValue:
    """The current version of one parameter, decrypted where it is a SecureString."""

    def __init__(self, client: SsmClient, name: str) -> None:
        self._client = client
        self._name = name

    def read(self) -> str:
        """The parameter as it is now."""
        try:
            answer = self._client.get_parameter(Name=self._name, WithDecryption=True)
        except (ClientError, BotoCoreError) as error:
            raise UnreadableValueError(f"the parameter cannot be read: {_reason(error)}") from None
        return str(answer["Parameter"]["Value"])


def _reason(error: ClientError | BotoCoreError) -> str:
    """What kind of refusal it was; a message of AWS's may repeat ARNs."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "refused"))
    return type(error).__name__
