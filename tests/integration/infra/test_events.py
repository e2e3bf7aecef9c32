"""Every file in `events/` is an event that its function could really be sent."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.event_filters import matches
from infra.local.gateway import find_route
from infra.local.template import read_deployment
from tests.integration.infra.declared import EVENTS, ROOT, functions

PROXY_EVENT = {
    "resource",
    "path",
    "httpMethod",
    "headers",
    "multiValueHeaders",
    "queryStringParameters",
    "multiValueQueryStringParameters",
    "pathParameters",
    "stageVariables",
    "requestContext",
    "body",
    "isBase64Encoded",
}
"""The members of a REST proxy event, payload format 1.0, all of them always there:
https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html."""

REQUEST_CONTEXT = {
    "apiId",
    "domainName",
    "httpMethod",
    "identity",
    "path",
    "requestId",
    "resourcePath",
    "stage",
}
STREAM_RECORD = {
    *("eventID", "eventName", "eventVersion", "eventSource", "awsRegion", "dynamodb", "eventSourceARN")
}
"""https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html"""

CHANGE = {
    *("ApproximateCreationDateTime", "Keys", "NewImage", "SequenceNumber", "SizeBytes", "StreamViewType")
}
MESSAGE = {
    *("messageId", "receiptHandle", "body", "attributes", "messageAttributes", "md5OfBody"),
    *("eventSource", "eventSourceARN", "awsRegion"),
}
"""https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html"""

TURN = {"tenant", "owner", "task", "turn"}
CALLED = ("card", "jsonrpc", "http_json")

proxied = pytest.mark.parametrize(
    "file", [file for file in EVENTS if file.name.startswith(CALLED)], ids=lambda file: file.stem
)


def read(name: str | Path) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "events" / name).read_text(encoding="utf-8"))
    return event


def test_every_function_has_events_and_every_event_a_function() -> None:
    assert {file.name.partition(".")[0] for file in EVENTS} == set(functions())


@proxied
def test_an_event_of_the_api_has_every_member_the_gateway_sends(file: Path) -> None:
    event = read(file)

    assert set(event) == PROXY_EVENT
    assert set(event["requestContext"]) >= REQUEST_CONTEXT


@proxied
def test_an_event_of_the_api_does_not_contradict_itself(file: Path) -> None:
    event = read(file)
    context = event["requestContext"]

    assert event["multiValueHeaders"] == {name: [value] for name, value in event["headers"].items()}
    assert context["path"] == f"/{context['stage']}{event['path']}"
    assert context["resourcePath"] == event["resource"]
    assert context["httpMethod"] == event["httpMethod"]


@proxied
def test_an_event_of_the_api_takes_the_route_to_its_function(file: Path) -> None:
    event = read(file)
    deployment = read_deployment(ROOT)
    match = find_route(deployment.routes, event["httpMethod"], event["path"])

    assert match is not None
    assert deployment.functions[match.route.function].folder.name == file.name.partition(".")[0]
    assert match.route.path == event["resource"]
    assert (dict(match.path_parameters) or None) == event["pathParameters"]


@proxied
def test_a_body_is_text_or_base64_of_json(file: Path) -> None:
    event = read(file)
    body = event["body"]

    if body is not None:
        json.loads(base64.b64decode(body, validate=True) if event["isBase64Encoded"] else body)
    else:
        assert event["isBase64Encoded"] is False


def test_the_state_machine_sends_ids_and_nothing_else() -> None:
    assert set(read("turn.run.json")) == TURN
    assert set(read("sweep.fail.json")) == {"fail"}
    assert set(read("sweep.fail.json")["fail"]) == TURN


def sent(function: str) -> list[dict[str, Any]]:
    """The records of every event of a function that is sent batches."""
    return [
        record for file in EVENTS if file.name.startswith(f"{function}.") for record in read(file)["Records"]
    ]


def test_what_is_sent_of_the_stream_is_what_the_filter_lets_pass() -> None:
    [stream] = read_deployment(ROOT).stream_sources

    assert sent("fanout")
    for record in sent("fanout"):
        assert set(record) == STREAM_RECORD
        assert set(record["dynamodb"]) == CHANGE
        assert any(matches(pattern, record) for pattern in stream.patterns)
        assert record["dynamodb"]["Keys"].items() <= record["dynamodb"]["NewImage"].items()


def test_what_is_sent_of_the_queue_is_what_sqs_says_of_a_message() -> None:
    assert sent("push")
    for record in sent("push"):
        assert set(record) == MESSAGE
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode()).hexdigest()  # noqa: S324  SQS's own
        assert "-PokesQueue-" in record["eventSourceARN"]


def test_the_schedule_sends_what_eventbridge_sends() -> None:
    event = read("sweep.schedule.json")

    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    assert "fail" not in event
