"""What DynamoDB bills for a request, from the items it touches and the indexes the template declares.

Follows "DynamoDB item sizes and formats", "Read and write operations" and "Using Global Secondary Indexes" of
the DynamoDB Developer Guide, since emulators answer ConsumedCapacity with constants. Keeps a copy of every
item written: the price of a write depends on what stood there before.
"""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Mapping[str, Any]]
"""Attributes in DynamoDB's own notation."""

WRITE_BYTES = 1024
READ_BYTES = 4096


@dataclass(frozen=True)
class Units:
    """Request units, as billed on demand."""

    read: float = 0.0
    write: float = 0.0


@dataclass(frozen=True)
class Index:
    """A global secondary index: its key attributes, and all that are projected."""

    keys: tuple[str, ...]
    projected: frozenset[str]

    def entry(self, item: Item | None) -> Item | None:
        """What the index holds of an item, if anything."""
        if item is None or not all(key in item for key in self.keys):
            return None
        return {name: value for name, value in item.items() if name in self.projected}

    def write_units(self, before: Item | None, after: Item | None) -> int:
        """A changed key is a deletion and an insertion; an entry that stays the same costs nothing."""
        old, new = self.entry(before), self.entry(after)
        if old == new:
            return 0
        moved = old and new and any(old[key] != new[key] for key in self.keys)
        if moved:
            return units_of_write(old) + units_of_write(new)
        return units_of_write(old, new)


@dataclass
class Table:
    """The one table, as written by the clients that are watched."""

    keys: tuple[str, ...]
    indexes: Mapping[str, Index]
    items: dict[tuple[str, ...], Item] = field(default_factory=dict)

    @classmethod
    def declared(cls, properties: Mapping[str, Any]) -> "Table":
        """The table that a CloudFormation template declares."""
        keys = _names(properties["KeySchema"])
        return cls(keys, dict(_indexes(properties["GlobalSecondaryIndexes"], keys)))

    def bill(
        self, operation: str, request: Mapping[str, Any], answer: Mapping[str, Any], *, refused: bool
    ) -> Units:
        """What a request costs; takes note of what it wrote."""
        match operation:
            case "GetItem":
                return Units(read=_reads([answer.get("Item")], request))
            case "BatchGetItem":
                return Units(read=self._batch(request, answer))
            case "Query":
                return Units(read=self._query(str(request["IndexName"]), int(answer["ScannedCount"])))
        before = self.items.get(self._place(request.get("Item") or request["Key"]))
        if refused:
            return Units(write=units_of_write(before))
        after = None if operation == "DeleteItem" else request.get("Item") or answer["Attributes"]
        self._keep(before, after)
        indexed = sum(index.write_units(before, after) for index in self.indexes.values())
        return Units(write=units_of_write(before, after) + indexed)

    def stored_bytes(self) -> int:
        """What DynamoDB bills as storage: items and index entries, each with 100 bytes on top."""
        entries = (index.entry(item) for index in self.indexes.values() for item in self.items.values())
        held: Iterable[Item] = [*self.items.values(), *(entry for entry in entries if entry is not None)]
        return sum(size_of(item) + 100 for item in held)

    def _batch(self, request: Mapping[str, Any], answer: Mapping[str, Any]) -> float:
        units = 0.0
        for name, asked in request["RequestItems"].items():
            found = answer["Responses"].get(name, [])
            absent = len(asked["Keys"]) - len(found)
            units += _reads([*found, *[None] * absent], asked)
        return units

    def _query(self, name: str, looked_at: int) -> float:
        """All that was looked at together, before any filter; eventually consistent as an index always is."""
        sizes = [size_of(entry) for item in self.items.values() if (entry := self.indexes[name].entry(item))]
        read = looked_at * statistics.fmean(sizes) if sizes else 0
        return max(1, math.ceil(read / READ_BYTES)) / 2

    def _keep(self, before: Item | None, after: Item | None) -> None:
        if after is not None:
            self.items[self._place(after)] = after
        elif before is not None:
            del self.items[self._place(before)]

    def _place(self, item: Item) -> tuple[str, ...]:
        return tuple(str(item[key]["S"]) for key in self.keys)


def _names(schema: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(key["AttributeName"] for key in schema)


def _indexes(
    declared: Iterable[Mapping[str, Any]], table_keys: tuple[str, ...]
) -> Iterator[tuple[str, Index]]:
    for index in declared:
        keys = _names(index["KeySchema"])
        others = index["Projection"].get("NonKeyAttributes", ())
        yield index["IndexName"], Index(keys, frozenset({*keys, *table_keys, *others}))


def _reads(items: Iterable[Item | None], request: Mapping[str, Any]) -> float:
    """Each item by itself in steps of 4 KB; an absent one costs a step, an eventually consistent one half."""
    steps = sum(max(1, math.ceil(size_of(item) / READ_BYTES)) if item else 1 for item in items)
    return steps if request.get("ConsistentRead") else steps / 2


def units_of_write(*items: Item | None) -> int:
    """The larger of what stood there and what stands there then, in steps of 1 KB."""
    return max(1, math.ceil(max(size_of(item) if item else 0 for item in items) / WRITE_BYTES))


def size_of(item: Item) -> int:
    """Bytes of names and values."""
    return sum(
        len(name.encode()) + _size(*kind_and_value)
        for name, value in item.items()
        for kind_and_value in value.items()
    )


def _size(kind: str, value: Any) -> int:
    match kind:
        case "S":
            return len(value.encode())
        case "N":
            return math.ceil(len(value.lstrip("-")) / 2) + 1
        case "SS":
            return sum(len(each.encode()) for each in value)
        case "BOOL" | "NULL":
            return 1
    raise ValueError(f"an attribute of type {kind}")
