"""Alarms watch what exists: a renamed metric or function would otherwise be an alarm that never rings."""

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
    """Every metric on the dashboard."""
    (dashboard,) = [
        each for each in declared()["Resources"].values() if each["Type"] == "AWS::CloudWatch::Dashboard"
    ]
    body = json.loads(dashboard["Properties"]["DashboardBody"]["Fn::Sub"])
    return [metric for widget in body["widgets"] for metric in widget["properties"]["metrics"]]


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

    assert watched == {"TurnSettled", "SweepFailed"}
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
    assert watched == {"${Deployment}-turn", "${Deployment}-sweep"}
    assert watched - deployed == set()


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


def test_silence_means_health_but_for_what_runs_every_minute() -> None:
    silent = {name for name, alarm in alarms().items() if alarm["TreatMissingData"] == "breaching"}

    assert silent == {"SweepIsMissing"}


def test_every_alarm_says_what_it_means_and_tells_somebody() -> None:
    for alarm in alarms().values():
        assert alarm["AlarmDescription"].endswith(".")
        assert alarm["AlarmActions"] == {
            "Fn::If": ["SomebodyIsTold", [{"Ref": "TopicArn"}], {"Ref": "AWS::NoValue"}]
        }
