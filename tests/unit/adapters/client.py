"""A client of DynamoDB that remembers what it was asked and answers with what it was given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from a2a_serverless.adapters.dynamodb_table import DynamoTable
from tests.fakes.ports import FakeClock


@dataclass
class Recorded:
    """Every write goes the same way: the next answer is returned, or raised if it is an error."""

    answers: list[Any]
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def put_item(self, **request: Any) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    update_item = delete_item = put_item


def table(*answers: Any) -> tuple[DynamoTable, Recorded]:
    """A table whose client gives these answers, and the client."""
    client: Any = Recorded(list(answers))
    return DynamoTable(client, "tasks", FakeClock()), client


def refusal(code: str = "ConditionalCheckFailedException", **more: Any) -> ClientError:
    """The error that DynamoDB answers with."""
    response: Any = {"Error": {"Code": code, "Message": ""}, **more}
    return ClientError(response, "PutItem")
