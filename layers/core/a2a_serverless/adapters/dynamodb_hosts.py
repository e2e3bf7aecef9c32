"""Which hosts do not answer at all: one item of DynamoDB for each that was silent of late.

Whoever posts asks first, so an answer is good for a few seconds, and a host without an item costs no more
than that. A host that was left alone is tried by one, who announces it in the item; the others wait.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock

from a2a_serverless.adapters.dynamodb_keys import host_row, read_time
from a2a_serverless.adapters.dynamodb_table import IS_ABSENT, IS_PRESENT, DynamoTable, Item, RefusedError
from a2a_serverless.protocol.scalars import print_timestamp

IN_A_ROW = 3
"""Attempts without an answer, one after the other, until a host is left alone."""

LASTS = timedelta(seconds=10)
"""How long a row lasts before it counts as one. Whoever was answered meanwhile has looked at the item by then
and ended it, so that a host which merely fails at some requests of many is not left alone."""

ROW_ENDS = timedelta(minutes=5)
"""So long after the last of them, or after the host was left alone, a further one begins a new row."""

FIRST_PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(minutes=10)
"""How long a host is left alone: doubled with each further silence, up to the longest."""

PROBE = timedelta(seconds=15)
"""How long the others wait for whoever tries the host again; then the next one may."""

REMEMBERED = timedelta(seconds=5)
"""How long a look at the item is good for."""

MOST_REMEMBERED = 1_000
"""Hosts remembered by one process; beyond that all are forgotten, which costs a read each."""

KEPT = timedelta(days=1)
"""How long the item outlives the last silence."""

IS_AS_SEEN = f"({IS_PRESENT} AND #version = :seen)"
"""Nobody has written the item since it was read."""

CHOOSE = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Silence:
    """So many attempts in a row without an answer, from `since` to `last_at`; until then nobody tries again.

    While the row has not lasted, however many there were, they count as too few. `probe_until` is until when
    somebody does who announced it.
    """

    in_a_row: int
    since: datetime
    last_at: datetime
    until: datetime
    probe_until: datetime | None = None

    @property
    def is_doubtful(self) -> bool:
        """Whether only one at a time may try the host."""
        return self.in_a_row >= IN_A_ROW

    def holds_until(self, moment: datetime) -> datetime | None:
        """When the next one may try; None when it may be now."""
        return max((each for each in (self.until, self.probe_until) if each and each > moment), default=None)

    def again(self, moment: datetime) -> "Silence":
        """One more attempt got no answer; one that ends while the host is left alone had begun before."""
        if self.until > moment:
            return self
        goes_on = self.in_a_row and moment - max(self.last_at, self.until) <= ROW_ENDS
        since = self.since if goes_on else moment
        in_a_row = self.in_a_row + 1 if goes_on else 1
        if moment - since < LASTS:
            in_a_row = min(in_a_row, IN_A_ROW - 1)
        return Silence(in_a_row, since, moment, moment + _pause(in_a_row))


def _pause(in_a_row: int) -> timedelta:
    if in_a_row < IN_A_ROW:
        return timedelta()
    doubled: int = 2 ** min(in_a_row - IN_A_ROW, 8)
    return min(FIRST_PAUSE * doubled, LONGEST_PAUSE)


@dataclass
class _Seen:
    """What a process has seen of a host, when, and in which version of the item."""

    lock: Lock = field(default_factory=Lock)
    at: datetime | None = None
    silence: Silence | None = None
    version: str = ""


@dataclass(frozen=True)
class DynamoHosts:
    """Which hosts do not answer at all; one instance for a process, which may have threads."""

    table: DynamoTable
    seen: dict[str, _Seen] = field(default_factory=dict)

    def silent_until(self, host: str) -> datetime | None:
        """When the host may be tried again; None when it may be now, by whoever asked.

        At most one eventually consistent read per host and five seconds; a write only by who is to try a host
        that was left alone.
        """
        seen = self._seen(host)
        with seen.lock:
            now = self.table.clock.now()
            if seen.at is None or now - seen.at >= REMEMBERED:
                self._look(seen, self.table.get(host_row(host), consistent=False))
            while seen.silence is not None and seen.silence.is_doubtful:
                held = seen.silence.holds_until(now)
                if held is not None:
                    return held
                if self._write(host, seen, replace(seen.silence, probe_until=now + PROBE)):
                    return None
            return None

    def was_silent(self, host: str) -> None:
        """Remember that it gave no answer; one request more for each write that came in between."""
        seen = self._seen(host)
        with seen.lock:
            now = self.table.clock.now()
            while True:
                before = seen.silence or Silence(0, now, now, now)
                after = before.again(now)
                if after == before or self._write(host, seen, after):
                    return

    def answered(self, host: str) -> None:
        """Remember that it did; nothing is written where no silence was seen.

        The item stays and tells of none: whoever delivers need not be allowed to delete anything.
        """
        seen = self._seen(host)
        with seen.lock:
            if seen.silence is not None:
                now = self.table.clock.now()
                item = _item(host, Silence(0, now, now, now))
                self.table.put(item)
                self._look(seen, item)

    def _seen(self, host: str) -> _Seen:
        if len(self.seen) >= MOST_REMEMBERED and host not in self.seen:
            self.seen.clear()
        return self.seen.setdefault(host, _Seen())

    def _look(self, seen: _Seen, item: Item | None) -> None:
        seen.at = self.table.clock.now()
        seen.silence = _silence(item) if item and item["in_a_row"] else None
        seen.version = item["version"] if item else ""

    def _write(self, host: str, seen: _Seen, silence: Silence) -> bool:
        """Store it if the item is still as seen; otherwise see what stands, which may be mine after all."""
        item = _item(host, silence)
        try:
            self.table.put(
                item, when=IS_AS_SEEN if seen.version else IS_ABSENT, values={"seen": seen.version}
            )
        except RefusedError as refused:
            standing = refused.standing
            self._look(seen, standing if standing and not self.table.has_expired(standing) else None)
            return bool(seen.version == item["version"])
        self._look(seen, item)
        return True


def _item(host: str, silence: Silence) -> Item:
    probe = {"probe_until": print_timestamp(silence.probe_until)} if silence.probe_until else {}
    return {
        **host_row(host)._asdict(),
        "in_a_row": silence.in_a_row,
        "since": print_timestamp(silence.since),
        "last_at": print_timestamp(silence.last_at),
        "until": print_timestamp(silence.until),
        **probe,
        "version": f"{CHOOSE.getrandbits(64):016x}",
        "expires": int((max(silence.last_at, silence.until) + KEPT).timestamp()),
    }


def _silence(item: Item) -> Silence:
    return Silence(
        in_a_row=item["in_a_row"],
        since=read_time(item["since"]),
        last_at=read_time(item["last_at"]),
        until=read_time(item["until"]),
        probe_until=read_time(item["probe_until"]) if "probe_until" in item else None,
    )
