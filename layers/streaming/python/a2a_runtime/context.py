"""The context object a handler gets as its second argument, with the attributes of the stock runtime.

AWS: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html. Values come from the headers of the
invocation and from the
environment mapping passed in; the clock is a function passed in.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

from a2a_runtime.api import Invocation


@dataclass(frozen=True)
class LambdaContext:
    """What Lambda says about this invocation and this environment."""

    aws_request_id: str
    invoked_function_arn: str
    deadline_ms: int
    """When Lambda kills this environment if the invocation still runs, in milliseconds since 1970."""
    function_name: str | None
    function_version: str | None
    memory_limit_in_mb: str | None
    log_group_name: str | None
    log_stream_name: str | None
    tenant_id: str | None = None
    client_context: SimpleNamespace | None = None
    identity: SimpleNamespace = field(default_factory=SimpleNamespace)
    clock: Callable[[], float] = field(default=time.time, repr=False)

    def get_remaining_time_in_millis(self) -> int:
        """Return how long the invocation may still run; never negative."""
        return max(0, self.deadline_ms - int(self.clock() * 1000))


def context_of(invocation: Invocation, environ: Mapping[str, str]) -> LambdaContext:
    """Build the context of one invocation.

    Raises:
        ValueError: A header that must be a number or JSON is not.
    """
    headers = invocation.headers
    return LambdaContext(
        aws_request_id=invocation.request_id,
        invoked_function_arn=headers.get("lambda-runtime-invoked-function-arn", ""),
        deadline_ms=int(headers.get("lambda-runtime-deadline-ms", "0")),
        function_name=environ.get("AWS_LAMBDA_FUNCTION_NAME"),
        function_version=environ.get("AWS_LAMBDA_FUNCTION_VERSION"),
        memory_limit_in_mb=environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"),
        log_group_name=environ.get("AWS_LAMBDA_LOG_GROUP_NAME"),
        log_stream_name=environ.get("AWS_LAMBDA_LOG_STREAM_NAME"),
        tenant_id=headers.get("lambda-runtime-aws-tenant-id"),
        client_context=_client_context(headers.get("lambda-runtime-client-context")),
        identity=_identity(headers.get("lambda-runtime-cognito-identity")),
    )


def _client_context(header: str | None) -> SimpleNamespace | None:
    if not header:
        return None
    given = json.loads(header)
    return SimpleNamespace(
        client=SimpleNamespace(**given.get("client") or {}), custom=given.get("custom"), env=given.get("env")
    )


def _identity(header: str | None) -> SimpleNamespace:
    given = json.loads(header) if header else {}
    return SimpleNamespace(
        cognito_identity_id=given.get("cognitoIdentityId"),
        cognito_identity_pool_id=given.get("cognitoIdentityPoolId"),
    )
