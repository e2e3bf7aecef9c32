"""The stacks of CloudFormation: what each was deployed with, and what it tells of itself.

For an operator's commands. No function makes this client, and the deployed dependencies do not describe its
service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError


class CloudFormationClient(Protocol):
    """The one operation of botocore's client that is used."""

    def describe_stacks(self, **request: str) -> Any:  # noqa: ANN401  AWS's own type
        """Describe one stack, or a page of all."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that stands; `nested` is one that is part of another."""

    name: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]
    nested: bool


@dataclass(frozen=True, slots=True)
class CloudFormationStacks:
    """The stacks of one account and Region."""

    client: CloudFormationClient

    def read(self, name: str) -> Stack | None:
        """The stack of that name, or None."""
        try:
            (described,) = self.client.describe_stacks(StackName=name)["Stacks"]
        except ClientError as error:
            # AWS has no code of its own for it, and says the same of a name that cannot be.
            if error.response["Error"]["Code"] == "ValidationError":
                return None
            raise
        return _stack(described)

    def read_all(self) -> Iterator[Stack]:
        """Every stack, page by page."""
        request: dict[str, str] = {}
        while True:
            answer = self.client.describe_stacks(**request)
            yield from map(_stack, answer["Stacks"])
            if "NextToken" not in answer:
                return
            request = {"NextToken": answer["NextToken"]}


def _stack(described: Mapping[str, Any]) -> Stack:
    return Stack(
        name=described["StackName"],
        outputs={each["OutputKey"]: each["OutputValue"] for each in described.get("Outputs", ())},
        parameters={
            each["ParameterKey"]: each.get("ParameterValue", "") for each in described.get("Parameters", ())
        },
        nested="ParentId" in described,
    )
