"""`a2a-serverless push …` on a deployment's state, from dead webhooks to none, and what may go wrong."""

import json
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from moto import mock_aws

from a2a_serverless.adapters.dynamodb_signing_keys import DynamoSigningKeys
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.adapters.kms_seals import KmsSeals
from a2a_serverless.adapters.sqs_letters import SqsLetters
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.ports.signing_keys import sealed_for
from a2a_serverless.wiring.operator import OUTPUTS, PARAMETERS
from infra.local.intrinsics import read_template
from tests.integration.cli.desk import Desk

ROOT = Path(__file__).parents[3]
QUEUES_ALONE = yaml.safe_dump(
    {
        "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
        "Outputs": {"TopicArn": {"Value": "arn:aws:sns:us-east-1:123456789012:topic"}},
    }
)


def stack(**outputs: str) -> str:
    """A template whose outputs are those of a deployment."""
    return json.dumps(
        {
            "Parameters": {"WebhookAgeSeconds": {"Type": "Number", "Default": 3600}},
            "Resources": {"Queue": {"Type": "AWS::SQS::Queue"}},
            "Outputs": {name: {"Value": value} for name, value in outputs.items()},
        }
    )


@pytest.fixture
def cloudformation(desk: Desk) -> Iterator[Any]:
    """The client of the stacks; those that a test makes are gone after it."""
    client: Any = desk.session.create_client("cloudformation")
    before = {each["StackName"] for each in client.describe_stacks()["Stacks"]}
    yield client
    for each in client.describe_stacks()["Stacks"]:
        if each["StackName"] not in before:
            client.delete_stack(StackName=each["StackName"])


def deployed(desk: Desk, cloudformation: Any, name: str, **changed: str) -> None:
    """A stack that tells of the same state as a deployment's own stack would."""
    outputs = {
        "TasksTable": desk.backend.table,
        "ContentBucket": desk.backend.bucket,
        "TurnStateMachineArn": desk.backend.state_machine_arn,
        "PokesQueueUrl": desk.backend.pokes_queue_url,
        "DeadLettersQueueUrl": desk.backend.dead_letters_queue_url,
        "SecretsKeyArn": desk.backend.secrets_key,
        **changed,
    }
    cloudformation.create_stack(StackName=name, TemplateBody=stack(**outputs))


def failed(desk: Desk, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit status and the one line, where nothing is printed besides."""
    ended = desk.run(*arguments, **environment)
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    return ended.exit_code, line


def test_the_outputs_and_parameters_that_are_read_are_the_templates() -> None:
    template = read_template((ROOT / "template.yaml").read_text(encoding="utf-8"))
    state = read_template((ROOT / "infra" / "state.yaml").read_text(encoding="utf-8"))

    assert set(OUTPUTS) <= set(template["Outputs"]) | set(state["Outputs"])
    assert set(OUTPUTS.values()) == {OUTPUTS[name] for name in OUTPUTS if name in template["Outputs"]}
    assert set(PARAMETERS) <= set(template["Parameters"])


def test_from_dead_webhooks_to_none(desk: Desk) -> None:
    keys = [desk.died(name) for name in ("a", "b", "c")]

    told = desk.read("push", "dead-letters")
    assert (len(told["webhooks"]), told["letters"], told["more"]) == (3, 3, False)
    assert (
        told["webhooks"][0].items()
        >= {
            "task": "task-a",
            "config": "config-a",
            "tenant": "acme",
            "owner": "an owner/#1",
            "host": "hooks.example:443",
            "attempts": 8,
            "reason": "answered 410",
        }.items()
    )

    one = desk.start("push", "redrive", "--task", "task-b", "--config", "config-b")
    assert (one.returncode, one.stderr) == (0, "")
    assert [webhook["task"] for webhook in desk.read("push", "dead-letters")["webhooks"]] == [
        "task-a",
        "task-c",
    ]
    assert desk.lying(desk.backend.dead_letters_queue_url) == 2

    rest = desk.start("push", "redrive", "--all")
    assert (rest.returncode, rest.stderr) == (0, "")
    assert (
        rest.stdout.splitlines()[0]
        == "redriven 1 of 2: task task-a, config config-a, owner an owner/#1 of tenant acme"
    )

    again = desk.operate("push", "redrive", "--all")
    assert (again.exit_code, again.stderr) == (3, "")
    assert desk.operate("push", "dead-letters").stdout == "No webhook of a2a-local-State is dead.\n"
    assert desk.lying(desk.backend.dead_letters_queue_url) == 0
    assert sorted(poke["task"] for poke in desk.poked()) == ["task-a", "task-b", "task-c"]
    for key in keys:
        row = desk.store.read(key)
        assert row is not None
        assert (row.cursor, row.attempts, row.died_at, row.reason) == (3, 0, None, None)


def test_letters_are_counted(desk: Desk) -> None:
    letters = SqsLetters(desk.sqs, desk.backend.dead_letters_queue_url)
    assert letters.count() == 0

    desk.died("counted")
    assert letters.count() == 1

    assert letters.remove(lambda _: True) == 1
    assert letters.count() == 0
    desk.operate("push", "redrive", "--all")


def test_a_key_is_rotated_as_the_deployment_was_deployed(desk: Desk, cloudformation: Any) -> None:
    """Published for an hour longer than a day: the stack says that an event is tried for an hour."""
    deployed(desk, cloudformation, "agents")
    first = desk.read("push", "rotate-key", "--stack", "agents")
    assert (first["deployment"], first["made"], len(first["keys"])) == ("agents", True, 1)

    second = desk.read("push", "rotate-key", "--stack", "agents")

    before, after = second["keys"]
    assert before["kid"] == first["keys"][0]["kid"]
    assert before["retires"][:10] > after["signsFrom"][:10]
    table = DynamoTable(desk.backend.dynamodb, desk.backend.table, SystemClock())
    ring = DynamoSigningKeys(table).read()
    assert ring is not None
    assert [key.kid for key in ring.keys] == [before["kid"], after["kid"]]
    assert (ring.keys[0].retires - ring.keys[1].signs_from).total_seconds() == 25 * 3600  # type: ignore[operator]
    assert KmsSeals(desk.backend.kms, "").open(ring.keys[1].sealed, sealed_for(after["kid"]))


def test_of_several_deployments_one_must_be_named(desk: Desk, cloudformation: Any) -> None:
    deployed(desk, cloudformation, "agents")
    cloudformation.create_stack(StackName="queues", TemplateBody=QUEUES_ALONE)

    assert failed(desk, "push", "redrive", "--all", AWS_ENDPOINT_URL=desk.address) == (
        2,
        "error: there are several deployments: name one with --stack (a2a-local-State, agents)",
    )
    assert desk.read("push", "dead-letters", "--stack", "agents")["deployment"] == "agents"
    named = desk.operate("push", "dead-letters", A2A_STACK="agents")
    assert named.stdout == "No webhook of agents is dead.\n"


def test_where_nothing_is_deployed_it_is_said(desk: Desk) -> None:
    somebody = {
        "AWS_REGION": "eu-north-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }

    with mock_aws():
        told = failed(desk, "push", "dead-letters", **somebody)

    assert told == (4, "error: there is no deployment in this account and Region: name one with --stack")


def test_a_stack_that_is_none_of_ours_is_refused(desk: Desk, cloudformation: Any) -> None:
    cloudformation.create_stack(StackName="queues", TemplateBody=QUEUES_ALONE)

    for name, words in (
        ("nobody", "there is no stack nobody in this account and Region"),
        ("queues", "stack queues is no deployment of a2a-serverless"),
    ):
        told = failed(desk, "push", "dead-letters", "--stack", name, AWS_ENDPOINT_URL=desk.address)

        assert told == (4, f"error: {words}")


def test_a_deployment_without_webhooks_has_nothing_to_see_to(desk: Desk, cloudformation: Any) -> None:
    deployed(desk, cloudformation, "silent", PokesQueueUrl="", DeadLettersQueueUrl="")

    for command in ("dead-letters", "rotate-key"):
        assert failed(desk, "push", command, "--stack", "silent", AWS_ENDPOINT_URL=desk.address) == (
            4,
            "error: silent delivers to no webhooks: it was deployed with Webhooks=off",
        )


def test_the_variables_of_the_functions_say_it_as_well(desk: Desk) -> None:
    variables = {
        "TASKS_TABLE": desk.backend.table,
        "POKES_QUEUE_URL": desk.backend.pokes_queue_url,
        "DEAD_LETTERS_QUEUE_URL": desk.backend.dead_letters_queue_url,
        "SECRETS_KEY": desk.backend.secrets_key,
        "LOG_LEVEL": "somebody's own",
    }

    ended = desk.operate("push", "dead-letters", **variables)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout == f"No webhook of {desk.backend.table} is dead.\n"


def test_variables_that_say_half_of_it_are_named(desk: Desk) -> None:
    variables = {"TASKS_TABLE": "tasks", "POKES_QUEUE_URL": "https://queue"}

    assert failed(desk, "push", "dead-letters", AWS_REGION="eu-west-1", **variables) == (
        4,
        "error: Webhooks (POKES_QUEUE_URL) need DEAD_LETTERS_QUEUE_URL and SECRETS_KEY too.",
    )


def test_what_aws_refuses_is_said_in_its_words(desk: Desk) -> None:
    variables = {
        "TASKS_TABLE": "another",
        "POKES_QUEUE_URL": desk.backend.pokes_queue_url,
        "DEAD_LETTERS_QUEUE_URL": desk.backend.dead_letters_queue_url,
        "SECRETS_KEY": desk.backend.secrets_key,
    }

    status, line = failed(desk, "push", "redrive", "--all", AWS_ENDPOINT_URL=desk.address, **variables)

    assert status == 1
    assert line.startswith("error: AWS refused Query: ResourceNotFoundException (")


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        ((), {}, "no AWS Region is set: name one with --region, or set AWS_REGION"),
        (
            ("--region", "eu-west-1"),
            {},
            "no AWS credentials were found: sign in, name a --profile, or set AWS_ACCESS_KEY_ID",
        ),
        (("--profile", "nobody"), {}, "The config profile (nobody) could not be found"),
        (
            (),
            {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "half"},
            "Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY",
        ),
    ],
    ids=["no region", "no credentials", "no such profile", "half of the credentials"],
)
def test_who_is_nobody_to_aws_is_told_what_is_missing(
    desk: Desk, arguments: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    assert failed(desk, "push", "dead-letters", *arguments, **environment) == (4, f"error: {words}")


def test_an_address_where_nobody_answers_is_named(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"

    status, line = failed(desk, "push", "dead-letters", "--endpoint-url", address)

    assert status == 4
    assert line == f'error: AWS cannot be reached: Could not connect to the endpoint URL: "{address}/"'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (HTTPStatus.OK, b'{"jsonrpc": "2.0", "error": {"code": -32700}, "id": null}'),
        (HTTPStatus.BAD_REQUEST, b'{"error": {"code": 400}}'),
        (HTTPStatus.NOT_FOUND, b"<html><body>Nothing here<br></body></html>"),
        (HTTPStatus.OK, b"<html><body>Welcome<br></body></html>"),
        (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, b""),
    ],
    ids=lambda given: str(given)[:20],
)
def test_an_address_where_something_else_answers_is_known_for_it(
    desk: Desk, status: HTTPStatus, body: bytes
) -> None:
    """As where the agent's own address was taken for that of the local stack's AWS."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            told = failed(desk, "push", "dead-letters", "--endpoint-url", address)
        finally:
            server.shutdown()
            serving.join()

    assert told == (
        4,
        f"error: what answers at {address} is not AWS: the local stack prints the address after `aws`",
    )
