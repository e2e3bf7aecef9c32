"""The infrastructure agent in a deployment: found by its card, routed by skill, reviewing and packing."""

import io
import json
import zipfile
from collections.abc import Iterator

import httpx
import pytest
import yaml
from a2a.types import Artifact
from google.protobuf.json_format import MessageToDict

from tests.e2e.callers import Part, Task, TaskState, texts
from tests.e2e.conftest import BINDINGS, Call
from tests.e2e.stack import PATIENCE, LocalStack, running

TEMPLATE = """\
ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  RootPassword:
    Type: String
Resources:
  Server:
    Type: ALIYUN::ECS::Instance
    Properties:
      Password: {Ref: RootPassword}
      ZoneId: {Ref: Zone}
"""
MAIN = 'resource "alicloud_vpc" "main" {\n  cidr_block = "10.0.0.0/8"\n}\n'


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """A deployment of the agent that has neither a model nor credentials for another cloud."""
    with running(tmp_path_factory.mktemp("builder"), "--agent", "a2a_agents.iac:agent") as stack:
        yield stack


def artifacts(task: Task) -> dict[str, Artifact]:
    return {artifact.artifact_id: artifact for artifact in task.artifacts}


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_template_is_reviewed_and_corrected(builder: LocalStack, call: Call, binding: str) -> None:
    caller = call(builder, binding)

    assert [skill.id for skill in caller.card.skills] == ["iac_review", "terraform_ros_conversion"]
    task = caller.send(f"Review this ROS template for missing parameters.\n```yaml\n{TEMPLATE}```")

    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert texts(task.status.message) == [
        "Reviewed template.yaml: 1 error, 1 warning. Put right in the corrected copy: 1."
    ]
    made = artifacts(task)
    assert "| 10 | error | IAC103 undeclared-name |" in made["iac-review"].parts[0].text
    sarif = MessageToDict(made["iac-review.sarif"].parts[0].data)
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["IAC202", "IAC103"]
    assert made["iac-review.corrected"].parts[0].text == TEMPLATE.replace(
        "    Type: String", "    NoEcho: true\n    Type: String"
    )


def test_an_archive_is_packed_into_a_template_when_it_comes(builder: LocalStack, call: Call) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("vpc/main.tf", MAIN)
        opened.writestr("vpc/terraform.tfstate", "{}")
    caller = call(builder)

    asked = caller.send("Convert this Terraform VPC module to ROS YAML.")
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    sent = Part(raw=archive.getvalue(), filename="vpc.zip", media_type="application/zip")
    packed = caller.send(sent, task_id=asked.id)

    assert packed.status.state == TaskState.TASK_STATE_COMPLETED
    assert yaml.safe_load(artifacts(packed)["ros-template"].parts[0].text) == {
        "ROSTemplateFormatVersion": "2015-09-01",
        "Transform": "Aliyun::OpenTofu-v1.8",
        "Workspace": {"main.tf": MAIN},
    }


@pytest.mark.parametrize(
    ("skill", "words"),
    [
        ("iac_generation", "The skill iac_generation is not available: this deployment has no model"),
        ("aliyun_ros_operations", "has no credentials for Alibaba Cloud"),
        (
            "nonsense",
            "There is no such skill. This agent's skills are: iac_review, terraform_ros_conversion.",
        ),
    ],
)
def test_a_skill_that_is_not_there_is_rejected_with_why(builder: LocalStack, skill: str, words: str) -> None:
    message = {
        "messageId": f"asks-for-{skill}",
        "role": "ROLE_USER",
        "parts": [{"text": "Please"}],
        "metadata": {"skill": skill},
    }
    headers = {"A2A-Version": "1.0", "Content-Type": "application/a2a+json"}

    answer = httpx.post(
        f"{builder.url}/message:send",
        content=json.dumps({"message": message}),
        headers=headers,
        timeout=PATIENCE,
    )

    status = answer.json()["task"]["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert words in status["message"]["parts"][0]["text"]
