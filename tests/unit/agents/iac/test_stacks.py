"""What is known of templates and stacks before and after ROS is asked: pure, and without secrets."""

import json
from typing import Any

import pytest

from a2a_agents.iac.operations import following
from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.credentials import Credentials, credentials, kept
from a2a_agents.iac.operations.diagnosis import failed, remedy, report
from a2a_agents.iac.operations.following import news, next_look, told
from a2a_agents.iac.operations.memory import KEY, Memory, Ongoing, Plan
from a2a_agents.iac.operations.planning import estimate, permission
from a2a_agents.iac.operations.ros import (
    Change,
    Declared,
    NotAuthorizedError,
    Output,
    Price,
    Stack,
    StackEvent,
    StackResource,
)
from a2a_agents.iac.operations.shown import HIDDEN, Shown, is_secret
from a2a_agents.iac.operations.template import MOST_STEPS, Template
from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.agent import Message, Part, Turn
from a2a_serverless.ports.access import UnreadableValueError
from a2a_serverless.protocol.objects import Role

WEB = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  Zone: {Type: String, Description: Where}
  Size: {Type: String, Default: small}
  DbPassword: {Type: String, NoEcho: true}
Locals:
  Login: {Type: Value, Value: !Sub 'root:${DbPassword}'}
Resources:
  Db: {Type: ALIYUN::RDS::DBInstance, Properties: {MasterUserPassword: !Ref DbPassword}}
  Key: {Type: ALIYUN::RAM::AccessKey}
Outputs:
  Address: {Value: !GetAtt Db.InnerConnectionString}
  Ref: {Value: !Ref DbPassword}
  Sub: {Value: !Sub 'mysql://root:${DbPassword}@${Db.InnerConnectionString}'}
  Join: {Value: {'Fn::Join': ['', [a, {Ref: DbPassword}]]}}
  ByLocal: {Value: !Ref Login}
  KeySecret: {Value: !GetAtt [Key, AccessKeySecret]}
  SubSecret: {Value: !Sub '${Key.AccessKeySecret}'}
  Zone: {Value: !Ref Zone}
  Pick: {Value: !Select {index: 0, of: [!Ref Zone]}}
"""


def stack(status: str = "CREATE_COMPLETE", **told: Any) -> Stack:
    return Stack(**{"stack_id": "id", "name": "web", "region": "cn-hangzhou", "status": status, **told})


def event(
    number: int, at: str, status: str = "CREATE_COMPLETE", reason: str = "", name: str = "Vpc"
) -> StackEvent:
    return StackEvent(str(number), at, name, "ALIYUN::ECS::VPC", status, reason)


def bomb(first: str, opens: str, closes: str) -> str:
    """YAML in which every line is nine times the one before."""
    lines = [f"b0: &b0 {first}"]
    for number in range(1, 10):
        before = ", ".join([f"*b{number - 1}"] * 9)
        lines.append(f"b{number}: &b{number} {opens}{before}{closes}")
    return "\n".join(lines)


BOMB = bomb("[x]", "[", "]")
MERGED = bomb("{x: 1}", "{<<: [", "]}")


# Templates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [WEB, json.dumps(Template("t", WEB).content)])
def test_a_template_declares_parameters_and_makes_resources(text: str) -> None:
    template = Template("t.yaml", text)

    assert template.declared == {
        "Zone": Declared("Zone", required=True, description="Where"),
        "Size": Declared("Size", required=False),
        "DbPassword": Declared("DbPassword", required=True, no_echo=True),
    }
    assert template.resources == {"Db": "ALIYUN::RDS::DBInstance", "Key": "ALIYUN::RAM::AccessKey"}
    assert len(template.digest) == 64


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b",
        "{{{{",
        "a: !!python/object/apply:os.system ['true']",
        "Parameters: 7\nResources: [1]",
        '{"a": 1',
    ],
)
def test_a_template_that_cannot_be_read_declares_nothing(text: str) -> None:
    template = Template("t.yaml", text)

    assert (template.declared, template.resources) == ({}, {})
    assert template.secret_outputs(frozenset({"a"})) == frozenset()


def test_outputs_that_would_tell_a_secret_are_known_without_knowing_it() -> None:
    outputs = {name: f"value of {name}" for name in Template("t", WEB).content["Outputs"]}
    told = stack(outputs=[Output(name, value) for name, value in outputs.items()])

    shown = Shown().outputs(told, Template("t", WEB))

    assert {name for name, value in shown.items() if value != HIDDEN} == {"Address", "Zone", "Pick"}


def test_outputs_of_a_template_that_cannot_be_read_are_hidden() -> None:
    assert Shown().outputs(stack(outputs=[Output("A", "x")]), Template("t", "{{")) == {"A": HIDDEN}


def test_terraforms_sensitive_outputs_are_hidden() -> None:
    main = (
        'output "address" {\n  value = "x"\n}\noutput "password" {\n  value = var.p\n  sensitive = true\n}\n'
    )
    template = Template(
        "t", json.dumps({"Transform": "Aliyun::Terraform-v1.5", "Workspace": {"main.tf": main}})
    )

    assert template.secret_outputs(frozenset()) == {"password"}


def test_what_is_too_large_to_be_looked_through_is_a_secret() -> None:
    outputs = {"A": {"Value": {"Fn::Join": ["", ["x"] * MOST_STEPS]}}, "B": {"Value": "x"}}

    assert Template("t", json.dumps({"Outputs": outputs})).secret_outputs(frozenset()) == {"A"}


# What is shown ----------------------------------------------------------------------------------------------


def test_secrets_are_taken_out_of_whatever_is_said() -> None:
    shown = Shown(["hunter22", "abc"])

    assert shown.text("password hunter22 is too short") == f"password {HIDDEN} is too short"
    assert shown.text("abc") == HIDDEN
    assert shown.text("abcdef") == "abcdef"
    assert shown.value({"a": ["hunter22", 7], "hunter22": "x"}) == {"a": [HIDDEN, 7], HIDDEN: "x"}
    assert "hunter22" not in repr(shown)


@pytest.mark.parametrize(
    ("name", "declared", "secret"),
    [
        ("Zone", Declared("Zone", required=True), False),
        ("Zone", Declared("Zone", required=True, no_echo=True), True),
        ("DbPassword", Declared("DbPassword", required=True), True),
        ("api_token", Declared("api_token", required=True), True),
        ("Zone", None, True),
    ],
)
def test_a_parameter_is_secret_by_its_template_or_its_name(
    name: str, declared: Declared | None, *, secret: bool
) -> None:
    assert is_secret(name, declared) is secret


def test_nothing_prints_what_it_must_not_show() -> None:
    everything: list[Any] = [
        Credentials("LTAI-id", "the-secret", "the-token"),
        Output("A", "the-secret"),
        Change("cn-hangzhou", "the-secret", {"A": "the-secret"}),
        stack(outputs=[Output("A", "the-secret")]),
        Template("t", "the-secret"),
    ]

    assert not [one for one in everything if "the-" in repr(one) or "LTAI" in repr(one)]


# Events -----------------------------------------------------------------------------------------------------


def test_every_event_is_told_once_however_often_it_is_seen() -> None:
    ongoing = Ongoing(action=Action.CREATE, region="r", stack="web", stack_id="id")
    first = [event(1, "2026-01-01T10:00:00"), event(2, "2026-01-01T10:00:05")]
    late = event(3, "2026-01-01T10:00:01")

    assert news(ongoing, first) == first
    assert news(ongoing, [*first, late]) == [late]
    assert news(ongoing, [*first, late]) == []
    assert news(ongoing, []) == []


def test_what_is_remembered_of_events_does_not_grow_for_ever() -> None:
    ongoing = Ongoing(action=Action.CREATE, region="r", stack="web", stack_id="id")

    for minute in range(59):
        news(ongoing, [event(minute, f"2026-01-01T10:{minute:02}:00")])

    assert ongoing.seen == ["58"]
    assert ongoing.since == "2026-01-01T10:56:00"


def test_a_time_that_is_none_forgets_nothing() -> None:
    ongoing = Ongoing(action=Action.CREATE, region="r", stack="web", stack_id="id")

    news(ongoing, [event(1, "yesterday")])

    assert (ongoing.since, ongoing.seen) == ("", ["1"])


def test_events_are_told_in_lines_and_reasons_only_where_something_is_wrong() -> None:
    events = [
        event(1, "t", "CREATE_COMPLETE", "state changed"),
        event(2, "t", "CREATE_FAILED", "No stock"),
    ]

    assert told(events) == (
        "Vpc (ALIYUN::ECS::VPC) CREATE_COMPLETE\nVpc (ALIYUN::ECS::VPC) CREATE_FAILED: No stock"
    )
    assert told(events * 20).startswith("… and 10 events before these\n")


def test_looks_become_rarer() -> None:
    ongoing = Ongoing(action=Action.CREATE, region="r", stack="web", stack_id="id")

    looks = [next_look(ongoing.model_copy(update={"polls": polls})) for polls in range(10)]

    assert looks == [following.SOON] * 7 + [following.LATER] * 3


# Diagnosis --------------------------------------------------------------------------------------------------

EVENTS = [
    event(1, "10:00", "CREATE_FAILED", "QuotaExceeded.Eip: the quota is used up", "Eip"),
    event(2, "10:01", "CREATE_FAILED", "Resource was cancelled", "Web"),
]
RESOURCES = [
    StackResource("Vpc", "ALIYUN::ECS::VPC", "CREATE_COMPLETE"),
    StackResource("Web", "ALIYUN::ECS::Instance", "CREATE_FAILED", "Resource was cancelled | because"),
    StackResource("Eip", "ALIYUN::VPC::EIP", "CREATE_FAILED", "QuotaExceeded.Eip: the quota is used up"),
]


def test_what_failed_first_comes_first_and_what_waited_for_it_last() -> None:
    assert [resource.name for resource in failed(EVENTS, RESOURCES)] == ["Eip", "Web"]


def test_a_report_says_what_failed_what_helps_and_what_to_do() -> None:
    text = report(stack("CREATE_FAILED", reason="Create failed"), EVENTS, RESOURCES)

    assert text.startswith("# Stack web: CREATE_FAILED\n")
    assert "First **Eip** (ALIYUN::VPC::EIP): QuotaExceeded.Eip" in text
    assert "- A quota of the account is used up" in text
    assert "continue creating stack web" in text
    assert "because" in text
    assert " | because" not in text


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("UPDATE_FAILED", "update stack web again"),
        ("DELETE_FAILED", "delete stack web again"),
        ("CREATE_IN_PROGRESS", "still at work"),
        ("CREATE_COMPLETE", "Nothing of this stack is in a failed state"),
    ],
)
def test_a_report_says_what_can_be_done_next(status: str, words: str) -> None:
    assert words in report(stack(status), [], [])


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("InvalidAccountStatus.NotEnoughBalance", "cannot pay"),
        ("Forbidden.RAM: User not authorized", "RAM policy"),
        ("OperationDenied.NoStock", "another zone"),
        ("The CidrBlock already exists", "exists already"),
        ("InvalidParameter: ImageId", "does not take"),
        ("DependencyViolation.VSwitch", "still uses it"),
        ("Timed out", "took longer"),
        ("Throttling.User", "too often"),
        ("who knows", ""),
    ],
)
def test_what_helps_is_known_by_what_the_reason_says(reason: str, words: str) -> None:
    assert words in remedy(reason)
    assert bool(remedy(reason)) == bool(words)


# Plans ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prices", "told"),
    [
        ([Price("A", 0.5, "CNY", "Hour"), Price("B", 0.25, "CNY", "Hour"), Price("C", problem="no price")],
         "Price estimate: 0.75 CNY/Hour. Without a price: C."),
        ([Price("A", 100, "CNY", "Month"), Price("B", 0.1, "CNY", "Hour")],
         "Price estimate: 0.1 CNY/Hour + 100 CNY/Month."),
        ([Price("A", 3)], "Price estimate: 3."),
        ([Price("A", problem="no price")], "ROS gives no price estimate."),
        ([], "ROS gives no price estimate."),
    ],
)  # fmt: skip
def test_prices_are_summed_by_currency_and_unit(prices: list[Price], told: str) -> None:
    assert estimate(prices) == told


def test_a_question_for_permission_names_secrets_and_shows_none() -> None:
    plan = Plan(
        action=Action.CREATE, region="cn-hangzhou", stack="web", template="t.yaml", digest="ab",
        template_bytes=7, parameters={"Zone": "h"}, secrets=("DbPassword",), token="a2a-1",
    )  # fmt: skip

    asked = permission(plan)

    assert (asked.tool, asked.target) == ("ros.create_stack", "cn-hangzhou/web")
    assert asked.arguments == {
        "regionId": "cn-hangzhou",
        "stackName": "web",
        "template": {"name": "t.yaml", "sha256": "ab", "bytes": 7},
        "parameters": {"Zone": "h"},
        "secretParameters": ["DbPassword"],
        "disableRollback": True,
        "timeoutInMinutes": 60,
    }


def test_a_token_is_the_tasks_and_the_steps_and_fit_for_the_service() -> None:
    tokens = {Memory(task=task, step=step).token() for task in ("a", "b") for step in (1, 2)}

    assert len(tokens) == 4
    assert Memory(task="a", step=1).token() in tokens
    assert all(len(token) <= 64 and token.replace("-", "").isalnum() for token in tokens)


def test_what_another_task_was_about_is_remembered_apart() -> None:
    kept = Memory(task="one", region="r", stack="web", plan=_plan()).model_dump(mode="json")
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="go on"),))
    host: Any = None

    memory = Memory.of(Turn(message, "two", "context", host, state={KEY: kept}))

    assert (memory.task, memory.region, memory.stack) == ("two", "r", "web")
    assert (memory.plan, memory.earlier) == (None, _plan())


def _plan() -> Plan:
    return Plan(action=Action.CREATE, region="r", stack="web")


# Credentials ------------------------------------------------------------------------------------------------


class Kept:
    def __init__(self, text: str | Exception) -> None:
        self._text = text

    def read(self) -> str:
        if isinstance(self._text, Exception):
            raise self._text
        return self._text


def test_credentials_are_read_from_where_they_lie() -> None:
    text = json.dumps({"accessKeyId": "id", "accessKeySecret": "secret", "securityToken": "token"})

    assert credentials(Kept(text)) == Credentials("id", "secret", "token")
    assert credentials(Kept('{"accessKeyId": "id", "accessKeySecret": "secret"}')).security_token == ""


@pytest.mark.parametrize(
    "text",
    [
        "no json at all, LTAI-secret",
        '["LTAI-secret"]',
        '{"accessKeyId": "LTAI-secret"}',
        '{"accessKeySecret": "LTAI-secret"}',
        '{"accessKeyId": 7, "accessKeySecret": "LTAI-secret"}',
        UnreadableValueError("the secret cannot be read: AccessDeniedException"),
    ],
)
def test_credentials_that_are_none_are_not_repeated(text: str | Exception) -> None:
    with pytest.raises(NotAuthorizedError) as refused:
        credentials(Kept(text))

    assert "LTAI" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("reference", ["", "LTAI-in-plain-text", "inline:{}", "secretsmanager:", "ssm:"])
def test_only_references_to_secrets_are_taken(reference: str) -> None:
    with pytest.raises(NotAuthorizedError) as refused:
        kept(reference)

    assert "LTAI" not in str(refused.value)


@pytest.mark.parametrize("reference", ["secretsmanager:a2a/aliyun", "ssm:/a2a/aliyun"])
def test_a_reference_leads_to_a_value(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")

    assert callable(kept(reference, AwsClients()).read)
