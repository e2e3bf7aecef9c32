"""Listing tasks by the two sparse indexes of heads, newest status first.

By state and owner there is one partition per state, merged here; by context there is one, filtered by state.
A cursor is the last entry shown, so a page begins right after it whatever happened meanwhile, and ties
neither skip nor repeat. Indexes lag, so nothing may be decided by what is found here.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from a2a_serverless.adapters.dynamodb_keys import list_order, partition, read_list_order
from a2a_serverless.adapters.dynamodb_table import IS_PRESENT, DynamoTable, Query
from a2a_serverless.ports import TaskPage, TaskQuery
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.protocol.scalars import print_timestamp

COUNTED_AT_MOST = 1_000
"""A total is exact up to here and stays at it above."""

EARLIEST = "0"
LATEST = "~"
"""Bounds below and above every printed time."""

MILLISECOND = timedelta(milliseconds=1)


def list_state(tenant: str, owner: str, state: TaskState) -> str:
    """The partition of an owner's tasks in one state."""
    return partition("STATE", tenant, owner, state.value)


def list_context(tenant: str, owner: str, context_id: str) -> str:
    """The partition of an owner's tasks in one context."""
    return partition("CONTEXT", tenant, owner, context_id)


def find(table: DynamoTable, query: TaskQuery) -> TaskPage:
    """The page that the query asks for, and the number of all matches up to a thousand."""
    lowest = _lowest(query.not_before)
    matches = _matches(query, lowest)
    highest = list_order(*query.after) if query.after else LATEST
    ranges = [_Range(table, each, lowest, highest, query.limit) for each in matches]
    found = tuple(map(read_list_order, islice(_merged(ranges, after=highest), query.limit)))
    return TaskPage(found, _total(table, matches, ranges, complete=query.after is None))


@dataclass
class _Range:
    """One partition's entries between two bounds, both included, and how much of it was read."""

    table: DynamoTable
    match: Query
    lowest: str
    highest: str
    limit: int
    count: int = 0
    exhausted: bool = False

    def read(self) -> Iterator[str]:
        """The entries, latest first, a page at a time; one more than the limit, for the cursor itself."""
        if self.lowest > self.highest:
            return
        bounded = replace(
            self.match, values={**self.match.values, "lowest": self.lowest, "highest": self.highest}
        )
        for page in self.table.query(bounded, self.limit + 1):
            self.count += page.number
            self.exhausted = not page.more
            yield from (item["list_order"] for item in page.items)


def _matches(query: TaskQuery, lowest: str) -> list[Query]:
    """What to ask of which index: one query per partition that holds matches."""
    if query.context_id is None:
        partitions = [list_state(query.tenant, query.owner, state) for state in sorted(query.states)]
        return [_match("by_state", "list_state", each, lowest) for each in partitions]
    place = list_context(query.tenant, query.owner, query.context_id)
    match = _match("by_context", "list_context", place, lowest)
    if query.states >= set(TaskState):
        return [match]
    states = {f"state{number}": state.value for number, state in enumerate(sorted(query.states))}
    condition = f"{IS_PRESENT} AND #state IN ({', '.join(f':{name}' for name in states)})"
    return [replace(match, filter=condition, values={**match.values, **states})] if states else []


def _match(index: str, attribute: str, place: str, lowest: str) -> Query:
    return Query(
        index=index,
        keys=f"#{attribute} = :place AND #list_order BETWEEN :lowest AND :highest",
        values={"place": place, "lowest": lowest, "highest": LATEST},
        newest_first=True,
    )


def _lowest(not_before: datetime | None) -> str:
    """The lowest entry whose time, kept to the millisecond, is not before the moment."""
    if not_before is None:
        return EARLIEST
    return print_timestamp(not_before + (MILLISECOND - timedelta(microseconds=1)))


def _merged(ranges: list[_Range], *, after: str) -> Iterator[str]:
    """Entries of all partitions, latest first, without the cursor itself and each task once.

    A task that changed state while it was read may show up in two partitions.
    """
    shown = set()
    for order in heapq.merge(*(each.read() for each in ranges), reverse=True):
        task_id = order.partition("#")[2]
        if order < after and task_id not in shown:
            shown.add(task_id)
            yield order


def _total(table: DynamoTable, matches: list[Query], ranges: list[_Range], *, complete: bool) -> int:
    """The number of matches; a partition that a first page has read to its end need not be counted again."""
    total = 0
    for match, read in zip(matches, ranges, strict=True):
        if complete and read.exhausted:
            total += read.count
            continue
        for page in table.query(replace(match, count_only=True), COUNTED_AT_MOST):
            total += page.number
            if total >= COUNTED_AT_MOST:
                return COUNTED_AT_MOST
    return min(total, COUNTED_AT_MOST)
