"""What each function calls on a day on which everything happens is what its role grants, no less and no more.

That it is no less any test on the local stack would find out: there, too, what is not granted is refused.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest

from infra.local.aws import ROOT
from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.grants import Grant, matches
from infra.local.options import Options, parse, template_parameters
from infra.local.stack import Stack
from infra.local.template import read_deployment
from tests.e2e.attackers import Forger, access_document
from tests.e2e.receiver import Receiver, receiving
from tests.integration.local.busy_day import BINDINGS, day, everything

UNCALLED: Mapping[str, str] = {
    "logs:CreateLogStream": "Lambda writes a function's log in its name",
    "logs:PutLogEvents": "as above",
    "dynamodb:DescribeStream": "Lambda reads the stream in the function's name",
    "dynamodb:GetRecords": "as above",
    "dynamodb:GetShardIterator": "as above",
    "dynamodb:ListStreams": "as above",
    "sqs:ChangeMessageVisibility": "Lambda reads the queue in the function's name",
    "sqs:DeleteMessage": "as above",
    "sqs:GetQueueAttributes": "as above",
    "sqs:ReceiveMessage": "as above",
    "s3:ListBucket": "S3 tells only who may list that an object is not there, others that it is forbidden",
}
"""What is granted though no function's code calls it, and why."""

UNCALLED_THERE: Mapping[tuple[str, str, str], str] = {
    ("FanoutFunction", "sqs:SendMessage", "fanoutfailuresqueue"): "Lambda gives up a batch in its name",
}
"""The same of one function and one resource."""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """A deployment with everything on."""
    document = tmp_path_factory.mktemp("access") / "access.json"
    document.write_text(json.dumps(access_document(Forger())))
    arguments = ["--port", "0", "--agent", "tests.e2e.agents:agent", "--sign-card", "--loopback-webhooks"]
    parameters = ("EventBus=default", "ExtendedCard=a2a_agents.fulfilment:extended_card")
    chosen = [word for each in parameters for word in ("--parameter", each)]
    files = ["--credentials", str(document), "--log-dir", str(document.parent)]
    return parse([*arguments, *files, *chosen])


@pytest.fixture(scope="module")
def deployment(options: Options) -> Deployment:
    return read_deployment(ROOT, template_parameters(options))


@pytest.fixture(scope="module")
def stack(deployment: Deployment, options: Options) -> Iterator[Stack]:
    console = Console(quiet=True)
    made = Stack(deployment, options, console)
    made.start()
    made.wait_until_ready()
    yield made
    made.close()
    console.close()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    answers: dict[str, list[int | str]] = {f"/gone/{binding}": [410] for binding in BINDINGS}
    with receiving({**answers, "/busy": [503]}) as opened:
        yield opened


def test_a_role_grants_what_its_function_calls_and_nothing_else(
    deployment: Deployment, stack: Stack, receiver: Receiver
) -> None:
    with day(stack, receiver) as today:
        everything(today)
        made = today.made()

    unused = {
        (function, action, resource.rpartition(":")[2].removeprefix("a2a-local-"))
        for function, grants in deployment.grants.items()
        for action, resource in pairs(grants)
        if action not in UNCALLED
        and not any(
            called == action and matches(resource, about)
            for called, about in made[deployment.functions[function].access_key]
        )
    }
    assert unused == UNCALLED_THERE.keys()
    granted = {action for grants in deployment.grants.values() for action, _ in pairs(grants)}
    assert UNCALLED.keys() <= granted


def pairs(grants: Sequence[Grant]) -> set[tuple[str, str]]:
    """Each action with each resource that it is granted on."""
    return {(action, resource) for each in grants for action in each.actions for resource in each.resources}
