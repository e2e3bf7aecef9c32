"""Records of the table's stream: which of them tell of an event that webhooks may want to know."""

from collections.abc import Mapping
from typing import Any

from a2a_serverless.adapters.dynamodb_keys import read_task, read_time
from a2a_serverless.adapters.dynamodb_table import decoded
from a2a_serverless.ports.webhooks import Appended
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import PushKind


def appended(record: Mapping[str, Any]) -> Appended | None:
    """The pushable event that the record tells of, or None: most changes of the table are something else.

    The record is one of an event that Lambda passes on, with the new image of the item.

    Raises:
        ValueError: the item was written by a later version, which pushes what this one does not know.
    """
    image = record.get("dynamodb", {}).get("NewImage")
    if record.get("eventName") != "INSERT" or image is None or "pushes" not in image:
        return None
    item = decoded(
        {name: image[name] for name in ("pk", "position", "pushes", "state", "at") if name in image}
    )
    return Appended(
        key=read_task(item["pk"]),
        position=item["position"],
        kind=PushKind(item["pushes"]),
        at=read_time(item["at"]) if "at" in item else None,
        state=TaskState(item["state"]) if "state" in item else None,
    )
