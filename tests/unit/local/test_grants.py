"""What the local stack takes for granted, and what it refuses, as IAM would."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from infra.local.aws_calls import call_of, calls_of, signer
from infra.local.grants import Call, Grant, lacking, matches
from infra.local.intrinsics import UnresolvableError
from infra.local.moto_grants import CALLS_MADE, Guard
from infra.local.wire import Request

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/tasks"
READ = Grant(("dynamodb:GetItem", "dynamodb:BatchGetItem"), (TABLE,))


def signed(service: str, *headers: tuple[str, str], body: object = None, **changed: Any) -> Request:
    """A request as a function's client signs it."""
    signature = (
        f"AWS4-HMAC-SHA256 Credential=card-local/20261130/us-east-1/{service}/aws4_request, Signature=0"
    )
    whole = {"method": "POST", "target": "/", "client": "127.0.0.1", **changed}
    return Request(
        headers=(("Authorization", signature), *headers),
        body=b"" if body is None else json.dumps(body).encode(),
        **whole,
    )


def asked(service: str, operation: str, body: object) -> Call:
    """The call that a request of a service with JSON is."""
    return call_of(signed(service, ("X-Amz-Target", f"Anything_2026.{operation}"), body=body), service)


# --- what a policy says ------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "is_one"),
    [
        ("a:b", "a:b", True),
        ("a:b", "a:bc", False),
        ("a:*", "a:b/c", True),
        ("a:*", "b:a", False),
        ("s-??????", "s-AbCdEf", True),
        ("s-??????", "s-AbCdE", False),
        ("a.c", "abc", False),
        ("[a]", "a", False),
        ("a:*", "a:b\nc", True),
    ],
)
def test_a_pattern_has_two_signs_and_means_all_else_as_it_stands(
    pattern: str, text: str, *, is_one: bool
) -> None:
    assert matches(pattern, text) is is_one


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (Call("dynamodb:GetItem", (TABLE,)), None),
        (Call("dynamodb:PutItem", (TABLE,)), TABLE),
        (Call("dynamodb:GetItem", (f"{TABLE}/index/due",)), f"{TABLE}/index/due"),
        (Call("dynamodb:BatchGetItem", (TABLE, "other")), "other"),
    ],
)
def test_a_call_is_granted_on_all_its_resources_or_lacks_the_first(call: Call, missing: str | None) -> None:
    assert lacking([READ], call) == missing


def test_nothing_is_granted_by_no_grant() -> None:
    assert lacking([], Call("dynamodb:GetItem", (TABLE,))) == TABLE


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        (("KEYS#webhooks",), None),
        (("CARD#1", "KEYS#webhooks"), None),
        (("CARD#1", "TASK#1"), TABLE),
        ((), TABLE),
    ],
)
def test_a_condition_on_keys_holds_for_every_key_there_is(keys: tuple[str, ...], missing: str | None) -> None:
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["KEYS#webhooks", "CARD#*"]}}
    statement = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": TABLE, "Condition": condition}

    assert lacking([Grant.declared(statement)], Call("dynamodb:GetItem", (TABLE,), keys)) == missing


def test_what_a_service_may_do_for_a_function_the_function_may_not() -> None:
    condition = {"StringEquals": {"kms:ViaService": "ssm.us-east-1.amazonaws.com"}}
    statement = {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": "key", "Condition": condition}

    assert lacking([Grant.declared(statement)], Call("kms:Decrypt", ("key",))) == "key"


@pytest.mark.parametrize(
    "odd", [{"Effect": "Deny"}, {"Condition": {"Bool": {"aws:SecureTransport": "true"}}}]
)
def test_a_statement_that_is_not_understood_is_not_passed_over(odd: Mapping[str, Any]) -> None:
    statement = {"Effect": "Allow", "Action": "a:b", "Resource": "*", **odd}

    with pytest.raises(UnresolvableError):
        Grant.declared(statement)


# --- what a request is ------------------------------------------------

ACCOUNT = "us-east-1:123456789012"
KEY = {"pk": {"S": "TASK#1"}, "sk": {"S": "HEAD"}}


@pytest.mark.parametrize(
    ("service", "operation", "body", "call"),
    [
        (
            "dynamodb",
            "GetItem",
            {"TableName": "tasks", "Key": KEY},
            Call("dynamodb:GetItem", (TABLE,), ("TASK#1",)),
        ),
        (
            "dynamodb",
            "PutItem",
            {"TableName": "tasks", "Item": {**KEY, "a": {"S": "b"}}},
            Call("dynamodb:PutItem", (TABLE,), ("TASK#1",)),
        ),
        (
            "dynamodb",
            "BatchGetItem",
            {"RequestItems": {"tasks": {"Keys": [KEY, KEY, {"pk": {"S": "x"}}]}}},
            Call("dynamodb:BatchGetItem", (TABLE,), ("TASK#1", "x")),
        ),
        (
            "dynamodb",
            "Query",
            {"TableName": "tasks", "IndexName": "due"},
            Call("dynamodb:Query", (f"{TABLE}/index/due",)),
        ),
        (
            "sqs",
            "SendMessageBatch",
            {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/pokes"},
            Call("sqs:SendMessage", (f"arn:aws:sqs:{ACCOUNT}:pokes",)),
        ),
        ("kms", "Sign", {"KeyId": "alias/card"}, Call("kms:Sign", (f"arn:aws:kms:{ACCOUNT}:alias/card",))),
        ("kms", "Sign", {"KeyId": "arn:k"}, Call("kms:Sign", ("arn:k",))),
        (
            "kms",
            "Decrypt",
            {"CiphertextBlob": base64.b64encode(b"0f7c8a1e-0000-4000-8000-000000000000 sealed").decode()},
            Call("kms:Decrypt", (f"arn:aws:kms:{ACCOUNT}:key/0f7c8a1e-0000-4000-8000-000000000000",)),
        ),
        ("states", "StartExecution", {"stateMachineArn": "arn:m"}, Call("states:StartExecution", ("arn:m",))),
        ("states", "StopExecution", {"executionArn": "arn:e"}, Call("states:StopExecution", ("arn:e",))),
        (
            "events",
            "PutEvents",
            {"Entries": [{"EventBusName": "tasks"}, {"EventBusName": "arn:bus"}, {}]},
            Call(
                "events:PutEvents",
                (
                    f"arn:aws:events:{ACCOUNT}:event-bus/tasks",
                    "arn:bus",
                    f"arn:aws:events:{ACCOUNT}:event-bus/default",
                ),
            ),
        ),
        (
            "secretsmanager",
            "GetSecretValue",
            {"SecretId": "a/b"},
            Call("secretsmanager:GetSecretValue", (f"arn:aws:secretsmanager:{ACCOUNT}:secret:a/b-AbCdEf",)),
        ),
        (
            "ssm",
            "GetParameter",
            {"Name": "/a/b"},
            Call("ssm:GetParameter", (f"arn:aws:ssm:{ACCOUNT}:parameter/a/b",)),
        ),
        ("iam", "CreateUser", {}, Call("iam:CreateUser", ("*",))),
    ],
)
def test_a_request_is_the_call_that_iam_would_name(
    service: str, operation: str, body: object, call: Call
) -> None:
    assert asked(service, operation, body) == call


@pytest.mark.parametrize(
    ("method", "action"), [("GET", "s3:GetObject"), ("PUT", "s3:PutObject"), ("DELETE", "s3:DELETE")]
)
def test_an_object_is_named_by_the_path(method: str, action: str) -> None:
    request = signed("s3", method=method, target="/bucket/content/a/1?x-id=GetObject")

    assert call_of(request, "s3") == Call(action, ("arn:aws:s3:::bucket/content/a/1",))


@pytest.mark.parametrize(
    ("method", "query", "action"),
    [
        ("POST", "uploads", "s3:PutObject"),
        ("PUT", "uploadId=u&partNumber=1", "s3:PutObject"),
        ("POST", "uploadId=u", "s3:PutObject"),
        ("DELETE", "uploadId=u", "s3:AbortMultipartUpload"),
    ],
)
def test_an_upload_in_parts_is_a_put_and_may_be_aborted(method: str, query: str, action: str) -> None:
    request = signed("s3", method=method, target=f"/bucket/files/1?{query}")

    assert call_of(request, "s3") == Call(action, ("arn:aws:s3:::bucket/files/1",))


def test_who_copies_an_object_reads_it_as_well() -> None:
    source = ("x-amz-copy-source", "bucket/uploads/a%3A1")
    request = signed("s3", source, method="PUT", target="/bucket/content/1")

    assert calls_of(request, "s3") == (
        Call("s3:GetObject", ("arn:aws:s3:::bucket/uploads/a:1",)),
        Call("s3:PutObject", ("arn:aws:s3:::bucket/content/1",)),
    )
    assert calls_of(signed("s3", method="GET", target="/b/k"), "s3") == (
        Call("s3:GetObject", ("arn:aws:s3:::b/k",)),
    )


def test_who_calls_is_who_signed() -> None:
    assert signer(signed("kms")) == ("card-local", "kms")
    assert signer(Request("GET", "/", (), b"", "")) == ("", "")


# --- what becomes of it ------------------------------------------------


def get_item(table: str = "tasks") -> Request:
    target = ("X-Amz-Target", "DynamoDB_20120810.GetItem")
    return signed("dynamodb", target, body={"TableName": table, "Key": KEY})


def test_what_is_granted_is_for_aws_to_answer_and_all_calls_are_remembered() -> None:
    guard = Guard({"card-local": [READ], "turn-local": []})

    assert guard.answer(get_item()) is None
    assert guard.answer(get_item()) is None
    refused = guard.answer(get_item("other"))

    assert refused is not None
    assert refused.status == 400
    told = json.loads(bytes(refused.body))  # type: ignore[arg-type]
    assert told["__type"] == "AccessDeniedException"
    assert "card-local is not authorized to perform: dynamodb:GetItem on resource: " in told["message"]
    made = guard.answer(Request("GET", CALLS_MADE, (), b"", ""))
    assert made is not None
    assert json.loads(bytes(made.body)) == {  # type: ignore[arg-type]
        "card-local": [["dynamodb:GetItem", TABLE.replace("tasks", "other")], ["dynamodb:GetItem", TABLE]],
        "turn-local": [],
    }


def test_a_resource_is_granted_by_the_name_it_goes_by() -> None:
    guard = Guard({"card-local": [READ]}, lambda arn: arn.replace("other", "tasks"))

    assert guard.answer(get_item("other")) is None


def test_an_object_that_is_not_granted_is_forbidden_as_s3_says_it() -> None:
    refused = Guard({"card-local": [READ]}).answer(signed("s3", method="GET", target="/b/k"))

    assert refused is not None
    assert refused.status == 403
    assert b"<Code>AccessDenied</Code>" in bytes(refused.body)  # type: ignore[arg-type]


def test_whoever_is_no_function_may_do_everything() -> None:
    assert Guard({}).answer(get_item("other")) is None
    assert Guard({"card-local": []}).answer(Request("GET", "/", (), b"", "")) is None
