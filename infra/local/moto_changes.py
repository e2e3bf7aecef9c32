"""Changes of moto's tables on their way to functions, in order, as an event source mapping sends them.

A change is noticed where moto adds it to the table's stream, so nothing polls. Retries, halves and what is
given up are decided elsewhere; here are the threads: one for each lane of a shard.
"""

import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any, Final

from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamShard, Table
from moto.dynamodb.models.utilities import dynamo_json_dump
from moto.sqs.models import sqs_backends

from infra.local.batches import Answer, Portion, Record, given_up, obituary, remainder
from infra.local.deployment import ACCOUNT, REGION
from infra.local.event_filters import matches
from infra.local.event_sources import StreamSource

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
"""Seconds before a failed portion is sent again; AWS does not say how long it waits."""

Invoke = Callable[[str, bytes], Answer]


class Lane:
    """Sends records to a function one batch after the other."""

    def __init__(self, source: StreamSource, invoke: Invoke) -> None:
        self._source = source
        self._invoke = invoke
        self._arrived: SimpleQueue[Record] = SimpleQueue()

    def start(self) -> None:
        """Send from now on, from the first record."""
        threading.Thread(target=self._run, name=self._source.table, daemon=True).start()

    def put(self, record: Record) -> None:
        """Take the next record."""
        self._arrived.put(record)

    def _run(self) -> None:
        while True:
            self._send(Portion(self._next()))

    def _next(self) -> list[Record]:
        """Wait for records, then take as many as there are and a batch may hold."""
        records = [self._arrived.get()]
        while len(records) < self._source.batch_size:
            try:
                records.append(self._arrived.get_nowait())
            except Empty:
                break
        return records

    def _send(self, portion: Portion) -> None:
        """Send a portion until all of it is done with or given up."""
        left = [portion]
        while left:
            portion = left.pop(0)
            now = datetime.now(UTC)
            if why := given_up(portion, self._source, now):
                self._bury(obituary(portion, self._source, why, now))
                continue
            left[:0] = again = remainder(portion, self._try(portion), self._source)
            if again and again[0].failed_attempts:
                pause = FIRST_PAUSE * 2 ** (again[0].failed_attempts - 1)
                time.sleep(min(pause, LONGEST_PAUSE))

    def _try(self, portion: Portion) -> Answer:
        try:
            return self._invoke(self._source.function, json.dumps({"Records": portion.records}).encode())
        except OSError:
            return Answer(b"", failed=True)

    def _bury(self, message: str) -> None:
        if self._source.on_failure is not None:
            sqs_backends[ACCOUNT][REGION].send_message(self._source.on_failure, message)


class StreamPoller:
    """One mapping: its lanes, and which of the changes go to which."""

    def __init__(self, source: StreamSource, invoke: Invoke) -> None:
        self._source = source
        self._lanes = [Lane(source, invoke) for _ in range(source.lanes)]

    def start(self) -> None:
        """Send from now on."""
        for lane in self._lanes:
            lane.start()

    def offer(self, table: Table, record: Mapping[str, Any]) -> None:
        """Take a change if it is wanted; called while moto changes the table."""
        if table.name != self._source.table:
            return
        whole = record_of(table, record)
        if self._source.patterns and not any(matches(pattern, whole) for pattern in self._source.patterns):
            return
        partition = json.dumps(whole["dynamodb"]["Keys"][table.hash_key_attr])
        self._lanes[zlib.crc32(partition.encode()) % len(self._lanes)].put(whole)


def record_of(table: Table, record: Mapping[str, Any]) -> Record:
    """Return a record as Lambda sends it: plain, and with the stream that it is of."""
    plain: dict[str, Any] = json.loads(dynamo_json_dump(record))
    return {**plain, "eventSourceARN": f"{table.table_arn}/stream/{table.latest_stream_label}"}


def watch(pollers: "list[StreamPoller]") -> None:
    """Offer every change from now on to these."""
    unwatched = StreamShard.add

    def add(shard: StreamShard, old: Item | None, new: Item | None) -> None:
        unwatched(shard, old, new)
        for poller in pollers:
            poller.offer(shard.table, shard.items[-1].record)

    setattr(StreamShard, unwatched.__name__, add)
