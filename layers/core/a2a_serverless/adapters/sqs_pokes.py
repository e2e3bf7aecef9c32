"""Pokes in an SQS queue, written down in ASCII JSON: SQS refuses some characters.

Knows of a poke only which webhook it is for; whoever receives it decides whether there is anything to do.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_serverless.ports.webhooks import LONGEST_DELAY, Poke, WebhookKey
from a2a_serverless.tasks.log import TaskKey

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

BATCH = 10
"""Messages in one request (AWS limit)."""

T = TypeVar("T")


class QueueRefusedError(Exception):
    """SQS did not take, or not delete, some messages of a batch; the text names its codes."""


@dataclass(frozen=True, slots=True)
class SqsPokes:
    """The queue of pokes."""

    client: "SQSClient"
    queue_url: str

    def send(self, pokes: Sequence[Poke], *, delay: float = 0.0) -> None:
        """Send the pokes, ten a request, to arrive after `delay` seconds (rounded up, at most 900).

        Raises:
            QueueRefusedError: some were not taken; the others are sent.
        """
        seconds = math.ceil(min(max(delay, 0.0), LONGEST_DELAY))
        refused: list[str] = []
        for batch in batches(pokes, BATCH):
            answer = self.client.send_message_batch(
                QueueUrl=self.queue_url,
                Entries=[
                    {"Id": str(number), "MessageBody": print_poke(poke), "DelaySeconds": seconds}
                    for number, poke in enumerate(batch)
                ],
            )
            refused += refusals(answer)
        if refused:
            raise QueueRefusedError(", ".join(refused))


def print_poke(poke: Poke) -> str:
    """The body of a poke's message."""
    return json.dumps({**key_members(poke.key), "window": poke.window}, separators=(",", ":"))


def read_poke(body: str) -> Poke:
    """The poke in a message's body; raises ValueError, which names the member at fault."""
    members = read_members(body)
    window = members.get("window", 0)
    if type(window) is not int or window < 0:
        raise ValueError("window must be a whole number")
    return Poke(read_key(members), window)


def key_members(key: WebhookKey) -> dict[str, Any]:
    """The members that name a webhook."""
    task = key.task
    return {"tenant": task.tenant, "owner": task.owner, "task": task.task_id, "config": key.config_id}


def read_key(members: Mapping[str, Any]) -> WebhookKey:
    """The webhook that the members name; raises ValueError, which names the member at fault."""
    for name in ("tenant", "owner", "task", "config"):
        if not isinstance(members.get(name), str):
            raise ValueError(f"{name} must be a string")  # noqa: TRY004  what is wrong is the value
    return WebhookKey(TaskKey.read(members), members["config"])


def read_members(body: str) -> dict[str, Any]:
    """The members of a message's body; raises ValueError."""
    try:
        members = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("body must be JSON") from None
    if not isinstance(members, dict):
        raise ValueError("body must be a JSON object")  # noqa: TRY004  as above
    return members


def batches(elements: Iterable[T], size: int) -> Iterator[list[T]]:
    """The elements, at most `size` at a time."""
    remaining = iter(elements)
    while batch := list(islice(remaining, size)):
        yield batch


def refusals(answer: Any) -> list[str]:  # noqa: ANN401  each batch operation has an answer of its own type
    """The codes of a batch's entries that failed."""
    return [entry["Code"] for entry in answer.get("Failed", ())]
