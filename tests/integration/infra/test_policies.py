"""Every role may do what its function does, to the resources it does it to, and nothing besides."""

import re
from collections.abc import Mapping

import pytest

from tests.integration.infra.declared import ROOT, functions, resources, several, statements, text

UNNAMEABLE = (
    "${State.Outputs.BucketArn}/*",  # keys are made at run time
    ":execution:${AWS::StackName}-turn:*",  # so are names of executions
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
    "s3": {"get_object": "s3:GetObject", "put_object": "s3:PutObject"},
    "stepfunctions": {
        "start_execution": "states:StartExecution",
        "stop_execution": "states:StopExecution",
        "describe_execution": "states:DescribeExecution",
    },
}
"""The action behind each call the adapters make, by technology."""


def calls() -> set[str]:
    """Every method of an AWS client that the adapters call."""
    folder = ROOT / "layers" / "core" / "a2a_serverless" / "adapters"
    return {
        call
        for module in folder.glob("*.py")
        for call in re.findall(r"\bclient\.([a-z]+_[a-z_]+|query|scan)", module.read_text(encoding="utf-8"))
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
    assert calls() - set(known_calls()) == set()

    granted = {action for _, statement in statements() for action in several(statement["Action"])}
    others = {"logs:CreateLogStream", "logs:PutLogEvents", "lambda:InvokeFunction", "s3:ListBucket"}
    assert granted - others == {known_calls()[call] for call in calls()}


@pytest.mark.parametrize(
    ("role", "never"),
    [
        ("CardRole", {"dynamodb", "s3", "states", "lambda"}),
        ("JsonRpcRole", {"lambda"}),
        ("HttpJsonRole", {"lambda"}),
        ("TurnRole", {"states", "lambda"}),
        ("SweepRole", {"lambda"}),
        ("TurnStateMachineRole", {"dynamodb", "s3", "states", "logs"}),
    ],
)
def test_a_role_never_touches_what_its_function_has_no_business_with(role: str, never: set[str]) -> None:
    assert {action.partition(":")[0] for action in actions_of(role)} & never == set()


def test_a_turn_deletes_nothing_and_the_two_bindings_may_do_the_same() -> None:
    assert "dynamodb:DeleteItem" not in actions_of("TurnRole")
    assert actions_of("JsonRpcRole") == actions_of("HttpJsonRole")


def test_tables_are_never_scanned() -> None:
    queried = [
        text(resource)
        for _, statement in statements()
        if "dynamodb:Query" in several(statement["Action"])
        for resource in several(statement["Resource"])
    ]

    assert {name.partition("/index/")[2] for name in queried} == {"due", "by_state", "by_context"}
