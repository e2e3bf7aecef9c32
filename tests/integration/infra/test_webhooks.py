"""One parameter says whether there are webhooks; what carries word to them follows, and fits together."""

import json
from typing import Any

import pytest

from infra.local.event_filters import matches
from infra.local.template import read_deployment
from tests.integration.infra.declared import ROOT, Declared, deployed, resources, state, template

MADE_FOR_WEBHOOKS = {"FanoutFunction", "FanoutLogs", "FanoutRole", "PushFunction", "PushLogs", "PushRole"}


def record(name: str, kind: str | None) -> Declared:
    """What the stream says of an item."""
    image = {"pk": {"S": "TASK#"}} | ({"pushes": {"S": kind}} if kind else {})
    return {"eventName": name, "dynamodb": {"NewImage": image}}


def fanned_out(**parameters: str) -> set[str]:
    """Which kinds of events are sent to the function that tells of them."""
    [source] = read_deployment(ROOT, parameters).stream_sources
    kinds = ("states", "artifacts", "progress")
    return {
        kind for kind in kinds if any(matches(pattern, record("INSERT", kind)) for pattern in source.patterns)
    }


def source(function: str) -> Any:
    [event] = resources("AWS::Serverless::Function")[function]["Events"].values()
    return event["Properties"]


def test_there_are_webhooks_unless_somebody_says_otherwise() -> None:
    parameter = template()["Parameters"]["Webhooks"]

    assert (parameter["Default"], parameter["AllowedValues"]) == ("on", ["on", "off"])


def test_a_deployment_without_webhooks_makes_nothing_for_them() -> None:
    with_them, without = deployed(Webhooks="on"), deployed(Webhooks="off")

    assert set(with_them) - set(without) >= MADE_FOR_WEBHOOKS
    assert not any("Events" in each for name, each in without.items() if name in MADE_FOR_WEBHOOKS)
    local = read_deployment(ROOT, {"Webhooks": "off"})
    assert (local.queue_sources, local.stream_sources) == ((), ())
    assert set(local.state["Resources"]) == {"TasksTable", "ContentBucket"}


@pytest.mark.parametrize(("webhooks", "told"), [("on", True), ("off", False)])
def test_every_function_is_told_of_queues_and_key_exactly_when_there_are_webhooks(
    webhooks: str, *, told: bool
) -> None:
    deployment = read_deployment(ROOT, {"Webhooks": webhooks})

    for function in deployment.functions.values():
        for name in ("POKES_QUEUE_URL", "DEAD_LETTERS_QUEUE_URL", "SECRETS_KEY"):
            assert bool(function.environment[name]) is told


@pytest.mark.parametrize(
    ("parameters", "kinds"),
    [
        ({}, {"states", "artifacts"}),
        ({"WebhookEvents": "artifacts"}, {"artifacts"}),
        ({"WebhookEvents": "progress,states,artifacts"}, {"progress", "states", "artifacts"}),
        ({"WebhookEvents": "artifacts", "EventBus": "tasks"}, {"artifacts", "states"}),
    ],
)
def test_only_what_somebody_wants_to_hear_of_is_fanned_out(
    parameters: dict[str, str], kinds: set[str]
) -> None:
    assert fanned_out(**parameters) == kinds


@pytest.mark.parametrize(
    "other", [record("INSERT", None), record("MODIFY", "states"), {"eventName": "REMOVE"}]
)
def test_what_is_no_new_event_is_never_fanned_out(other: Declared) -> None:
    [stream] = read_deployment(ROOT, {"EventBus": "tasks"}).stream_sources

    assert not any(matches(pattern, other) for pattern in stream.patterns)


def test_the_stream_is_read_from_its_beginning_and_nothing_holds_it_up_for_long() -> None:
    stream = source("FanoutFunction")

    assert stream["StartingPosition"] == "TRIM_HORIZON"
    assert stream["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (stream["BatchSize"], stream["MaximumBatchingWindowInSeconds"]) == (100, 0)
    assert stream["BisectBatchOnFunctionError"] is True
    assert 0 < stream["MaximumRetryAttempts"] < 100
    assert 0 < stream["MaximumRecordAgeInSeconds"] <= 24 * 3600
    failures = stream["DestinationConfig"]["OnFailure"]["Destination"]
    assert failures == {"Fn::GetAtt": ["State", "Outputs.FanoutFailuresQueueArn"]}


def test_a_poke_shows_again_only_when_whoever_had_it_is_surely_gone() -> None:
    push = resources("AWS::Serverless::Function")["PushFunction"]
    pokes = state()["Resources"]["PokesQueue"]["Properties"]

    assert pokes["VisibilityTimeout"] == 6 * push["Timeout"]
    assert pokes["RedrivePolicy"]["maxReceiveCount"] >= 5


def test_a_delivery_has_time_for_an_attempt_that_takes_as_long_as_it_may() -> None:
    longest = template()["Parameters"]["WebhookTimeoutSeconds"]["MaxValue"]

    assert 2 * longest <= resources("AWS::Serverless::Function")["PushFunction"]["Timeout"]


def test_pokes_come_ten_at_a_time_and_each_is_answered_for() -> None:
    pokes = source("PushFunction")

    assert pokes["Queue"] == {"Fn::GetAtt": ["State", "Outputs.PokesQueueArn"]}
    assert (pokes["BatchSize"], pokes["FunctionResponseTypes"]) == (10, ["ReportBatchItemFailures"])
    assert pokes["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "PushParallelism"}}
    assert template()["Parameters"]["PushParallelism"]["MinValue"] == 2


def test_concurrency_is_reserved_only_on_demand() -> None:
    for name, parameter in (("FanoutFunction", "FanoutConcurrency"), ("PushFunction", "PushConcurrency")):
        assert "ReservedConcurrentExecutions" not in deployed()[name]
        assert deployed(**{parameter: "7"})[name]["ReservedConcurrentExecutions"] == "7"


def test_a_bus_without_what_tells_it_is_refused() -> None:
    rule = template()["Rules"]["EventsAreFannedOut"]

    assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "EventBus"}, ""]}]}
    assert [each["Assert"] for each in rule["Assertions"]] == [{"Fn::Equals": [{"Ref": "Webhooks"}, "on"]}]


def test_filters_are_json_whatever_was_chosen() -> None:
    chosen = deployed(WebhookEvents="states,progress", EventBus="tasks")["FanoutFunction"]
    filters = chosen["Events"]["Changes"]["Properties"]["FilterCriteria"]["Filters"]

    assert [json.loads(each["Pattern"])["dynamodb"]["NewImage"]["pushes"]["S"] for each in filters] == [
        ["states", "progress"],
        ["states"],
    ]
