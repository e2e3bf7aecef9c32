"""The JSON body of an item: in the item while it is small, in `Contents` above that.

An item of DynamoDB holds 400 KB, and every read of it is paid by size. The object's key ends in a fresh id,
so that two writers racing for one item never share an object; the loser's is deleted by the bucket's
lifecycle. Knows no item but the two attributes it adds.
"""

from dataclasses import dataclass
from typing import Any

from a2a_serverless.adapters.dynamodb_table import Item, ItemKey
from a2a_serverless.ports import Contents, Identifiers


@dataclass(frozen=True, slots=True)
class Bodies:
    """Bodies of items, stowed above `limit` bytes of UTF-8."""

    contents: Contents
    identifiers: Identifiers
    limit: int

    def stowed(self, key: ItemKey, body: str) -> dict[str, Any]:
        """The attributes that hold the body, after it was put away if it is big."""
        content = body.encode()
        if len(content) <= self.limit:
            return {"body": body}
        _, tenant, owner, _ = key.pk.split("#", 3)
        place = f"items/{tenant}/{owner}/{self.identifiers.new()}"
        self.contents.put(place, content, "application/json")
        return {"body_key": place}

    def read(self, item: Item) -> str | bytes:
        """The body of an item that `stowed` made attributes for."""
        key = item.get("body_key")
        return self.contents.get(key) if key is not None else str(item["body"])
