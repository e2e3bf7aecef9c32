"""One DynamoDB table, written one item at a time on conditions; the only file that knows DynamoDB's notation.

Items are plain values on this side (text, whole numbers, flags, sets of text). In expressions `#name` is the
attribute `name` and `:name` the value given for it; `:now` is the present second, for conditions on
`expires`. DynamoDB deletes expired items late, so one with `expires <= :now` is treated as absent everywhere.
Knows no task.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import ClientError

from a2a_serverless.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Item = Mapping[str, Any]
"""Attributes by name, as plain values."""

IS_ABSENT = "(attribute_not_exists(#pk) OR #expires <= :now)"
"""No item stands under the key, or one that has expired and may be replaced."""

IS_PRESENT = "#expires > :now"
"""An item stands under the key and has not expired; what is missing compares to nothing."""

BATCH = 100
"""Keys in one BatchGetItem (AWS limit)."""

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before the keys are asked again that a whole batch left unanswered."""


class ItemKey(NamedTuple):
    """The primary key of an item."""

    pk: str
    sk: str


class RefusedError(Exception):
    """The condition of a write did not hold; `standing` is the item that stood there then, expired or not."""

    def __init__(self, standing: Item | None) -> None:
        super().__init__("the condition did not hold")
        self.standing = standing


class UnansweredKeysError(Exception):
    """DynamoDB left keys of a batch unprocessed again and again; whether they hold items is not known."""


class Page(NamedTuple):
    """One answer of a query: items, or only their number; `more` says whether the query goes on."""

    items: tuple[Item, ...]
    number: int
    more: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A query of an index: a condition on its keys, and perhaps a filter on projected attributes."""

    index: str
    keys: str
    values: Mapping[str, Any]
    filter: str = IS_PRESENT
    newest_first: bool = False
    count_only: bool = False


@dataclass(frozen=True, slots=True)
class DynamoTable:
    """The table. Errors other than a refused condition are botocore's and rise."""

    client: "DynamoDBClient"
    name: str
    clock: Clock

    def get(self, key: ItemKey, *, consistent: bool = True) -> Item | None:
        """The item under the key, if it has not expired."""
        answer = self.client.get_item(TableName=self.name, Key=_encoded_key(key), ConsistentRead=consistent)
        return self._unless_expired(answer.get("Item"))

    def get_all(self, keys: Collection[ItemKey], *, consistent: bool = True) -> dict[ItemKey, Item]:
        """The items under these keys that are there and have not expired; every key was answered for.

        Raises:
            UnansweredKeysError: DynamoDB would not answer for some key. That is never taken for absence.
        """
        remaining = list(dict.fromkeys(keys))
        if len(remaining) == 1:
            sole = self.get(remaining[0], consistent=consistent)
            return {remaining[0]: sole} if sole is not None else {}
        found: dict[ItemKey, Item] = {}
        while remaining:
            batch, remaining = remaining[:BATCH], remaining[BATCH:]
            for encoded in self._batch(batch, consistent=consistent):
                item = self._unless_expired(encoded)
                if item is not None:
                    found[ItemKey(item["pk"], item["sk"])] = item
        return found

    def put(self, item: Item, *, when: str | None = None, values: Mapping[str, Any] | None = None) -> None:
        """Store the item in place of any other under its key; raises RefusedError."""
        request: dict[str, Any] = {"Item": _encoded(item)}
        self._write(self.client.put_item, request, values or {}, ConditionExpression=when)

    def update(self, key: ItemKey, change: str, *, when: str, values: Mapping[str, Any]) -> Item:
        """Change attributes of the item, or of a new one; returns it as it is then; raises RefusedError."""
        request = {"Key": _encoded_key(key), "ReturnValues": "ALL_NEW"}
        answer = self._write(
            self.client.update_item, request, values, UpdateExpression=change, ConditionExpression=when
        )
        return decoded(answer["Attributes"])

    def delete(
        self, key: ItemKey, *, when: str | None = None, values: Mapping[str, Any] | None = None
    ) -> None:
        """Delete the item; raises RefusedError."""
        request = {"Key": _encoded_key(key)}
        self._write(self.client.delete_item, request, values or {}, ConditionExpression=when)

    def query(self, query: Query, page_size: int) -> Iterator[Page]:
        """The pages of a query, each asked for when it is wanted; eventually consistent.

        A page looks at `page_size` items and may hold fewer, since the filter comes afterwards.
        """
        request: dict[str, Any] = {
            "TableName": self.name,
            "IndexName": query.index,
            "Limit": page_size,
            "ScanIndexForward": not query.newest_first,
            **({"Select": "COUNT"} if query.count_only else {}),
            **self._expressions(
                query.values, KeyConditionExpression=query.keys, FilterExpression=query.filter
            ),
        }
        while True:
            answer = self.client.query(**request)
            start = answer.get("LastEvaluatedKey")
            yield Page(tuple(map(decoded, answer.get("Items", ()))), answer["Count"], start is not None)
            if start is None:
                return
            request["ExclusiveStartKey"] = start

    def _batch(self, keys: Collection[ItemKey], *, consistent: bool) -> Iterator[Mapping[str, Any]]:
        pauses = iter(PAUSES)
        asked: Any = {self.name: {"Keys": [_encoded_key(key) for key in keys], "ConsistentRead": consistent}}
        while asked:
            answer = self.client.batch_get_item(RequestItems=asked)
            asked = answer.get("UnprocessedKeys")
            items = answer["Responses"].get(self.name, [])
            yield from items
            if asked and not items:
                pause = next(pauses, None)
                if pause is None:
                    raise UnansweredKeysError(f"{len(asked[self.name]['Keys'])} keys")
                self.clock.sleep(pause)

    def _write(
        self,
        write: Callable[..., Any],
        request: Mapping[str, Any],
        values: Mapping[str, Any],
        **expressions: str | None,
    ) -> Any:  # noqa: ANN401  each operation answers with a dict of its own type
        try:
            return write(
                TableName=self.name,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **request,
                **self._expressions(values, **expressions),
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            standing: Any = error.response.get("Item")
            raise RefusedError(decoded(standing) if standing else None) from error

    def _expressions(self, values: Mapping[str, Any], **expressions: str | None) -> dict[str, Any]:
        """The expressions that are given, with the names and values they mention and no others."""
        given = {kind: expression for kind, expression in expressions.items() if expression}
        text = " ".join(given.values())
        names = {f"#{name}": name for name in re.findall(r"#(\w+)", text)}
        known = {"now": self._now(), **values}
        mentioned = {f":{name}": _attribute(known[name]) for name in re.findall(r":(\w+)", text)}
        return {
            **given,
            **({"ExpressionAttributeNames": names} if names else {}),
            **({"ExpressionAttributeValues": mentioned} if mentioned else {}),
        }

    def _unless_expired(self, encoded: Mapping[str, Any] | None) -> Item | None:
        item = decoded(encoded) if encoded else None
        return item if item is not None and not self.has_expired(item) else None

    def has_expired(self, item: Item) -> bool:
        """Whether the item is to be treated as absent."""
        return bool(item["expires"] <= self._now())

    def _now(self) -> int:
        return int(self.clock.now().timestamp())


def _encoded_key(key: ItemKey) -> dict[str, Any]:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _encoded(item: Item) -> dict[str, Any]:
    return {name: _attribute(value) for name, value in item.items()}


def _attribute(value: str | int | frozenset[str]) -> dict[str, Any]:
    match value:
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case str():
            return {"S": value}
    return {"SS": sorted(value)}


def setting(names: Iterable[str], *, removing: Iterable[str] = (), unless_there: Iterable[str] = ()) -> str:
    """The update that sets attributes to the values of their names, some if absent, and removes others."""
    removed = ", ".join(f"#{name}" for name in removing)
    changes = ", ".join(
        [
            *(f"#{name} = :{name}" for name in names),
            *(f"#{name} = if_not_exists(#{name}, :{name})" for name in unless_there),
        ]
    )
    return f"SET {changes}" + (f" REMOVE {removed}" if removed else "")


def decoded(encoded: Mapping[str, Any]) -> Item:
    """The plain values of an item in DynamoDB's notation."""
    return {name: _plain(*attribute.items()) for name, attribute in encoded.items()}


def _plain(typed: tuple[str, Any]) -> object:
    kind, value = typed
    match kind:
        case "N":
            return int(value)
        case "SS":
            return frozenset(value)
    return value
