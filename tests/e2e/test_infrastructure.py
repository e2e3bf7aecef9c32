"""The agent for infrastructure as code, deployed: stacks in turns of three seconds, templates by a model."""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from a2a.types import Role, StreamResponse
from google.protobuf.json_format import MessageToDict

from tests.e2e.callers import Caller, Part, Task, TaskState, texts
from tests.e2e.conftest import Call
from tests.e2e.stack import PATIENCE, LocalStack, running
from tests.e2e.test_permissions import answer, question
from tests.e2e.test_webhooks import processes
from tests.fakes.ros import ACCESS_KEY_SECRET, CREDENTIALS, REGION, FakeRos, serving
from tests.unit.agents.iac.writers import GOOD

SECRET = "a2a/aliyun"
PASSWORD = "hunter2-hunter2"
ADDRESS = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  DbPassword: {Type: String, NoEcho: true}
Resources:
  Eip: {Type: ALIYUN::VPC::EIP}
Outputs:
  Address: {Value: {'Fn::GetAtt': [Eip, EipAddress]}}
  Password: {Value: {Ref: DbPassword}}
"""


@dataclass(frozen=True)
class Clouds:
    """A deployment of the agent, and the other cloud that it operates."""

    stack: LocalStack
    ros: FakeRos


MODEL = ("--parameter", "IacModel=tests.e2e.writing:model")
AGENT = ("--agent", "a2a_agents.iac:agent", "--parameter", f"IacRosCredentials=secretsmanager:{SECRET}")


@contextmanager
def serving_clouds(logs: Path, *options: str) -> Iterator[Clouds]:
    """The agent, and the other cloud."""
    ros = FakeRos()
    with serving(ros) as endpoint:
        environment = {**os.environ, "IAC_ROS_ENDPOINT": endpoint}
        with running(logs, *AGENT, *options, environment=environment) as stack:
            yield Clouds(stack, ros)


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clouds]:
    """The agent in functions that are killed after three seconds."""
    with serving_clouds(tmp_path_factory.mktemp("clouds"), *MODEL, "--turn-timeout", "3") as clouds:
        kept(clouds.stack, CREDENTIALS)
        yield clouds


def kept(stack: LocalStack, text: str) -> None:
    """Put the credentials where the deployment says that they lie."""
    local: Any = {
        "aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "us-east-1",
    }  # fmt: skip
    client = boto3.client("secretsmanager", endpoint_url=stack.aws, **local)
    client.create_secret(Name=SECRET, SecretString=text)


def asked_to_create(caller: Caller, name: str, context_id: str = "") -> Task:
    text = f"create stack {name} in {REGION} with DbPassword={PASSWORD}"
    template = Part(text=ADDRESS, media_type="application/yaml")
    return caller.send(text, template, context_id=context_id)


def told(stream: Sequence[StreamResponse]) -> list[str]:
    """The lines of everything that an agent has said on the way."""
    statuses = [one.status_update.status for one in stream if one.HasField("status_update")]
    return [line for status in statuses for text in texts(status.message) for line in text.splitlines()]


def allowed(stack: LocalStack, asked: Task) -> Sequence[StreamResponse]:
    """Allow what a task asks for; what its stream says until it settles."""
    with Caller(stack) as caller:
        return caller.stream(answer(question(asked)), task_id=asked.id)


def test_the_card_names_the_skills_that_work_here(clouds: Clouds, call: Call) -> None:
    caller = call(clouds.stack)

    assert [skill.id for skill in caller.card.skills] == [
        "iac_generation", "iac_review", "aliyun_ros_operations", "terraform_ros_conversion",
    ]  # fmt: skip


def test_a_stack_is_created_with_permission_and_followed_over_many_short_turns(
    clouds: Clouds, call: Call
) -> None:
    caller = call(clouds.stack)

    asked = asked_to_create(caller, "web")
    arguments = question(asked)["arguments"]
    assert (arguments["stackName"], arguments["secretParameters"]) == ("web", ["DbPassword"])
    assert "CreateStack" not in clouds.ros.effects
    lines = told(allowed(clouds.stack, asked))
    done = caller.get(asked.id)

    assert texts(done.status.message) == ["Stack web is CREATE_COMPLETE."]
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    assert clouds.ros.effects["CreateStack"] == 1
    (artifact,) = done.artifacts
    assert MessageToDict(artifact.parts[0])["data"]["outputs"] == {
        "Address": "Eip.EipAddress", "Password": "***",
    }  # fmt: skip
    states = ("CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    assert [lines.count(f"Eip (ALIYUN::VPC::EIP) {state}") for state in states] == [1, 1]
    # The caller's own message is the only place where its password is.
    agents = [text for message in done.history if message.role == Role.ROLE_AGENT for text in texts(message)]
    assert not [text for text in [*agents, *lines] if PASSWORD in text]
    assert PASSWORD not in logs(clouds.stack)
    assert ACCESS_KEY_SECRET not in logs(clouds.stack) + str(done)


def logs(stack: LocalStack) -> str:
    """Everything that the functions have logged."""
    return "".join(path.read_text(encoding="utf-8") for path in Path(stack.logs).glob("*.log"))


def test_a_turn_that_is_killed_while_ros_creates_never_makes_a_second_stack(
    clouds: Clouds, call: Call, background: ThreadPoolExecutor
) -> None:
    caller = call(clouds.stack)
    before = clouds.ros.effects.get("CreateStack", 0)
    hold = clouds.ros.hold("CreateStack")
    asked = asked_to_create(caller, "killed")
    waiting = background.submit(allowed, clouds.stack, asked)
    assert hold.reached.wait(PATIENCE)
    for process in processes(clouds.stack, "turn"):
        os.kill(process, signal.SIGKILL)
    lines = waiting.result(PATIENCE)
    hold.released.set()

    assert caller.get(asked.id).status.state == TaskState.TASK_STATE_FAILED
    assert "cancelling this task stops nothing there" in "".join(told(lines))
    done = caller.send("go on with stack killed", context_id=asked.context_id)
    assert done.id != asked.id
    assert texts(done.status.message) == ["Stack killed is CREATE_COMPLETE."]
    assert clouds.ros.effects["CreateStack"] == before + 1


def test_cancelling_says_what_goes_on_in_the_cloud_and_stops_nothing_there(
    clouds: Clouds, call: Call, background: ThreadPoolExecutor
) -> None:
    caller = call(clouds.stack)
    hold = clouds.ros.hold("GetStack")
    asked = asked_to_create(caller, "cancelled")
    waiting = background.submit(allowed, clouds.stack, asked)
    assert hold.reached.wait(PATIENCE)
    canceled = caller.cancel(asked.id)
    hold.released.set()

    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    note = f"ROS is at work on stack cancelled ({clouds.ros.stack('cancelled').stack_id})"
    assert note in "".join(told(waiting.result(PATIENCE)))
    (artifact,) = caller.get(asked.id).artifacts
    assert note in MessageToDict(artifact.parts[0])["data"]["note"]
    assert "DeleteStack" not in clouds.ros.effects
    done = caller.send(f"status of stack cancelled in {REGION}", context_id=asked.context_id)
    assert texts(done.status.message) == ["Stack cancelled is CREATE_COMPLETE."]


def test_credentials_that_are_missing_are_asked_for_and_the_task_goes_on_once_they_are_there(
    tmp_path: Path, call: Call
) -> None:
    with serving_clouds(tmp_path) as clouds:
        caller = call(clouds.stack)
        waiting = caller.send(f"list stacks in {REGION}")
        assert waiting.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
        assert '"accessKeyId"' in "".join(texts(waiting.status.message))

        kept(clouds.stack, CREDENTIALS)
        done = caller.send("They are there now.", task_id=waiting.id)

        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert "iac_generation" not in [skill.id for skill in caller.card.skills]


def test_a_template_is_written_asked_about_repaired_and_delivered(tmp_path: Path, call: Call) -> None:
    with serving_clouds(tmp_path, *MODEL) as clouds:
        kept(clouds.stack, CREDENTIALS)
        caller = call(clouds.stack)

        region = caller.send("Create a VPC with a vSwitch.")
        assert texts(region.status.message) == ["For which region? For example cn-hangzhou."]
        choice = caller.send("cn-hangzhou", task_id=region.id)
        assert texts(choice.status.message) == ["One zone or two?"]
        lines = told(caller.stream("one", task_id=region.id))
        done = caller.get(region.id)

        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        written = {artifact.artifact_id: artifact for artifact in done.artifacts}
        assert [part.text for part in written["template.yaml"].parts] == [GOOD]
        assert "Repairing, round 1 of 5: 1 errors." in lines
        assert "ValidateTemplate" in clouds.ros.actions()
        what = f"create stack net in {REGION} from file:///template.yaml with ZoneId=h"
        asked = caller.send(what, context_id=done.context_id)
        assert question(asked)["arguments"]["template"]["name"] == "template.yaml"
