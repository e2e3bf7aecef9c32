"""The context object (AWS: Lambda context object in Python)."""

from a2a_runtime.api import Invocation
from a2a_runtime.context import LambdaContext, context_of

ENVIRONMENT = {
    "AWS_LAMBDA_FUNCTION_NAME": "stack-turn",
    "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/stack-turn",
    "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
}


def built(headers: dict[str, str]) -> LambdaContext:
    return context_of(Invocation("request-1", b"{}", headers), ENVIRONMENT)


def test_the_context_names_the_invocation_and_the_function() -> None:
    context = built(
        {"lambda-runtime-invoked-function-arn": "arn:aws:lambda:x", "lambda-runtime-deadline-ms": "5"}
    )

    assert context.aws_request_id == "request-1"
    assert context.invoked_function_arn == "arn:aws:lambda:x"
    assert context.function_name == "stack-turn"
    assert context.function_version == "$LATEST"
    assert context.memory_limit_in_mb == "512"
    assert context.log_group_name == "/aws/lambda/stack-turn"
    assert context.log_stream_name == "stream"
    assert context.client_context is None
    assert context.identity.cognito_identity_id is None


def test_the_remaining_time_counts_down_to_the_deadline_and_never_below_zero() -> None:
    moments = iter([10.0, 12.5, 99.0])
    context = LambdaContext("r", "a", 15_000, "f", "1", "128", "g", "s", clock=lambda: next(moments))

    assert [context.get_remaining_time_in_millis() for _ in range(3)] == [5_000, 2_500, 0]


def test_what_a_mobile_client_sent_along_is_decoded() -> None:
    context = built(
        {
            "lambda-runtime-client-context": '{"client": {"app_title": "t"}, "custom": {"a": 1}}',
            "lambda-runtime-cognito-identity": '{"cognitoIdentityId": "i", "cognitoIdentityPoolId": "p"}',
        }
    )

    assert context.client_context is not None
    assert context.client_context.client.app_title == "t"
    assert context.client_context.custom == {"a": 1}
    assert (context.identity.cognito_identity_id, context.identity.cognito_identity_pool_id) == ("i", "p")
