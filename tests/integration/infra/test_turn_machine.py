"""The state machine's definition runs on moto's interpreter, with Python in the place of both functions."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.awslambda.models import LambdaFunction

from tests.integration.infra.declared import REGION, ROOT, turn_machine

ACCOUNT = "123456789012"
TURN = {"tenant": "", "owner": "b3duZXI", "task": "task-1", "turn": 1}
SECONDS = 20.0
"""How long an execution may take before a test gives up."""


class TurnContinues(Exception):
    """What a turn that goes on ends with."""


class ProcessDied(Exception):
    """Stands for whatever Lambda reports of a process that is gone."""


@dataclass
class Functions:
    """What the two functions do when they are called, and what they were called with."""

    turn: Callable[[int], None] = lambda _: None
    """Given how often it was called before."""
    sweep: Callable[[int], None] = lambda _: None
    turns: list[Any] = field(default_factory=list)
    sweeps: list[Any] = field(default_factory=list)

    def invoke(self, function: LambdaFunction, body: str, _: Any, headers: dict[str, Any]) -> bytes:
        called, act = {"turn": (self.turns, self.turn), "sweep": (self.sweeps, self.sweep)}[
            function.function_name
        ]
        called.append(json.loads(body))
        try:
            act(len(called) - 1)
        except (TurnContinues, ProcessDied) as error:
            headers["x-amz-function-error"] = "Unhandled"
            return json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)}).encode()
        return b"null"


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Functions]:
    named = Functions()

    def invoke(
        self: LambdaFunction, body: str, request_headers: Any, response_headers: dict[str, Any]
    ) -> bytes:
        return named.invoke(self, body, request_headers, response_headers)

    monkeypatch.setattr(LambdaFunction, "invoke", invoke)
    interpreted = {"stepfunctions": {"execute_state_machine": True}}
    with mock_aws(config=interpreted):  # type: ignore[arg-type]  # moto's own type lists fewer settings
        deploy()
        yield named


def deploy() -> None:
    trust = {"Version": "2012-10-17", "Statement": []}
    role = boto3.client("iam").create_role(RoleName="role", AssumeRolePolicyDocument=json.dumps(trust))
    for name in ("turn", "sweep"):
        boto3.client("lambda").create_function(
            FunctionName=name,
            Runtime="python3.13",
            Role=role["Role"]["Arn"],
            Handler="app.handler",
            Code={"ZipFile": b"never opened"},
        )
    definition = (ROOT / "infra" / "turn.asl.json").read_text(encoding="utf-8")
    for variable, name in (("TurnFunctionArn", "turn"), ("SweepFunctionArn", "sweep")):
        arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
        definition = definition.replace("${" + variable + "}", arn)
    boto3.client("stepfunctions").create_state_machine(
        name="turn", definition=definition, roleArn=role["Role"]["Arn"]
    )


def execute() -> tuple[str, list[str]]:
    """Run one execution to its end; its status, and the states it entered."""
    client = boto3.client("stepfunctions")
    before = set(threading.enumerate())
    machine = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:turn"
    arn = client.start_execution(stateMachineArn=machine, name="task-1-1", input=json.dumps(TURN))[
        "executionArn"
    ]
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS)
    events = client.get_execution_history(executionArn=arn)["events"]
    entered = [
        event["stateEnteredEventDetails"]["name"] for event in events if "stateEnteredEventDetails" in event
    ]
    return client.describe_execution(executionArn=arn)["status"], entered


def test_an_ordinary_turn_enters_one_state(functions: Functions) -> None:
    assert execute() == ("SUCCEEDED", ["Run"])
    assert functions.turns == [TURN]
    assert functions.sweeps == []


def test_a_turn_that_goes_on_is_run_again_with_the_same_input_and_enters_no_other_state(
    functions: Functions,
) -> None:
    def go_on_once(before: int) -> None:
        if before == 0:
            raise TurnContinues

    functions.turn = go_on_once

    assert execute() == ("SUCCEEDED", ["Run"])
    assert functions.turns == [TURN, TURN]
    assert functions.sweeps == []


def test_a_turn_that_crashed_is_not_run_again_but_written_down_as_failed(functions: Functions) -> None:
    def crash(_: int) -> None:
        raise ProcessDied

    functions.turn = crash

    assert execute() == ("SUCCEEDED", ["Run", "Fail"])
    assert functions.turns == [TURN]
    assert functions.sweeps == [{"fail": TURN}]


def test_a_turn_that_went_on_and_then_crashed_is_written_down_with_the_ids_it_began_with(
    functions: Functions,
) -> None:
    def go_on_then_crash(before: int) -> None:
        raise TurnContinues if before == 0 else ProcessDied

    functions.turn = go_on_then_crash

    assert execute() == ("SUCCEEDED", ["Run", "Fail"])
    assert functions.sweeps == [{"fail": TURN}]


def test_writing_a_failure_down_is_tried_again(functions: Functions) -> None:
    def crash(_: int) -> None:
        raise ProcessDied

    def crash_once(before: int) -> None:
        if before == 0:
            raise ProcessDied

    functions.turn, functions.sweep = crash, crash_once

    assert execute() == ("SUCCEEDED", ["Run", "Fail"])
    assert functions.sweeps == [{"fail": TURN}] * 2


def retries(state: str) -> Mapping[str, Mapping[str, Any]]:
    rows = turn_machine()["States"][state]["Retry"]
    return {error: row for row in rows for error in row["ErrorEquals"]}


@pytest.mark.parametrize(
    ("error", "seconds"), [("TurnContinues", 1), ("TurnWaits", 30), ("TurnWaitsLong", 300)]
)
def test_a_turn_that_goes_on_or_waits_may_do_so_for_as_long_as_it_needs(error: str, seconds: int) -> None:
    row = retries("Run")[error]

    assert (row["IntervalSeconds"], row["BackoffRate"]) == (seconds, 1)
    assert row["MaxAttempts"] == 99_999_999


def test_errors_of_lambda_itself_are_retried_a_few_times_and_ever_more_slowly() -> None:
    rows = retries("Run")

    for error in ("ServiceException", "AWSLambdaException", "SdkClientException", "TooManyRequestsException"):
        assert rows[f"Lambda.{error}"]["BackoffRate"] > 1
        assert 1 < rows[f"Lambda.{error}"]["MaxAttempts"] < 10


def test_no_failure_of_the_agent_is_ever_retried() -> None:
    named = {"TurnContinues", "TurnWaits", "TurnWaitsLong"}

    assert {error for error in retries("Run") if not error.startswith("Lambda.")} == named


def test_the_definition_is_json_path_and_has_two_states() -> None:
    assert "QueryLanguage" not in turn_machine()
    assert set(turn_machine()["States"]) == {"Run", "Fail"}
