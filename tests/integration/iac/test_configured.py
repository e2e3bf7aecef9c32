"""The skill as a deployment configures it: by variables, with credentials that lie in AWS."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from a2a_agents.iac.operations import run
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from tests.fakes.ros import CREDENTIALS, REGION, FakeRos, serving

pytestmark = pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")

LIST = f"list stacks in {REGION}"


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The environment of a function, which a test may change."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    with mock_aws(), serving(FakeRos()) as endpoint:
        monkeypatch.setenv("IAC_ROS_ENDPOINT", endpoint)
        yield monkeypatch


def test_without_a_reference_the_skill_says_what_to_do(deployed: pytest.MonkeyPatch) -> None:
    deployed.delenv("IAC_ROS_CREDENTIALS", raising=False)

    happened = rehearse(run, LIST)

    assert happened.state is TaskState.AUTH_REQUIRED
    assert "this deployment names no credentials" in happened.text


@pytest.mark.parametrize("reference", ["secretsmanager:a2a/aliyun", "ssm:/a2a/aliyun"])
def test_credentials_come_from_where_the_reference_leads(
    deployed: pytest.MonkeyPatch, reference: str
) -> None:
    deployed.setenv("IAC_ROS_CREDENTIALS", reference)
    assert rehearse(run, LIST).state is TaskState.AUTH_REQUIRED

    boto3.client("secretsmanager").create_secret(Name="a2a/aliyun", SecretString=CREDENTIALS)
    boto3.client("ssm").put_parameter(Name="/a2a/aliyun", Value=CREDENTIALS, Type="SecureString")

    happened = rehearse(run, LIST)
    assert happened.state is TaskState.COMPLETED
    assert happened.texts["stacks"] == "# Stacks in cn-hangzhou\n\nThere are none.\n"


def test_the_deployments_own_region_is_meant_where_nobody_names_one(deployed: pytest.MonkeyPatch) -> None:
    deployed.setenv("IAC_ROS_CREDENTIALS", "ssm:/a2a/aliyun")
    deployed.setenv("IAC_REGION", "eu-central-1")
    boto3.client("ssm").put_parameter(Name="/a2a/aliyun", Value=CREDENTIALS, Type="SecureString")

    assert rehearse(run, "list stacks").texts["stacks"].startswith("# Stacks in eu-central-1\n")
