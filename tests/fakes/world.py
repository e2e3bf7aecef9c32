"""Fakes of the world around the stores: executions, contents, incidents, metrics, time and identifiers."""

import hashlib
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import RLock
from urllib.parse import quote, urlencode

from a2a_serverless.ports import Clock, ExecutionStatus, StoredContent, StreamKey, TurnKey
from a2a_serverless.ports.audit import Call
from a2a_serverless.ports.limits import Bucket, RateLimit
from a2a_serverless.ports.uploads import FileToCome, GoneError, Offer, Uploaded


@dataclass
class FakeExecutions:
    """Step Functions, as far as turns go: records what was asked of it; `status` may be set by a test."""

    started: list[TurnKey] = field(default_factory=list)
    stopped: list[tuple[TurnKey, str]] = field(default_factory=list)
    status: dict[TurnKey, ExecutionStatus] = field(default_factory=dict)
    on_start: Callable[[TurnKey], None] | None = None
    lock: RLock = field(default_factory=RLock)

    def start(self, turn: TurnKey) -> None:
        """Start the turn's execution, once; then tell `on_start`, if somebody listens."""
        with self.lock:
            if turn in self.status:
                return
            self.status[turn] = "running"
            self.started.append(turn)
        if self.on_start is not None:
            self.on_start(turn)

    def stop(self, turn: TurnKey, reason: str) -> None:
        """Stop the turn's execution if it runs."""
        with self.lock:
            if self.status.get(turn) == "running":
                self.status[turn] = "ended"
                self.stopped.append((turn, reason))

    def describe(self, turn: TurnKey) -> ExecutionStatus | None:
        """Whether it runs or has ended; None when it was never started."""
        return self.status.get(turn)


@dataclass
class FakeStreamPlaces:
    """The open streams of every caller, each until its time."""

    clock: Clock
    taken: dict[tuple[str, str, int], StreamKey] = field(default_factory=dict)
    tokens: "count[int]" = field(default_factory=lambda: count(1))
    lock: RLock = field(default_factory=RLock)

    def open(self, tenant: str, owner: str, *, most: int, until: datetime) -> StreamKey | None:
        """Take the first free place, if there is one."""
        with self.lock:
            for place in range(most):
                standing = self.taken.get((tenant, owner, place))
                if standing is None or standing.until <= self.clock.now():
                    stream = StreamKey(tenant, owner, place, until, f"token-{next(self.tokens)}")
                    self.taken[tenant, owner, place] = stream
                    return stream
            return None

    def close(self, stream: StreamKey) -> None:
        """Give the place back if it is still this stream's."""
        place = (stream.tenant, stream.owner, stream.place)
        with self.lock:
            if self.taken.get(place) == stream:
                del self.taken[place]


@dataclass
class FakeRateLimits:
    """The buckets of every caller, each as the moment when it will be full again."""

    clock: Clock
    full_at: dict[tuple[Bucket, RateLimit], datetime] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def take(self, bucket: Bucket, limit: RateLimit) -> timedelta | None:
        """Take a token if there is one; otherwise how long until there is."""
        with self.lock:
            now = self.clock.now()
            full_at = max(now, self.full_at.get((bucket, limit), now)) + limit.interval
            wait = full_at - now - limit.burst * limit.interval
            if wait > timedelta(0):
                return wait
            self.full_at[bucket, limit] = full_at
            return None


@dataclass
class FakeContents:
    """Content by key, with its media type, and everything that was ever on its way."""

    stored: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    uploads: list["FakeUpload"] = field(default_factory=list)

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Store the bytes under the key."""
        self.stored[key] = bytes(content), media_type

    def get(self, key: str) -> bytes:
        """The bytes under the key; raises KeyError when there are none."""
        return self.stored[key][0]

    def upload(self, key: str, media_type: str) -> "FakeUpload":
        """Begin to store what comes in pieces."""
        upload = FakeUpload(self, key, media_type)
        self.uploads.append(upload)
        return upload

    def describe(self, key: str) -> StoredContent:
        """What is under the key; raises KeyError when there is nothing."""
        content = self.get(key)
        return StoredContent(len(content), f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"')

    def pieces(self, key: str, first: int = 0, last: int | None = None) -> Generator[bytes]:
        """The bytes, 64 KB at a time."""
        content = self.get(key)[first : None if last is None else last + 1]
        for start in range(0, len(content), 65536):
            yield content[start : start + 65536]

    def link(self, key: str, *, lasts: timedelta, media_type: str, disposition: str) -> str:
        """An address that says what was asked for."""
        self.get(key)
        asked = {"seconds": round(lasts.total_seconds()), "type": media_type, "disposition": disposition}
        return f"https://contents.example/{quote(key)}?{urlencode(asked)}"


@dataclass
class FakeUpload:
    """Content on its way; `fate` says what has become of it."""

    contents: FakeContents
    key: str
    media_type: str
    fate: str = "open"
    pieces: list[bytes] = field(default_factory=list)

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Take the next bytes."""
        self.pieces.append(bytes(piece))

    def finish(self) -> None:
        """Let the content appear."""
        self.fate = "finished"
        self.contents.put(self.key, b"".join(self.pieces), self.media_type)

    def abort(self) -> None:
        """Leave nothing behind."""
        self.fate = "aborted" if self.fate == "open" else self.fate


@dataclass
class FakeUploads:
    """Callers' files beside other content, told apart by how often each key was written."""

    contents: FakeContents
    clock: Clock
    offered: dict[str, tuple[FileToCome, datetime]] = field(default_factory=dict)
    versions: Counter[str] = field(default_factory=Counter)

    def offer(self, key: str, file: FileToCome, lasts: timedelta) -> Offer:
        """An address that stores nothing by itself: `put` plays the client who uses it."""
        self.offered[key] = file, self.clock.now() + lasts
        return Offer("PUT", f"https://uploads.example/{quote(key)}", {"Content-Type": file.media_type})

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Upload a file."""
        self.versions[key] += 1
        self.contents.put(key, content, media_type)

    def find(self, key: str) -> Uploaded | None:
        """What lies under the key; None when nothing does."""
        if key not in self.contents.stored:
            return None
        content, media_type = self.contents.stored[key]
        return Uploaded(media_type, len(content), str(self.versions[key]))

    def copy(self, key: str, to: str, *, version: str | None = None) -> str:
        """Copy what lies under a key; raises GoneError."""
        found = self.find(key)
        if found is None or version not in (None, found.version):
            raise GoneError(key)
        self.contents.put(to, *self.contents.stored[key])
        return hashlib.sha256(self.contents.get(to)).hexdigest()


@dataclass
class FakeIncidents:
    """Every failure reported, with its facts; the ids count from `incident-1`."""

    reported: list[tuple[BaseException, dict[str, str]]] = field(default_factory=list)

    def report(self, error: BaseException, **facts: str) -> str:
        """Remember the error; returns its id."""
        self.reported.append((error, facts))
        return f"incident-{len(self.reported)}"


@dataclass
class FakeAudit:
    """Every call that was recorded."""

    calls: list[Call] = field(default_factory=list)

    def record(self, call: Call) -> None:
        """Remember the call."""
        self.calls.append(call)


@dataclass
class FakeMetrics:
    """Counters by name, and by name with dimensions."""

    counts: Counter[str] = field(default_factory=Counter)
    detailed: Counter[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=Counter)

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add to a counter."""
        self.counts[name] += value
        self.detailed[name, tuple(sorted(dimensions.items()))] += value


@dataclass
class FakeClock:
    """Time that passes only when somebody sleeps, or sets it; what was planned happens meanwhile."""

    moment: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    planned: list[tuple[datetime, Callable[[], None]]] = field(default_factory=list)

    def now(self) -> datetime:
        """The present moment."""
        return self.moment

    def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        until = self.moment + timedelta(seconds=seconds)
        while ripe := [plan for plan in self.planned if plan[0] <= until]:
            plan = min(ripe, key=lambda each: each[0])
            self.planned.remove(plan)
            self.moment = max(self.moment, plan[0])
            plan[1]()
        self.moment = max(self.moment, until)

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        """Plan a callback for when that much time has passed; after 0 seconds means at the next sleep."""
        self.planned.append((self.moment + timedelta(seconds=seconds), callback))


@dataclass
class FakeIdentifiers:
    """Identifiers that count: `00000000-0000-4000-8000-000000000001` and so on."""

    counter: "count[int]" = field(default_factory=lambda: count(1))

    def new(self) -> str:
        """The next one."""
        return f"00000000-0000-4000-8000-{next(self.counter):012x}"
