"""The deployment says what the code behind it expects, and lets nobody in by default."""

import re
from pathlib import Path

import pytest

from a2a_serverless.settings import Settings, SettingsError
from tests.integration.infra.declared import (
    ROOT,
    Declared,
    functions,
    resources,
    state,
    template,
    turn_machine,
)

NOT_SETTINGS = {"AWS_LAMBDA_EXEC_WRAPPER"}


def routes() -> set[tuple[str, str, str]]:
    return {
        (name, event["Properties"]["Method"], event["Properties"]["Path"])
        for name, function in functions().items()
        for event in function.get("Events", {}).values()
        if event["Type"] == "Api"
    }


def variables() -> dict[str, object]:
    declared: dict[str, object] = template()["Globals"]["Function"]["Environment"]["Variables"]
    return declared


def test_every_address_leads_to_the_function_of_its_binding() -> None:
    assert routes() == {
        ("card", "GET", "/.well-known/agent-card.json"),
        ("card", "OPTIONS", "/.well-known/agent-card.json"),
        ("card", "GET", "/health"),
        ("jsonrpc", "ANY", "/"),
        ("http_json", "ANY", "/{proxy+}"),
    }


def test_every_folder_of_functions_is_deployed() -> None:
    assert set(functions()) == {app.parent.name for app in (ROOT / "functions").glob("*/app.py")}


def test_functions_are_given_exactly_the_variables_that_settings_read() -> None:
    assert set(variables()) == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("name", sorted(functions()))
def test_no_function_has_a_setting_of_its_own(name: str) -> None:
    own = functions()[name].get("Environment", {}).get("Variables", {})

    assert set(own) <= NOT_SETTINGS


def test_a_deployer_can_choose_every_setting_but_those_that_are_for_a_machine_of_ones_own() -> None:
    chosen = {name for name, value in variables().items() if not isinstance(value, str)}

    assert set(variables()) - chosen == {
        "LOCAL_PRINCIPAL",
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
            {"Fn::Equals": [{"Ref": "Anonymous"}, "allowed"]},
        ]
    }


def test_tokens_that_the_template_takes_are_tokens_that_the_settings_take() -> None:
    pattern = template()["Parameters"]["BearerTokens"]["AllowedPattern"]
    tokens = f"alice:{'0a' * 32},bob.b-1:{'ff' * 32}"

    assert re.fullmatch(pattern, tokens)
    assert len(Settings.from_environment({**defaults(), "BEARER_TOKENS": tokens}).bearer_tokens) == 2


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


def test_the_gateways_own_refusals_can_be_read_in_a_browser() -> None:
    (api,) = resources("AWS::Serverless::Api").values()

    for kind in ("DEFAULT_4XX", "DEFAULT_5XX"):
        headers = api["GatewayResponses"][kind]["ResponseParameters"]["Headers"]
        assert headers["Access-Control-Allow-Origin"] == "'*'"


def test_the_api_is_regional_and_hands_on_bytes() -> None:
    (api,) = resources("AWS::Serverless::Api").values()

    assert api["EndpointConfiguration"] == {"Type": "REGIONAL"}
    assert api["BinaryMediaTypes"] == ["*~1*"]


def layers_of(function: Declared) -> set[str]:
    return {layer["Ref"] for layer in function["Layers"] if "Ref" in layer}


def test_only_the_sweep_goes_without_the_agents() -> None:
    without = {name for name, function in functions().items() if "AgentsLayer" not in layers_of(function)}

    assert without == {"sweep"}


def test_our_own_runtime_loop_comes_with_its_layer_and_only_by_choice() -> None:
    for name in ("jsonrpc", "http_json"):
        function = functions()[name]
        wrapper = function["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"]
        assert wrapper == {"Fn::If": ["OwnLoop", "/opt/bootstrap", {"Ref": "AWS::NoValue"}]}
        assert {"Fn::If": ["OwnLoop", {"Ref": "StreamingLayer"}, {"Ref": "AWS::NoValue"}]} in function[
            "Layers"
        ]


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
