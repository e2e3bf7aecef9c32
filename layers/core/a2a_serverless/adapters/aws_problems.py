"""What AWS, or the way to it, has against a request, in one sentence for whoever typed it.

The only place that reads botocore's errors for people. The sentences say what to do about the errors that
people cause; of the others they say what AWS said.
"""

from collections.abc import Sequence
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
from botocore.parsers import ResponseParserError

from a2a_serverless.adapters.dynamodb_table import UnansweredKeysError
from a2a_serverless.adapters.sqs_pokes import QueueRefusedError

AWS_ERRORS = (BotoCoreError, ClientError, ResponseParserError)
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


NEVER_REACHED: Sequence[tuple[type[Exception], str]] = (
    (
        NoCredentialsError,
        "no AWS credentials were found: sign in, name a --profile, or set AWS_ACCESS_KEY_ID",
    ),
    (PartialCredentialsError, "{}"),
    (CredentialRetrievalError, "{}"),
    (SSOError, "{}"),
    (ProfileNotFound, "{}"),
    (NoRegionError, "no AWS Region is set: name one with --region, or set AWS_REGION"),
    (UnreachableError, "AWS cannot be reached: {}"),
    (HTTPClientError, "AWS cannot be reached: {}"),
    (ResponseParserError, "what answered is not AWS, or was cut off on the way"),
)
"""The errors that come before AWS has looked at a request, and what is said of each (`{}`: its own words)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence; `unreachable` says that AWS was not reached at all, or not as somebody it knows."""

    text: str
    unreachable: bool


def explain(error: Exception) -> Problem:
    """The sentence for one of `AWS_ERRORS`."""
    for kind, sentence in NEVER_REACHED:
        if isinstance(error, kind):
            return Problem(sentence.format(_one_line(str(error))), unreachable=True)
    return (
        _refusal(error)
        if isinstance(error, ClientError)
        else Problem(_one_line(str(error)), unreachable=False)
    )


def _refusal(error: ClientError) -> Problem:
    said = error.response.get("Error", {})
    code, message = said.get("Code", "an error"), _one_line(said.get("Message", ""))
    text = f"AWS refused {error.operation_name}: {code}{f' ({message})' if message else ''}"
    return Problem(text, unreachable=code in NOT_ACCEPTED)


def _one_line(text: str) -> str:
    return " ".join(text.split())
