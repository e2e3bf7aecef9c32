"""The deployment says what the code behind it expects, and lets nobody in by default."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from a2a_serverless.settings import Settings, SettingsError
from infra.local.template import read_deployment
from tests.integration.infra.declared import (
    ROOT,
    Declared,
    deployed,
    functions,
    resources,
    state,
    template,
    turn_machine,
)

NOT_SETTINGS = {
    "A2A_FULFILMENT_CREDENTIALS",  # of an agent, not of this package
    "A2A_FULFILMENT_JWKS",
    "A2A_FULFILMENT_ORIGINS",
    "A2A_FULFILMENT_URL",
    "IAC_MODEL",
    "IAC_REGION",
    "IAC_ROS_CREDENTIALS",
    "PYDANTIC_DISABLE_PLUGINS",
    "AWS_LAMBDA_EXEC_WRAPPER",
    "AWS_LWA_INVOKE_MODE",
    "AWS_LWA_PORT",
    "AWS_LWA_READINESS_CHECK_PROTOCOL",
}


def variables() -> dict[str, object]:
    declared: dict[str, object] = template()["Globals"]["Function"]["Environment"]["Variables"]
    return declared


def test_every_address_leads_to_the_function_of_its_binding_whatever_the_verb() -> None:
    deployment = read_deployment(ROOT)
    routes = {
        (deployment.functions[route.function].folder.name, route.method, route.path)
        for route in deployment.routes
    }

    assert routes == {
        ("card", "ANY", "/.well-known/agent-card.json"),
        ("card", "ANY", "/.well-known/jwks.json"),
        ("card", "ANY", "/health"),
        ("jsonrpc", "ANY", "/"),
        ("http_json", "ANY", "/{proxy+}"),
    }


def test_every_folder_of_functions_is_deployed() -> None:
    assert set(functions()) == {app.parent.name for app in (ROOT / "functions").glob("*/app.py")}


def test_functions_are_given_exactly_the_variables_that_settings_read() -> None:
    assert set(variables()) - NOT_SETTINGS == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("name", sorted(functions()))
def test_no_function_has_a_setting_of_its_own(name: str) -> None:
    own = functions()[name].get("Environment", {}).get("Variables", {})

    assert set(own) <= NOT_SETTINGS


def test_a_deployer_can_choose_every_setting_but_those_that_are_for_a_machine_of_ones_own() -> None:
    chosen = {name for name, value in variables().items() if not isinstance(value, str)}

    assert set(variables()) - chosen - NOT_SETTINGS == {
        "LOCAL_PRINCIPAL",
        "LOOPBACK_ISSUERS",
        "LOOPBACK_WEBHOOKS",
        "POWERTOOLS_METRICS_NAMESPACE",
    }


def defaults() -> dict[str, str]:
    """The environment of a deployment in which nothing was chosen, state's own names aside."""
    parameters = template()["Parameters"]
    made_up = {
        "TASKS_TABLE": "table",
        "CONTENT_BUCKET": "bucket",
        "TURN_STATE_MACHINE_ARN": "arn",
        "BASE_URL": "",
    }
    references = {
        name: str(parameters[value["Ref"]]["Default"])
        for name, value in variables().items()
        if isinstance(value, dict) and value.get("Ref") in parameters
    }
    literals = {name: value for name, value in variables().items() if isinstance(value, str)}
    return {**literals, **references, **made_up}


def test_a_deployment_that_chose_nothing_refuses_to_serve_anybody() -> None:
    with pytest.raises(SettingsError, match="Nobody would be let in"):
        Settings.from_environment(defaults())


def test_the_defaults_are_the_defaults_of_the_settings() -> None:
    settings = Settings.from_environment({**defaults(), "ANONYMOUS": "allowed"})

    plain = Settings(
        tasks_table="table",
        content_bucket="bucket",
        turn_state_machine_arn="arn",
        agent="a2a_agents.fulfilment:agent",
        anonymous=True,
    )
    assert settings == plain


def test_cloudformation_refuses_a_deployment_that_neither_names_callers_nor_opens_itself() -> None:
    rule = template()["Rules"]["CallersAreDecidedUpon"]["Assertions"][0]["Assert"]

    assert rule == {
        "Fn::Or": [
            {"Fn::Not": [{"Fn::Equals": [{"Ref": "BearerTokens"}, ""]}]},
            {"Fn::Not": [{"Fn::Equals": [{"Ref": "Credentials"}, ""]}]},
            {"Fn::Equals": [{"Ref": "Anonymous"}, "allowed"]},
        ]
    }


def test_tokens_that_the_template_takes_are_tokens_that_the_settings_take() -> None:
    pattern = template()["Parameters"]["BearerTokens"]["AllowedPattern"]
    tokens = f"alice:{'0a' * 32},bob.b-1:{'ff' * 32}"

    assert re.fullmatch(pattern, tokens)
    assert len(Settings.from_environment({**defaults(), "BEARER_TOKENS": tokens}).bearer_tokens) == 2


@pytest.mark.parametrize(
    "limits", ["", "send=10/60s", "send=10/60s burst 20, read=100/60s", "read=1/1s,write=1/1s,send=1/1s"]
)
def test_rate_limits_that_the_template_takes_are_rate_limits_that_the_settings_take(limits: str) -> None:
    pattern = template()["Parameters"]["RateLimits"]["AllowedPattern"]

    assert re.fullmatch(pattern, limits)
    Settings.from_environment({**defaults(), "ANONYMOUS": "allowed", "RATE_LIMITS": limits})


@pytest.mark.parametrize("limits", ["send=0/60s", "send=10/60", "other=1/1s", "send=10/60s,"])
def test_rate_limits_that_the_settings_would_refuse_are_refused_before_anything_is_deployed(
    limits: str,
) -> None:
    assert not re.fullmatch(template()["Parameters"]["RateLimits"]["AllowedPattern"], limits)


@pytest.mark.parametrize("told", ["", "tools", "usage,thinking,tools,artifacts"])
def test_extensions_that_the_template_takes_are_extensions_that_the_settings_take(told: str) -> None:
    pattern = template()["Parameters"]["TurnExtensions"]["AllowedPattern"]

    assert re.fullmatch(pattern, told)
    assert not re.fullmatch(pattern, f"{told},files")
    Settings.from_environment({**defaults(), "ANONYMOUS": "allowed", "TURN_EXTENSIONS": told})


@pytest.mark.parametrize("mode", template()["Parameters"]["Permissions"]["AllowedValues"])
def test_whoever_may_decide_about_permissions_by_the_template_may_by_the_settings(mode: str) -> None:
    settings = Settings.from_environment({**defaults(), "ANONYMOUS": "allowed", "PERMISSIONS": mode})

    assert settings.permissions == mode


def test_the_api_is_throttled_and_guarded_only_where_somebody_says_so() -> None:
    bare = deployed()
    acl = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/mine/12345678-1234-1234-1234-123456789012"
    guarded = deployed(ThrottlingRate="50", ThrottlingBurst="100", WebAclArn=acl)

    assert "WebAcl" not in bare
    assert "MethodSettings" not in bare["Api"]
    assert guarded["Api"]["MethodSettings"] == [
        {
            "HttpMethod": "*",
            "ResourcePath": "/*",
            "ThrottlingRateLimit": "50",
            "ThrottlingBurstLimit": "100",
        }
    ]
    assert guarded["WebAcl"]["WebACLArn"] == acl
    assert re.fullmatch(template()["Parameters"]["WebAclArn"]["AllowedPattern"], acl)


def test_every_parameter_is_described_and_used() -> None:
    below = (ROOT / "template.yaml").read_text(encoding="utf-8").partition("\nConditions:")[2]
    used = set(re.findall(r"!Ref (\w+)", below)) | set(re.findall(r"\$\{(\w+)\}", below))
    parameters = template()["Parameters"]

    assert set(parameters) - used == set()
    assert [
        name for name, parameter in parameters.items() if not parameter["Description"].endswith(".")
    ] == []


def test_every_parameter_is_in_a_group_of_the_console() -> None:
    groups = template()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]

    grouped = [name for group in groups for name in group["Parameters"]]
    assert sorted(grouped) == sorted(template()["Parameters"])


def test_content_outlives_its_task_by_two_days_whatever_the_retention() -> None:
    declared = state()
    days = {int(kept): row["Days"] for kept, row in declared["Mappings"]["ContentExpiry"].items()}
    choices = declared["Parameters"]["RetentionDays"]["AllowedValues"]

    assert days == {int(kept): int(kept) + 2 for kept in choices}
    assert template()["Parameters"]["RetentionDays"]["AllowedValues"] == choices


def test_the_state_machine_has_the_name_by_which_the_functions_know_it() -> None:
    (machine,) = resources("AWS::Serverless::StateMachine").values()
    known = template()["Globals"]["Function"]["Environment"]["Variables"]["TURN_STATE_MACHINE_ARN"]["Fn::Sub"]

    assert known.endswith(":stateMachine:" + machine["Name"]["Fn::Sub"])


def own_answers() -> Mapping[str, Declared]:
    (api,) = resources("AWS::Serverless::Api").values()
    answers: Mapping[str, Declared] = api["GatewayResponses"]
    return answers


@pytest.mark.parametrize("kind", sorted(own_answers()))
def test_the_gateways_own_refusals_can_be_read_by_either_bindings_callers_and_in_a_browser(kind: str) -> None:
    answer = own_answers()[kind]
    body = json.loads(
        answer["ResponseTemplates"]["application/json"].replace(
            "$context.error.messageString", '"as the gateway says"'
        )
    )

    assert answer["ResponseParameters"]["Headers"]["Access-Control-Allow-Origin"] == "'*'"
    assert (body["jsonrpc"], body["id"]) == ("2.0", None)
    assert set(body["error"]) == {"code", "status", "message", "details"}
    assert body["error"]["message"]
    assert body["error"]["details"] == []


def test_refusals_that_pass_say_when_to_come_back() -> None:
    waiting = {
        kind for kind, answer in own_answers().items() if "Retry-After" in str(answer["ResponseParameters"])
    }

    assert waiting >= {"THROTTLED", "QUOTA_EXCEEDED"}
    assert all(
        "'1'" in own_answers()[kind]["ResponseParameters"]["Headers"].get("Retry-After", "'1'")
        for kind in waiting
    )


def test_the_api_is_regional_and_hands_on_bytes_of_answers_that_do_not_stream() -> None:
    (api,) = resources("AWS::Serverless::Api").values()

    assert api["EndpointConfiguration"] == {"Type": "REGIONAL"}
    assert api["BinaryMediaTypes"] == {"Fn::If": ["Streams", {"Ref": "AWS::NoValue"}, ["*~1*"]]}


def layers_of(function: Declared) -> set[str]:
    return {layer["Ref"] for layer in function["Layers"] if "Ref" in layer}


def test_what_concerns_no_agent_goes_without_the_agents() -> None:
    without = {name for name, function in functions().items() if "AgentsLayer" not in layers_of(function)}

    assert without == {"fanout", "push", "sweep"}


def test_what_agents_import_besides_is_for_the_function_that_loads_agents() -> None:
    layer = "AgentDependenciesLayer"
    having = {name for name, function in functions().items() if layer in layers_of(function)}

    assert having == {"turn"}


def test_the_state_machine_waits_longer_than_any_turn_may_take() -> None:
    longest = template()["Parameters"]["TurnTimeoutSeconds"]["MaxValue"]

    assert turn_machine()["States"]["Run"]["TimeoutSeconds"] > longest


def test_every_log_group_forgets() -> None:
    groups = resources("AWS::Logs::LogGroup")

    used = {function["LoggingConfig"]["LogGroup"]["Ref"] for function in functions().values()}
    assert used == set(groups)
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in groups.values())


@pytest.mark.parametrize("layer", sorted(resources("AWS::Serverless::LayerVersion")))
def test_every_layer_says_how_it_is_built(layer: str) -> None:
    declared = template()["Resources"][layer]
    makefile = ROOT / declared["Properties"]["ContentUri"] / "Makefile"

    assert declared["Metadata"] == {"BuildMethod": "makefile", "BuildArchitecture": "arm64"}
    assert f"\nbuild-{layer}:\n" in makefile.read_text(encoding="utf-8")


def test_the_outputs_name_what_a_deployer_needs_next() -> None:
    assert set(template()["Outputs"]) == {
        "AgentCardUrl",
        "BaseUrl",
        "ContentBucket",
        "DeadLettersQueueUrl",
        "FanoutFailuresQueueArn",
        "PokesQueueUrl",
        "SecretsKeyArn",
        "TasksTable",
        "TurnStateMachineArn",
    }


def test_everything_runs_on_arm() -> None:
    layers = resources("AWS::Serverless::LayerVersion").values()

    assert template()["Globals"]["Function"]["Architectures"] == ["arm64"]
    assert all(layer["CompatibleArchitectures"] == ["arm64"] for layer in layers)


def test_code_and_definitions_that_are_named_exist() -> None:
    named = [
        *(function["CodeUri"] for function in functions().values()),
        *(machine["DefinitionUri"] for machine in resources("AWS::Serverless::StateMachine").values()),
        *(stack["TemplateURL"] for stack in resources("AWS::CloudFormation::Stack").values()),
    ]

    assert [path for path in named if not Path(ROOT / path).exists()] == []
