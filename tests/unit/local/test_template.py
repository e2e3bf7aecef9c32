"""What the local stack reads out of our templates, and the intrinsic functions it resolves."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import Deployment, Route
from infra.local.intrinsics import Scope, UnresolvableError, read_template
from infra.local.template import rate_seconds, read_deployment

ROOT = Path(__file__).resolve().parents[3]

TEMPLATE = """
Conditions:
  Small: !Equals [!Ref Size, 3]
  Large: !Not [!Condition Small]
  Both: !And [!Condition Small, !Condition Large]
  Either: !Or [!Condition Small, !Condition Large]
Mappings:
  Days: {"3": {Kept: 5}}
Resources:
  Table: {Type: T}
"""


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return read_deployment(ROOT)


@pytest.fixture(scope="module")
def scope() -> Scope:
    return Scope(
        read_template(TEMPLATE),
        {"Size": "3", "AWS::Region": "us-east-1"},
        resource=lambda name: f"the-{name}",
        attribute=lambda name, attribute: f"{name}/{attribute}",
    )


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("!Ref Size", "3"),
        ("!Ref Table", "the-Table"),
        ("!GetAtt Table.Arn", "Table/Arn"),
        ("!GetAtt State.Outputs.Name", "State/Outputs.Name"),
        (
            '!Sub "${AWS::Region}/${Table}/${Table.Arn}/${!Literal}"',
            "us-east-1/the-Table/Table/Arn/${Literal}",
        ),
        ('!Sub ["${A}-${Size}", {A: !Ref Table}]', "the-Table-3"),
        ("!If [Small, a, b]", "a"),
        ("!If [Either, a, b]", "a"),
        ("!If [Both, a, b]", "b"),
        ('!Join ["-", [a, !Ref Size]]', "a-3"),
        ('!Select [1, !Split [",", "a,b"]]', "b"),
        ("!FindInMap [Days, !Ref Size, Kept]", 5),
        ("{a: !If [Large, 1, !Ref AWS::NoValue], b: [!Ref AWS::NoValue, 2]}", {"b": [2]}),
        ("{Ref: Size}", "3"),
    ],
)
def test_an_intrinsic_function_is_resolved(scope: Scope, source: str, value: object) -> None:
    assert scope.resolve(read_template(source)) == value


@pytest.mark.parametrize(
    "source", ["!Ref Nobody", "!ImportValue x", "!If [Never, 1, 2]", "!FindInMap [Days, 4, Kept]"]
)
def test_what_cannot_be_resolved_is_refused_and_not_guessed(scope: Scope, source: str) -> None:
    with pytest.raises(UnresolvableError):
        scope.resolve(read_template(source))


def test_every_function_of_the_template_is_found_with_its_limits(deployment: Deployment) -> None:
    found = {function.folder.name: function for function in deployment.functions.values()}

    assert found.keys() == {"card", "jsonrpc", "http_json", "turn", "sweep", "fanout", "push"}
    assert all((function.folder / "app.py").is_file() for function in found.values())
    assert {function.handler for function in found.values()} == {"app.handler"}
    assert found["turn"].timeout_seconds == 900
    assert (found["jsonrpc"].timeout_seconds, found["card"].timeout_seconds) == (900, 29)
    assert found["turn"].memory_mb == 512


def test_the_functions_are_told_the_names_that_the_nested_stack_will_have(deployment: Deployment) -> None:
    tables = {function.environment["TASKS_TABLE"] for function in deployment.functions.values()}
    declared = deployment.state["Resources"]

    assert tables == {declared["TasksTable"]["Properties"]["TableName"]}
    assert "Fn::GetAtt" not in json.dumps([dict(f.environment) for f in deployment.functions.values()])


def test_the_routes_are_those_of_the_template(deployment: Deployment) -> None:
    assert set(deployment.routes) == {
        Route("ANY", "/", "JsonRpcFunction", streams=True, timeout_seconds=900),
        Route("ANY", "/{proxy+}", "HttpJsonFunction", streams=True, timeout_seconds=900),
        Route("ANY", "/.well-known/agent-card.json", "CardFunction"),
        Route("ANY", "/.well-known/jwks.json", "CardFunction"),
        Route("ANY", "/health", "CardFunction"),
    }


def test_a_parameter_chooses_what_is_deployed() -> None:
    buffered = read_deployment(ROOT, {"Streaming": "buffered"})

    assert {(route.streams, route.timeout_seconds) for route in buffered.routes} == {(False, 29)}
    assert {function.environment["STREAMING"] for function in buffered.functions.values()} == {"off"}
    with pytest.raises(UnresolvableError):
        read_deployment(ROOT, {"Steaming": "buffered"})


def test_the_gateways_own_answers_are_the_templates(deployment: Deployment) -> None:
    throttled = deployment.gateway_responses["THROTTLED"]

    assert throttled.headers["Retry-After"] == "1"
    assert deployment.gateway_responses["MISSING_AUTHENTICATION_TOKEN"].status == 404


def test_the_state_machine_names_the_functions_by_their_arns(deployment: Deployment) -> None:
    states: dict[str, Any] = json.loads(deployment.state_machine_definition)["States"]

    assert states["Run"]["Resource"] == deployment.functions["TurnFunction"].arn
    assert states["Fail"]["Resource"] == deployment.functions["SweepFunction"].arn
    machine = deployment.functions["JsonRpcFunction"].environment["TURN_STATE_MACHINE_ARN"]
    assert machine.endswith(f":stateMachine:{deployment.state_machine}")


def test_the_sweep_is_scheduled_every_minute(deployment: Deployment) -> None:
    assert [(schedule.function, schedule.every_seconds) for schedule in deployment.schedules] == [
        ("SweepFunction", 60.0)
    ]


def test_a_rate_is_read_in_every_unit() -> None:
    assert [rate_seconds(f"rate({rate})") for rate in ("1 minute", "5 minutes", "1 hour")] == [60, 300, 3600]
    with pytest.raises(UnresolvableError):
        rate_seconds("cron(0 10 * * ? *)")


def test_the_functions_find_the_queues_by_the_names_that_they_will_have(deployment: Deployment) -> None:
    declared = deployment.state["Resources"]
    told = deployment.functions["PushFunction"].environment

    for variable, queue in (
        ("POKES_QUEUE_URL", "PokesQueue"),
        ("DEAD_LETTERS_QUEUE_URL", "DeadLettersQueue"),
    ):
        name = declared[queue]["Properties"]["QueueName"]
        assert told[variable] == f"https://sqs.us-east-1.amazonaws.com/123456789012/{name}"


def test_the_key_is_known_by_its_alias_since_moto_makes_up_the_rest(deployment: Deployment) -> None:
    told = deployment.functions["PushFunction"].environment["SECRETS_KEY"]

    assert told == "arn:aws:kms:us-east-1:123456789012:alias/a2a-local-State"


def test_pokes_and_changes_are_mapped_to_their_functions(deployment: Deployment) -> None:
    [pokes], [changes] = deployment.queue_sources, deployment.stream_sources

    assert (pokes.function, pokes.queue) == ("a2a-local-push", "a2a-local-pokesqueue")
    assert (pokes.batch_size, pokes.most_at_once, pokes.reports) == (10, 20, True)
    assert (changes.function, changes.table) == ("a2a-local-fanout", "a2a-local-taskstable")
    assert (changes.retries, changes.age_seconds, changes.bisects, changes.lanes) == (20, 3600, True, 1)
    assert changes.on_failure == "a2a-local-fanoutfailuresqueue"
