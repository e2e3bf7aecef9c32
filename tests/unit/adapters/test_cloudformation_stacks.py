"""Stacks are read whole, whatever number there is, and one that is not there is none."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from a2a_serverless.adapters.cloudformation_stacks import CloudFormationStacks, Stack

DESCRIBED = {
    "StackName": "agents",
    "Outputs": [{"OutputKey": "TasksTable", "OutputValue": "tasks"}],
    "Parameters": [{"ParameterKey": "SigningKeyDays", "ParameterValue": "30"}, {"ParameterKey": "Secret"}],
}
NESTED = {
    "StackName": "agents-State",
    "ParentId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/agents",
}


class Pages:
    """CloudFormation with a page of stacks for each token, or an error for everybody."""

    def __init__(self, *pages: list[Any], error: str = "") -> None:
        self.pages = pages
        self.error = error
        self.asked: list[dict[str, str]] = []

    def describe_stacks(self, **request: str) -> Any:
        self.asked.append(request)
        if self.error:
            raise ClientError({"Error": {"Code": self.error}}, "DescribeStacks")
        number = int(request.get("NextToken", 0))
        more = {"NextToken": str(number + 1)} if number + 1 < len(self.pages) else {}
        return {"Stacks": self.pages[number], **more}


def test_a_stack_tells_its_outputs_and_parameters() -> None:
    client = Pages([DESCRIBED])

    assert CloudFormationStacks(client).read("agents") == Stack(
        "agents", {"TasksTable": "tasks"}, {"SigningKeyDays": "30", "Secret": ""}, nested=False
    )
    assert client.asked == [{"StackName": "agents"}]


def test_all_stacks_come_page_by_page() -> None:
    client = Pages([DESCRIBED], [], [NESTED])

    found = list(CloudFormationStacks(client).read_all())

    assert [(stack.name, stack.nested) for stack in found] == [("agents", False), ("agents-State", True)]
    assert client.asked == [{}, {"NextToken": "1"}, {"NextToken": "2"}]


def test_a_name_that_no_stack_has_is_none() -> None:
    assert CloudFormationStacks(Pages(error="ValidationError")).read("nobody") is None


def test_whatever_else_is_wrong_rises() -> None:
    with pytest.raises(ClientError):
        CloudFormationStacks(Pages(error="AccessDenied")).read("agents")
