"""What AWS, or the way to it, has against a request, in one sentence for whoever typed it.

The only place that reads botocore's errors for people. The sentences say what to do about the errors that
people cause; of the others they say what AWS said.
"""

from dataclasses import dataclass

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
)
from botocore.exceptions import ConnectionError as UnreachableError

from a2a_serverless.adapters.dynamodb_table import UnansweredKeysError
from a2a_serverless.adapters.sqs_pokes import QueueRefusedError

AWS_ERRORS = (BotoCoreError, ClientError)
"""Whatever AWS's SDK raises."""

OUR_ERRORS = (QueueRefusedError, UnansweredKeysError)
"""What the adapters raise when AWS does only a part of what it is asked."""

NOT_ACCEPTED = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
"""Codes by which AWS says that it does not know whoever asks."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence; `unreachable` says that AWS was not reached at all, or not as somebody it knows."""

    text: str
    unreachable: bool


def explain(error: Exception) -> Problem:
    """The sentence for one of `AWS_ERRORS`."""
    match error:
        case NoCredentialsError():
            return Problem(
                "no AWS credentials were found: sign in, name a --profile, or set AWS_ACCESS_KEY_ID",
                unreachable=True,
            )
        case PartialCredentialsError() | CredentialRetrievalError() | SSOError() | ProfileNotFound():
            return Problem(_sentence(error), unreachable=True)
        case NoRegionError():
            return Problem(
                "no AWS Region is set: name one with --region, or set AWS_REGION", unreachable=True
            )
        case UnreachableError() | HTTPClientError():
            return Problem(f"AWS cannot be reached: {_sentence(error)}", unreachable=True)
        case ClientError():
            return _refusal(error)
    return Problem(_sentence(error), unreachable=False)


def _refusal(error: ClientError) -> Problem:
    said = error.response.get("Error", {})
    code, message = said.get("Code", "an error"), " ".join(said.get("Message", "").split())
    text = f"AWS refused {error.operation_name}: {code}{f' ({message})' if message else ''}"
    return Problem(text, unreachable=code in NOT_ACCEPTED)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
