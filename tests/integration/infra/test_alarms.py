"""Alarms watch what exists: a renamed metric or function would otherwise be an alarm that never rings."""

import itertools
import json
import re
from typing import Any

from infra.local.intrinsics import read_template
from tests.integration.infra.declared import ROOT, Declared, functions, resources, template, text

COUNTED = re.compile(r"metrics\.count\(\s*\"(\w+)\"")


def declared() -> Declared:
    return read_template((ROOT / "infra" / "alarms.yaml").read_text(encoding="utf-8"))


def alarms() -> dict[str, Declared]:
    found = declared()["Resources"].items()
    return {name: each["Properties"] for name, each in found if each["Type"] == "AWS::CloudWatch::Alarm"}


def widgets() -> list[list[Any]]:
    """Every metric on the dashboards."""
    bodies = [
        each["Properties"]["DashboardBody"]["Fn::Sub"]
        for each in declared()["Resources"].values()
        if each["Type"] == "AWS::CloudWatch::Dashboard"
    ]
    shown = [json.loads(body if isinstance(body, str) else body[0])["widgets"] for body in bodies]
    return [metric for widget in itertools.chain(*shown) for metric in widget["properties"]["metrics"]]


def counted() -> set[str]:
    """Every counter that the package raises."""
    modules = (ROOT / "layers" / "core").rglob("*.py")
    return {name for module in modules for name in COUNTED.findall(module.read_text(encoding="utf-8"))}


def own_namespace() -> str:
    variables = template()["Globals"]["Function"]["Environment"]["Variables"]
    return str(variables["POWERTOOLS_METRICS_NAMESPACE"])


def test_every_counter_that_is_watched_is_one_that_the_code_raises() -> None:
    watched = {alarm["MetricName"] for alarm in alarms().values() if alarm["Namespace"] == own_namespace()}
    shown = {metric[1] for metric in widgets() if metric[0] == own_namespace()}

    assert watched == {"TurnSettled", "SweepFailed", "WebhookLag"}
    assert (watched | shown) - counted() == set()


def test_every_function_that_is_watched_is_deployed_under_that_name() -> None:
    deployed = {
        text(function["FunctionName"]).replace("AWS::StackName", "Deployment")
        for function in functions().values()
    }

    watched = {
        text(dimension["Value"])
        for alarm in alarms().values()
        for dimension in alarm["Dimensions"]
        if dimension["Name"] == "FunctionName"
    }
    shown = {metric[3] for metric in widgets() if metric[2:3] == ["FunctionName"]}
    assert watched == {"${Deployment}-turn", "${Deployment}-sweep", "${Deployment}-fanout"}
    assert (watched | shown) - deployed == set()


def test_the_state_machine_and_the_api_that_are_watched_are_deployed_under_those_names() -> None:
    (machine,) = resources("AWS::Serverless::StateMachine").values()
    (api,) = resources("AWS::Serverless::Api").values()

    arn = text(alarms()["TurnsAreNotWrittenDown"]["Dimensions"][0]["Value"])
    assert arn.endswith(":stateMachine:" + text(machine["Name"]).replace("AWS::StackName", "Deployment"))
    assert api["Name"] == {"Ref": "AWS::StackName"}


def test_our_own_counters_carry_the_deployments_name() -> None:
    variables = template()["Globals"]["Function"]["Environment"]["Variables"]

    assert variables["POWERTOOLS_SERVICE_NAME"] == {"Ref": "AWS::StackName"}
    for alarm in alarms().values():
        if alarm["Namespace"] == own_namespace():
            assert {"Name": "service", "Value": {"Ref": "Deployment"}} in alarm["Dimensions"]


def imported(value: Any) -> set[str]:
    """Which of the deployment's exports a value is made of."""
    if isinstance(value, list):
        return set().union(*map(imported, value))
    if not isinstance(value, dict):
        return set()
    if "Fn::ImportValue" in value:
        return {text(value["Fn::ImportValue"])}
    return imported(list(value.values()))


def test_the_queues_that_are_watched_are_those_that_the_deployment_makes_known() -> None:
    outputs = template()["Outputs"].values()
    exported = {text(each["Export"]["Name"]) for each in outputs if "Export" in each}

    wanted = imported([each["Properties"] for each in declared()["Resources"].values()])
    assert wanted == {name.replace("AWS::StackName", "Deployment") for name in exported}


def test_a_queue_is_watched_by_the_last_part_of_its_address() -> None:
    for alarm in alarms().values():
        if alarm["Namespace"] == "AWS/SQS":
            [dimension] = alarm["Dimensions"]
            index, split = dimension["Value"]["Fn::Select"]
            separator, value = split["Fn::Split"]
            [name] = imported(value)
            example = {
                "Url": "https://sqs.eu-west-1.amazonaws.com/123456789012/name",
                "Arn": "arn:aws:sqs:eu-west-1:123456789012:name",
            }[name[-3:].capitalize()]
            assert example.split(separator)[index] == "name"


def test_without_webhooks_nothing_holds_on_to_their_queues() -> None:
    for name, resource in declared()["Resources"].items():
        watches = "ebhook" in name or imported(resource["Properties"]) or "Fanout" in name
        assert (resource.get("Condition") == "Delivers") is bool(watches)


def test_a_lag_is_looked_for_over_longer_than_a_webhook_may_pause() -> None:
    longest = template()["Parameters"]["WebhookLongestDelaySeconds"]["MaxValue"]
    jitter, look, sweep = 1.2, 60, 60

    assert alarms()["WebhooksLag"]["Period"] > longest * jitter + look + sweep


def test_silence_means_health_but_for_what_runs_every_minute() -> None:
    silent = {name for name, alarm in alarms().items() if alarm["TreatMissingData"] == "breaching"}

    assert silent == {"SweepIsMissing"}


def test_every_alarm_says_what_it_means_and_tells_somebody() -> None:
    for alarm in alarms().values():
        assert alarm["AlarmDescription"].endswith(".")
        assert alarm["AlarmActions"] == {
            "Fn::If": ["SomebodyIsTold", [{"Ref": "TopicArn"}], {"Ref": "AWS::NoValue"}]
        }
