"""Queues and the table's stream with functions at their ends: what is sent, again, and what is given up."""

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.local.aws import ROOT
from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.options import parse
from infra.local.stack import Stack
from infra.local.template import read_deployment
from tests.integration.local.handlers import API, FANOUT, PUSH, write
from tests.integration.local.pipes import Listener


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """What the template declares, but less patient, and with functions that do what they are asked."""
    declared = read_deployment(ROOT, {"PushParallelism": "2"})
    folder = tmp_path_factory.mktemp("functions")
    sources = {"push": PUSH, "fanout": FANOUT}
    functions = {
        logical_id: replace(
            function, folder=write(folder / function.folder.name, sources.get(function.folder.name, API))
        )
        for logical_id, function in declared.functions.items()
    }
    state = json.loads(json.dumps(declared.state))
    pokes = state["Resources"]["PokesQueue"]["Properties"]
    pokes["RedrivePolicy"]["maxReceiveCount"] = 2
    [changes] = declared.stream_sources
    return replace(
        declared,
        functions=functions,
        schedules=(),
        state=state,
        stream_sources=(replace(changes, retries=1),),
    )


@pytest.fixture(scope="module")
def stack(deployment: Deployment) -> Iterator[Stack]:
    console = Console(quiet=True)
    made = Stack(deployment, parse(["--port", "0", "--agent", "a2a_agents.echo:agent"]), console)
    made.start()
    made.wait_until_ready()
    yield made
    made.close()
    console.close()


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[Callable[[str], Any]]:
    """Clients of the stack's moto."""
    session = boto3.session.Session("local", "local", region_name="us-east-1")
    made: dict[str, Any] = {}

    def of(service: str) -> Any:
        return made.setdefault(service, session.client(service, endpoint_url=stack.aws_endpoint))

    yield of
    for each in made.values():
        each.close()


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Listener]:
    """What functions tell this test."""
    listener = Listener(tmp_path / "told")
    yield listener
    listener.close()


class Queue:
    """A queue of the deployment."""

    def __init__(self, sqs: Any, url: str) -> None:
        self._sqs = sqs
        self._url = url

    def send(self, *messages: dict[str, Any], delay: int = 0) -> None:
        """Send messages at once."""
        entries = [
            {"Id": str(number), "MessageBody": json.dumps(message), "DelaySeconds": delay}
            for number, message in enumerate(messages)
        ]
        answer = self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)
        assert not answer.get("Failed")

    def take(self) -> Any:
        """Wait for a message and take it out."""
        [message] = self._sqs.receive_message(QueueUrl=self._url, WaitTimeSeconds=20)["Messages"]
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        return json.loads(message["Body"])

    def show_again_after(self, seconds: int) -> None:
        """Change how long messages are out of sight from now on."""
        self._sqs.set_queue_attributes(QueueUrl=self._url, Attributes={"VisibilityTimeout": str(seconds)})

    def count(self) -> int:
        """How many messages can be received now."""
        answer = self._sqs.get_queue_attributes(
            QueueUrl=self._url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])


@pytest.fixture(scope="module")
def pokes(client: Callable[[str], Any], deployment: Deployment) -> Queue:
    url = deployment.functions["PushFunction"].environment["POKES_QUEUE_URL"]
    return Queue(client("sqs"), url)


@pytest.fixture
def impatient(pokes: Queue) -> Iterator[None]:
    """Let messages show again after a second, although somebody waits for them already."""
    pokes.show_again_after(1)
    yield
    pokes.show_again_after(360)


@pytest.fixture(scope="module")
def letters(client: Callable[[str], Any], deployment: Deployment) -> Queue:
    return Queue(client("sqs"), deployment.functions["PushFunction"].environment["DEAD_LETTERS_QUEUE_URL"])


@pytest.fixture(scope="module")
def failures(client: Callable[[str], Any], deployment: Deployment) -> Queue:
    [changes] = deployment.stream_sources
    return Queue(client("sqs"), f"https://sqs.us-east-1.amazonaws.com/123456789012/{changes.on_failure}")


def message(told: Listener, name: str, **asked: Any) -> dict[str, Any]:
    return {"tell": told.path, "name": name, **asked}


def test_a_message_reaches_its_function_with_all_that_sqs_says_of_it(pokes: Queue, told: Listener) -> None:
    pokes.send(message(told, "first", do="show"))

    assert told.line() == "first 1 of 1"
    record = json.loads(told.line())
    assert (record["eventSource"], record["awsRegion"]) == ("aws:sqs", "us-east-1")
    assert record["eventSourceARN"] == "arn:aws:sqs:us-east-1:123456789012:a2a-local-pokesqueue"
    sent, received = (
        int(record["attributes"][name]) for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp")
    )
    assert sent <= received


def test_a_delayed_message_comes_when_it_is_due_and_not_before(pokes: Queue, told: Listener) -> None:
    pokes.send(message(told, "later", do="show"), delay=1)
    pokes.send(message(told, "now"))

    assert told.line() == "now 1 of 1"
    assert told.line() == "later 1 of 1"
    attributes = json.loads(told.line())["attributes"]
    waited = int(attributes["ApproximateFirstReceiveTimestamp"]) - int(attributes["SentTimestamp"])
    assert 1000 <= waited < 5000


@pytest.mark.usefixtures("impatient")
def test_only_the_messages_that_a_function_failed_at_come_again(pokes: Queue, told: Listener) -> None:
    pokes.send(message(told, "good"), message(told, "bad", do="fail"))

    lines = [told.line(), told.line()]
    assert [line.partition(" of ")[0] for line in lines] == ["good 1", "bad 1"]
    assert told.line() == "bad 2 of 1"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["raise", "die"])
def test_what_a_function_crashed_over_shows_again_when_its_time_out_of_sight_is_over(
    pokes: Queue, told: Listener, how: str
) -> None:
    pokes.send(message(told, how, do=how))

    assert [told.line(), told.line()] == [f"{how} 1 of 1", f"{how} 2 of 1"]


def test_of_many_messages_sent_while_others_are_deleted_none_is_lost(pokes: Queue, told: Listener) -> None:
    names = [f"{sender}-{number}" for sender in range(8) for number in range(10)]

    with ThreadPoolExecutor(8) as senders:
        list(senders.map(lambda name: pokes.send(message(told, name)), names))

    assert {told.line().partition(" ")[0] for _ in names} == set(names)


@pytest.mark.usefixtures("impatient")
def test_what_came_too_often_goes_to_the_dead_letters(pokes: Queue, letters: Queue, told: Listener) -> None:
    hopeless = message(told, "hopeless", do="fail", always=True)
    pokes.send(hopeless)

    assert [told.line(), told.line()] == ["hopeless 1 of 1", "hopeless 2 of 1"]
    assert letters.take() == hopeless


def test_no_more_batches_are_with_a_function_than_its_mapping_allows(
    pokes: Queue, told: Listener, tmp_path: Path
) -> None:
    for name in ("one", "two", "three"):
        os.mkfifo(tmp_path / name)

    def waits(name: str) -> dict[str, Any]:
        return message(told, name, **{"do": "wait", "for": str(tmp_path / name)})

    for name in ("one", "two"):
        pokes.send(waits(name))
        assert told.line() == f"{name} 1 of 1"
    pokes.send(waits("three"))
    assert pokes.count() == 1

    (tmp_path / "one").write_text("go on")
    assert [told.line(), told.line()] == ["one done", "three 1 of 1"]
    for name in ("two", "three"):
        (tmp_path / name).write_text("go on")
        assert told.line() == f"{name} done"


class Changes:
    """Changes of the table, each of one partition of its own."""

    def __init__(self, dynamodb: Any, deployment: Deployment, told: Listener) -> None:
        self._dynamodb = dynamodb
        self._table = deployment.functions["FanoutFunction"].environment["TASKS_TABLE"]
        self._told = told

    def put(self, name: str, kind: str | None = "states", **asked: str) -> None:
        """Write an item that says what its record is to do."""
        given = {"pk": self._told.path, "sk": name, "tell": self._told.path, **asked}
        item = {attribute: {"S": value} for attribute, value in given.items()}
        pushes = {"pushes": {"S": kind}} if kind else {}
        self._dynamodb.put_item(TableName=self._table, Item={**item, **pushes})


@pytest.fixture
def changes(client: Callable[[str], Any], deployment: Deployment, told: Listener) -> Changes:
    return Changes(client("dynamodb"), deployment, told)


@pytest.fixture
def together(changes: Changes, told: Listener, tmp_path: Path) -> Callable[..., None]:
    """Write changes while their function is kept busy with another one, so that they are sent together."""

    def write_all(**asked: dict[str, str]) -> None:
        hold = tmp_path / "hold"
        os.mkfifo(hold)
        changes.put("hold", **{"do": "wait", "for": str(hold)})
        assert told.line() == "hold"
        for name, each in asked.items():
            changes.put(name, **each)
        hold.write_text("go on")

    return write_all


def test_a_change_reaches_its_function_as_aws_tells_of_it(changes: Changes, told: Listener) -> None:
    changes.put("shown", do="show")

    assert told.line() == "shown"
    record = json.loads(told.line())
    assert (record["eventName"], record["eventSource"]) == ("INSERT", "aws:dynamodb")
    assert record["dynamodb"]["Keys"] == {"pk": {"S": told.path}, "sk": {"S": "shown"}}
    assert record["dynamodb"]["NewImage"]["pushes"] == {"S": "states"}
    assert record["dynamodb"]["ApproximateCreationDateTime"] > 1.7e9
    assert record["eventSourceARN"].startswith(
        "arn:aws:dynamodb:us-east-1:123456789012:table/a2a-local-taskstable/stream/"
    )


def test_what_the_filter_does_not_let_pass_is_never_sent(changes: Changes, told: Listener) -> None:
    changes.put("wanted")
    changes.put("silent", kind=None)
    changes.put("progress", kind="progress")
    changes.put("wanted")
    changes.put("wanted too", kind="artifacts")

    assert [told.line(), told.line()] == ["wanted", "wanted too"]


def test_changes_come_in_order_and_together(together: Callable[..., None], told: Listener) -> None:
    together(a={}, b={}, c={}, d={})

    assert told.line() == "a b c d"


def test_from_the_record_on_that_a_function_failed_at_all_come_again(
    together: Callable[..., None], told: Listener, tmp_path: Path
) -> None:
    together(a={}, b={"do": "fail", "mark": str(tmp_path / "mark")}, c={})

    assert [told.line(), told.line()] == ["a b c", "b c"]


def test_a_function_that_died_over_changes_is_sent_them_in_halves(
    together: Callable[..., None], told: Listener, tmp_path: Path
) -> None:
    together(a={}, b={"do": "die", "mark": str(tmp_path / "mark")}, c={}, d={})

    assert [told.line(), told.line(), told.line()] == ["a b c d", "a b", "c d"]


def test_a_change_that_nobody_can_work_on_is_found_given_up_and_told_of_and_the_others_are_not(
    together: Callable[..., None], told: Listener, failures: Queue
) -> None:
    together(a={}, b={"do": "raise"}, c={}, d={})

    assert [told.line() for _ in range(6)] == ["a b c d", "a b", "a", "b", "b", "c d"]
    given_up = failures.take()
    assert given_up["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert given_up["requestContext"]["approximateInvokeCount"] == 2
    assert given_up["DDBStreamBatchInfo"]["batchSize"] == 1
