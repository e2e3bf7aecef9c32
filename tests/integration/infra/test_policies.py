"""Every role may do what its function does, to the resources it does it to, and nothing besides."""

import re
from collections.abc import Mapping

import pytest

from tests.integration.infra.declared import ROOT, deployed, functions, resources, several, statements, text

UNNAMEABLE = (
    "${State.Outputs.BucketArn}/*",  # keys are made at run time
    ":execution:${AWS::StackName}-turn:*",  # so are names of executions
    "${State.Outputs.TableArn}/stream/*",  # so are names of streams, which Lambda lists
)
"""How a resource may end in a wildcard: what lies inside one named resource."""

ADAPTERS = {
    "dynamodb": {
        "get_item": "dynamodb:GetItem",
        "batch_get_item": "dynamodb:BatchGetItem",
        "put_item": "dynamodb:PutItem",
        "update_item": "dynamodb:UpdateItem",
        "delete_item": "dynamodb:DeleteItem",
        "query": "dynamodb:Query",
    },
    "s3": {
        "get_object": "s3:GetObject",
        "head_object": "s3:GetObject",
        "generate_presigned_url": "s3:GetObject",
        "put_object": "s3:PutObject",
        "copy_object": "s3:PutObject",
        "create_multipart_upload": "s3:PutObject",
        "upload_part": "s3:PutObject",
        "complete_multipart_upload": "s3:PutObject",
        "abort_multipart_upload": "s3:AbortMultipartUpload",
    },
    "sqs": {
        "send_message": "sqs:SendMessage",
        "send_message_batch": "sqs:SendMessage",
    },
    "kms": {
        "encrypt": "kms:Encrypt",
        "decrypt": "kms:Decrypt",
        "get_public_key": "kms:GetPublicKey",
        "sign": "kms:Sign",
    },
    "events": {"put_events": "events:PutEvents"},
    "secretsmanager": {"get_secret_value": "secretsmanager:GetSecretValue"},
    "ssm": {"get_parameter": "ssm:GetParameter"},
    "stepfunctions": {
        "start_execution": "states:StartExecution",
        "stop_execution": "states:StopExecution",
        "describe_execution": "states:DescribeExecution",
    },
}
"""The action behind each call the adapters make, by technology."""


CALL = re.compile(r"client\.([a-z]+_[a-z_]+|query|scan|encrypt|decrypt|sign)\b")

OPERATORS = {
    "change_message_visibility_batch",
    "delete_message_batch",
    "describe_stacks",
    "get_queue_attributes",
    "receive_message",
}
"""Calls that only a person's command makes, with that person's own rights."""

MODELS = "bedrock:InvokeModelWithResponseStream"
"""What agents ask of models; no adapter does."""

LAMBDAS_OWN = {
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
}
"""What Lambda does in a function's name to send it what is in a stream or a queue."""


def calls() -> set[str]:
    """Every method of an AWS client that the adapters call."""
    folder = ROOT / "layers" / "core" / "a2a_serverless" / "adapters"
    return {
        call for module in folder.glob("*.py") for call in CALL.findall(module.read_text(encoding="utf-8"))
    }


def known_calls() -> Mapping[str, str]:
    return {call: action for actions in ADAPTERS.values() for call, action in actions.items()}


def actions_of(role: str) -> set[str]:
    return {
        action
        for owner, statement in statements()
        if owner == role
        for action in several(statement["Action"])
    }


def test_no_action_is_a_pattern() -> None:
    assert [
        action for _, statement in statements() for action in several(statement["Action"]) if "*" in action
    ] == []


def test_no_resource_is_a_pattern_but_for_what_is_named_at_run_time() -> None:
    named = [text(resource) for _, statement in statements() for resource in several(statement["Resource"])]

    assert [arn for arn in named if "*" in arn and not arn.endswith(UNNAMEABLE)] == []


def test_no_role_brings_a_policy_of_somebody_elses() -> None:
    roles = resources("AWS::IAM::Role")

    assert [name for name, role in roles.items() if "ManagedPolicyArns" in role] == []


def test_every_function_has_a_role_and_logs_of_its_own() -> None:
    roles = [text(function["Role"]) for function in functions().values()]

    assert len(set(roles)) == len(functions())
    for function in functions().values():
        role = text(function["Role"]).removeprefix("${").removesuffix(".Arn}")
        logs = [
            text(each["Resource"]) for owner, each in statements() if (owner, each["Sid"]) == (role, "Logs")
        ]
        assert logs == ["${" + function["LoggingConfig"]["LogGroup"]["Ref"] + ".Arn}"]


def test_every_call_of_an_adapter_is_granted_to_somebody_and_nothing_else_is() -> None:
    assert calls() - set(known_calls()) == OPERATORS

    granted = {action for _, statement in statements() for action in several(statement["Action"])}
    others = {"logs:CreateLogStream", "logs:PutLogEvents", "lambda:InvokeFunction", "s3:ListBucket", MODELS}
    assert granted - others - LAMBDAS_OWN == {known_calls()[call] for call in calls() - OPERATORS}


@pytest.mark.parametrize(
    ("role", "never"),
    [
        ("CardRole", {"s3", "states", "lambda", "sqs", "events"}),
        ("JsonRpcRole", {"lambda", "events"}),
        ("HttpJsonRole", {"lambda", "events"}),
        ("TurnRole", {"states", "lambda", "sqs", "kms", "events"}),
        ("SweepRole", {"lambda", "kms", "events", "secretsmanager", "ssm"}),
        ("FanoutRole", {"states", "lambda", "kms", "secretsmanager", "ssm"}),
        ("PushRole", {"states", "lambda", "events", "secretsmanager", "ssm"}),
        ("TurnStateMachineRole", {"dynamodb", "s3", "states", "logs", "sqs", "kms", "events"}),
    ],
)
def test_a_role_never_touches_what_its_function_has_no_business_with(role: str, never: set[str]) -> None:
    assert {action.partition(":")[0] for action in actions_of(role)} & never == set()


def test_a_turn_deletes_nothing_and_the_two_bindings_may_do_the_same() -> None:
    assert "dynamodb:DeleteItem" not in actions_of("TurnRole")
    assert actions_of("JsonRpcRole") == actions_of("HttpJsonRole")


LAMBDA = {"JsonRpcRole", "HttpJsonRole", "TurnRole", "SweepRole", "FanoutRole", "PushRole", "CardRole"}


LETS_IN = {"JsonRpcRole", "HttpJsonRole", "CardRole"}


def resources_of(role: str, action: str) -> set[str]:
    """What a role may do that to."""
    return {
        text(resource)
        for owner, statement in statements()
        if owner == role and action in several(statement["Action"])
        for resource in several(statement["Resource"])
    }


def test_only_deliveries_may_open_secrets() -> None:
    webhooks = "${State.Outputs.SecretsKeyArn}"
    opens = {role for role in LAMBDA if webhooks in resources_of(role, "kms:Decrypt")}
    seals = {role for role in LAMBDA if resources_of(role, "kms:Encrypt")}

    assert opens == {"PushRole"}
    assert seals == {"JsonRpcRole", "HttpJsonRole", "PushRole"}


def test_a_message_goes_only_to_the_queues_that_a_function_has_something_for() -> None:
    pokes, letters = "${State.Outputs.PokesQueueArn}", "${State.Outputs.DeadLettersQueueArn}"
    told = {role: resources_of(role, "sqs:SendMessage") for role in LAMBDA}

    assert {role: queues for role, queues in told.items() if queues} == {
        "JsonRpcRole": {pokes},
        "HttpJsonRole": {pokes},
        "SweepRole": {pokes},
        "FanoutRole": {pokes, "${State.Outputs.FanoutFailuresQueueArn}"},
        "PushRole": {pokes, letters},
    }


def test_who_tells_of_news_only_reads_the_table_and_who_shows_the_card_changes_nothing_there() -> None:
    writes = {"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}
    assert writes & actions_of("FanoutRole") == set()
    assert writes & actions_of("CardRole") == {"dynamodb:PutItem"}  # of signatures, see test_card
    assert "dynamodb:DeleteItem" not in actions_of("PushRole")


@pytest.mark.parametrize(
    ("bus", "arn"),
    [
        ("tasks", "arn:aws:events:us-east-1:123456789012:event-bus/tasks"),
        (
            "arn:aws:events:eu-west-1:210987654321:event-bus/t",
            "arn:aws:events:eu-west-1:210987654321:event-bus/t",
        ),
    ],
)
def test_events_may_be_put_on_the_bus_that_was_named_and_on_no_other(bus: str, arn: str) -> None:
    [policy] = deployed(EventBus=bus)["FanoutRole"]["Policies"]
    [granted] = [each for each in policy["PolicyDocument"]["Statement"] if each["Sid"] == "TellOfStates"]

    assert (granted["Action"], granted["Resource"]) == ("events:PutEvents", arn)


def test_without_a_bus_nothing_may_be_put_on_one_and_no_task_is_read() -> None:
    [policy] = deployed()["FanoutRole"]["Policies"]
    actions = {action for each in policy["PolicyDocument"]["Statement"] for action in several(each["Action"])}

    assert actions & {"events:PutEvents", "dynamodb:BatchGetItem", "s3:GetObject"} == set()


def test_without_webhooks_nobody_is_granted_a_queue_or_a_key() -> None:
    roles = [each for each in deployed(Webhooks="off").values() if "AssumeRolePolicyDocument" in each]
    actions = {
        action
        for role in roles
        for policy in role["Policies"]
        for each in policy["PolicyDocument"]["Statement"]
        for action in several(each["Action"])
    }

    assert {action.partition(":")[0] for action in actions} == {"dynamodb", "lambda", "logs", "s3", "states"}


def test_tables_are_never_scanned() -> None:
    queried = [
        text(resource)
        for _, statement in statements()
        if "dynamodb:Query" in several(statement["Action"])
        for resource in several(statement["Resource"])
    ]

    assert {name.partition("/index/")[2] for name in queried} == {"due", "by_state", "by_context"}


def reads(role: str, *sids: str, **parameters: str) -> list[tuple[str, object]]:
    """What a role may read of who may call, or by other statements, in a deployment with these parameters."""
    [policy] = deployed(**parameters)[role]["Policies"]
    return [
        (each["Action"], each["Resource"])
        for each in policy["PolicyDocument"]["Statement"]
        if each["Sid"] in (sids or ("Callers", "OpenCallers"))
    ]


SECRET = "arn:aws:secretsmanager:eu-central-1:210987654321:secret:callers-AbCdEf"
OWN_KEY = "arn:aws:kms:us-east-1:123456789012:key/a-key"


@pytest.mark.parametrize("role", sorted(LETS_IN))
@pytest.mark.parametrize(
    ("credentials", "granted"),
    [
        ("", []),
        (
            "secretsmanager:a2a/callers",
            [
                (
                    "secretsmanager:GetSecretValue",
                    "arn:aws:secretsmanager:us-east-1:123456789012:secret:a2a/callers-??????",
                )
            ],
        ),
        (f"secretsmanager:{SECRET}", [("secretsmanager:GetSecretValue", SECRET)]),
        (
            "ssm:/a2a/callers",
            [("ssm:GetParameter", "arn:aws:ssm:us-east-1:123456789012:parameter/a2a/callers")],
        ),
    ],
)
def test_who_lets_callers_in_may_read_who_they_are_and_nothing_beside(
    role: str, credentials: str, granted: list[tuple[str, str]]
) -> None:
    assert reads(role, Credentials=credentials) == granted
    opened = reads(role, Credentials=credentials, CredentialsKeyArn=OWN_KEY) if credentials else []
    assert opened == [*granted, *([("kms:Decrypt", OWN_KEY)] if credentials else [])]


def test_a_key_of_ones_own_opens_only_what_is_read_through_the_service_that_keeps_it() -> None:
    for service, credentials in {"ssm": "ssm:/callers", "secretsmanager": "secretsmanager:callers"}.items():
        [policy] = deployed(Credentials=credentials, CredentialsKeyArn=OWN_KEY)["CardRole"]["Policies"]
        [opens] = [each for each in policy["PolicyDocument"]["Statement"] if each["Sid"] == "OpenCallers"]

        through = {"kms:ViaService": f"{service}.us-east-1.amazonaws.com"}
        assert opens["Condition"] == {"StringEquals": through}


def test_nobody_else_reads_who_may_call() -> None:
    readers = {
        role for role in LAMBDA if {"secretsmanager:GetSecretValue", "ssm:GetParameter"} & actions_of(role)
    }

    assert readers - LETS_IN == {"TurnRole"}
    for credentials in ("secretsmanager:callers", f"secretsmanager:{SECRET}", "ssm:/callers"):
        assert reads("TurnRole", "Callers", "AlibabaCloud", Credentials=credentials) == []


@pytest.mark.parametrize(
    ("credentials", "granted"),
    [
        ("", []),
        (
            "secretsmanager:a2a/aliyun",
            [
                (
                    "secretsmanager:GetSecretValue",
                    "arn:aws:secretsmanager:us-east-1:123456789012:secret:a2a/aliyun-??????",
                )
            ],
        ),
        (f"secretsmanager:{SECRET}", [("secretsmanager:GetSecretValue", SECRET)]),
        (
            "ssm:/a2a/aliyun",
            [("ssm:GetParameter", "arn:aws:ssm:us-east-1:123456789012:parameter/a2a/aliyun")],
        ),
    ],
)
def test_a_turn_reads_the_credentials_for_another_cloud_or_agent_and_no_other_secret(
    credentials: str, granted: list[tuple[str, str]]
) -> None:
    assert reads("TurnRole", "AlibabaCloud", IacRosCredentials=credentials) == granted
    assert reads("TurnRole", "Fulfilment", FulfilmentCredentials=credentials) == granted


def test_a_turn_asks_the_models_that_the_deployer_names() -> None:
    models = ["arn:aws:bedrock:us-east-1::foundation-model/a.b-v1:0", "arn:aws:bedrock:us-east-1:1:profile/c"]

    [policy] = deployed(ModelArns=",".join(models))["TurnRole"]["Policies"]
    asks = [each for each in policy["PolicyDocument"]["Statement"] if each["Action"] == MODELS]

    assert [each["Resource"] for each in asks] == [models]
    assert MODELS not in str(deployed()["TurnRole"])
