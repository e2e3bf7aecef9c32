"""What AWS has against a request is one sentence, and whether it was reached at all is known."""

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ReadTimeoutError,
    SSLError,
    UnauthorizedSSOTokenError,
)
from botocore.parsers import ResponseParserError

from a2a_serverless.adapters.aws_problems import AWS_ERRORS, explain

URL = "https://sqs.eu-west-1.amazonaws.com"


def refused(code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "SendMessage")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoCredentialsError(), "no AWS credentials were found"),
        (NoRegionError(), "no AWS Region is set"),
        (CredentialRetrievalError(provider="sso", error_msg="it is\nover"), "it is over"),
        (UnauthorizedSSOTokenError(), "SSO"),
        (EndpointConnectionError(endpoint_url=URL), "AWS cannot be reached"),
        (ConnectTimeoutError(endpoint_url=URL), "AWS cannot be reached"),
        (ReadTimeoutError(endpoint_url=URL), "AWS cannot be reached"),
        (SSLError(endpoint_url=URL, error="unknown authority"), "unknown authority"),
        (ResponseParserError("<html>\n" * 100), "what answered is not AWS"),
        (
            refused("ExpiredToken", "The token\nhas expired"),
            "AWS refused SendMessage: ExpiredToken (The token has",
        ),
        (refused("UnrecognizedClientException"), "AWS refused SendMessage: UnrecognizedClientException"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)
def test_who_did_not_get_through_to_aws_is_told_why(error: Exception, words: str) -> None:
    problem = explain(error)

    assert isinstance(error, AWS_ERRORS)
    assert problem.unreachable
    assert words in problem.text
    assert len(problem.text.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (refused("AccessDenied", "You may not"), "AWS refused SendMessage: AccessDenied (You may not)"),
        (refused("Throttling"), "AWS refused SendMessage: Throttling"),
        (ClientError({}, "SendMessage"), "AWS refused SendMessage: an error"),
        (ParamValidationError(report="a\nb"), "Parameter validation failed: a b"),
    ],
)
def test_what_aws_itself_refuses_is_told_in_its_words(error: Exception, words: str) -> None:
    problem = explain(error)

    assert (problem.text, problem.unreachable) == (words, False)
