"""Fakes of what webhooks need: the rows on a `FakeTable`, and queues, ciphers and receivers that remember."""

import base64
import hashlib
import ipaddress
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import RLock
from typing import Any

from a2a_serverless.ports import Clock, Head, WebhookPorts
from a2a_serverless.ports.webhooks import (
    LONGEST_DELAY,
    DeadLetter,
    NoHeadError,
    Poke,
    Registration,
    StateChange,
    UnopenableError,
    UnresolvableNameError,
    Webhook,
    WebhookAnswer,
    WebhookKey,
    WebhookRequest,
)
from a2a_serverless.tasks.log import TaskKey
from tests.fakes.stores import WebhookIds, to_millisecond
from tests.fakes.table import FakeTable

PUBLIC_ADDRESS = "93.184.215.14"
"""What every name means that a test says nothing about."""


@dataclass(frozen=True)
class FakeWebhooks:
    """The webhooks of all tasks; their ids stand beside the heads that `FakeTasks` writes."""

    table: FakeTable

    def reserve(self, key: WebhookKey, *, most: int, due_at: datetime) -> bool:
        """Count the webhook among its task's, and have the task looked at."""
        with self.table.lock:
            head = self.table.get(Head, key.task)
            if head is None:
                raise NoHeadError
            counted = self.ids(key.task) | {key.config_id}
            if len(counted) > most and key.config_id not in self.ids(key.task):
                return False
            looked_at = max(head.due_at or due_at, due_at)
            self.table.change(Head, key.task, how=lambda _: (head.expires, replace(head, due_at=looked_at)))
            self._count(key.task, counted, head.expires)
            return True

    def put(self, key: WebhookKey, registered: Registration, *, cursor: int, expires: int) -> Webhook:
        """Store the registration; returns what stands then."""
        kept = Registration.model_validate(json.loads(registered.to_json()))

        def stored(standing: Webhook | None) -> tuple[int, Webhook]:
            return expires, Webhook(key, kept, standing.cursor if standing else cursor, expires)

        self.table.change(Webhook, key, how=stored)
        return self._standing(key)

    def read(self, key: WebhookKey) -> Webhook | None:
        """The webhook."""
        return self.table.get(Webhook, key)

    def ids(self, task: TaskKey) -> frozenset[str]:
        """The ids counted among the task's."""
        with self.table.lock:
            counted = self.table.get(WebhookIds, task) if self.table.get(Head, task) else None
            return counted.ids if counted else frozenset()

    def read_all(self, task: TaskKey) -> Sequence[Webhook]:
        """The task's webhooks by ascending id."""
        found = (self.read(WebhookKey(task, config_id)) for config_id in sorted(self.ids(task)))
        return [webhook for webhook in found if webhook is not None]

    def delete(self, key: WebhookKey) -> None:
        """Forget the webhook, then its id."""
        self.table.delete(Webhook, key, when=lambda _: True)
        with self.table.lock:
            head = self.table.get(Head, key.task)
            if head is not None:
                self._count(key.task, self.ids(key.task) - {key.config_id}, head.expires)

    def lease(self, key: WebhookKey, token: str, *, until: datetime) -> Webhook | None:
        """Take the webhook until then, if nothing holds it back; returns what stands afterwards."""
        now = self.table.clock.now()

        def taken(standing: Webhook | None) -> tuple[int, Webhook] | None:
            if standing is None or standing.died_at or (standing.not_before and standing.not_before > now):
                return None
            leased = replace(standing, lease=token, not_before=to_millisecond(until), backs_off=False)
            return leased.expires, leased

        self.table.change(Webhook, key, how=taken)
        return self.read(key)

    def advance(self, key: WebhookKey, token: str, cursor: int, *, until: datetime | None) -> bool:
        """Move the cursor, never back, and forget failures; the lease goes on, or ends with None."""
        not_before = to_millisecond(until) if until else None

        def advanced(standing: Webhook) -> Webhook:
            if standing.cursor > cursor:
                return standing
            return replace(
                standing,
                cursor=cursor,
                not_before=not_before,
                backs_off=False,
                attempts=0,
                failing_since=None,
            )

        return self._change(key, token, advanced)

    def put_off(
        self,
        key: WebhookKey,
        token: str,
        *,
        not_before: datetime,
        attempts: int,
        failing_since: datetime | None,
    ) -> bool:
        """End the lease with a pause."""
        since = to_millisecond(failing_since) if failing_since else None
        moment = to_millisecond(not_before)
        return self._change(
            key,
            token,
            lambda standing: replace(
                standing, not_before=moment, backs_off=True, attempts=attempts, failing_since=since
            ),
        )

    def kill(
        self,
        key: WebhookKey,
        token: str,
        *,
        died_at: datetime,
        attempts: int,
        failing_since: datetime,
        reason: str,
    ) -> bool:
        """End the lease for good."""
        dead: dict[str, Any] = {
            "died_at": to_millisecond(died_at),
            "attempts": attempts,
            "failing_since": to_millisecond(failing_since),
            "reason": reason,
            "not_before": None,
            "backs_off": False,
        }
        return self._change(key, token, lambda standing: replace(standing, **dead))

    def revive(self, key: WebhookKey) -> bool:
        """Let a dead webhook live again, without failures or lease."""

        def revived(standing: Webhook | None) -> tuple[int, Webhook] | None:
            if standing is None or standing.died_at is None:
                return None
            return standing.expires, Webhook(key, standing.registered, standing.cursor, standing.expires)

        standing = self.table.change(Webhook, key, how=revived)
        return standing is not None and standing.died_at is not None

    def dead(self, limit: int) -> Sequence[Webhook]:
        """Up to `limit` dead webhooks, the longest dead first."""
        dead = [(webhook.died_at, webhook) for _, webhook in self.table.all(Webhook) if webhook.died_at]
        return [webhook for _, webhook in sorted(dead, key=lambda each: each[0])][:limit]

    def _count(self, task: TaskKey, ids: frozenset[str], expires: int) -> None:
        self.table.change(WebhookIds, task, how=lambda _: (expires, WebhookIds(ids)))

    def _change(self, key: WebhookKey, token: str, how: Callable[[Webhook], Webhook]) -> bool:
        """Change the row of whose lease this is the token."""

        def changed(standing: Webhook | None) -> tuple[int, Webhook] | None:
            if standing is None or standing.lease != token:
                return None
            return standing.expires, how(standing)

        standing = self.table.change(Webhook, key, how=changed)
        return standing is not None and standing.lease == token

    def _standing(self, key: WebhookKey) -> Webhook:
        standing = self.read(key)
        if standing is None:
            raise AssertionError("a webhook was put that has expired already")
        return standing


@dataclass
class FakePokes:
    """The queue: every poke ever sent with its delay, and those that nobody has taken yet."""

    clock: Clock
    sent: list[tuple[Poke, float]] = field(default_factory=list)
    waiting: list[tuple[datetime, Poke]] = field(default_factory=list)
    lock: RLock = field(default_factory=RLock)

    def send(self, pokes: Sequence[Poke], *, delay: float = 0.0) -> None:
        """Send the pokes, to arrive after `delay` seconds."""
        with self.lock:
            arrives = self.clock.now() + timedelta(seconds=min(math.ceil(delay), LONGEST_DELAY))
            self.sent += [(poke, delay) for poke in pokes]
            self.waiting += [(arrives, poke) for poke in pokes]

    def arrived(self) -> list[Poke]:
        """Take the pokes that have arrived by now, oldest first."""
        with self.lock:
            now = self.clock.now()
            ripe = sorted((each for each in self.waiting if each[0] <= now), key=lambda each: each[0])
            self.waiting = [each for each in self.waiting if each[0] > now]
            return [poke for _, poke in ripe]

    def next_at(self) -> datetime | None:
        """When the next poke arrives that nobody has taken; None when there is none."""
        return min((moment for moment, _ in self.waiting), default=None)


@dataclass
class FakeLetters:
    """The dead letters that lie there."""

    lying: list[DeadLetter] = field(default_factory=list)

    def put(self, letter: DeadLetter) -> None:
        """Leave a record."""
        self.lying.append(letter)

    def count(self) -> int:
        """How many lie there."""
        return len(self.lying)

    def remove(self, settled: Callable[[WebhookKey], bool]) -> int:
        """Take out the letters whose webhook needs them no more."""
        kept = [letter for letter in self.lying if not settled(letter.key)]
        removed = len(self.lying) - len(kept)
        self.lying = kept
        return removed


@dataclass
class FakeSeals:
    """Envelopes that anybody can read, but nobody opens by mistake; `lost` keys open nothing any more."""

    lost: bool = False
    sealed: int = 0
    opened: int = 0

    def seal(self, secret: bytes, context: Mapping[str, str]) -> str:
        """The secret with the name of what it is for."""
        self.sealed += 1
        envelope = {"for": dict(sorted(context.items())), "secret": base64.b64encode(secret).decode()}
        return base64.b64encode(json.dumps(envelope).encode()).decode()

    def open(self, sealed: str, context: Mapping[str, str]) -> bytes:
        """The secret again; raises UnopenableError."""
        self.opened += 1
        try:
            envelope: dict[str, Any] = json.loads(base64.b64decode(sealed, validate=True))
        except ValueError:
            raise UnopenableError from None
        if self.lost or envelope["for"] != dict(context):
            raise UnopenableError
        return base64.b64decode(envelope["secret"])


@dataclass
class FakeNames:
    """The domain name system: what a test says of a host, nothing for `()`, else one public address."""

    known: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def addresses(self, host: str) -> Sequence[str]:
        """Every address of the host, or the one it spells."""
        self.asked.append(host)
        try:
            return (str(ipaddress.ip_address(host.strip("[]"))),)
        except ValueError:
            found = self.known.get(host, (PUBLIC_ADDRESS,))
        if not found:
            raise UnresolvableNameError(host)
        return found


@dataclass
class FakePosts:
    """Receivers: every request made of them; `answer` says what they say, 204 unless a test wants another."""

    answer: Callable[[WebhookRequest], WebhookAnswer] = lambda _: WebhookAnswer(204)
    made: list[WebhookRequest] = field(default_factory=list)

    def post(self, request: WebhookRequest) -> WebhookAnswer:
        """Make the request."""
        self.made.append(request)
        return self.answer(request)


@dataclass
class _Silence:
    in_a_row: int
    since: datetime
    last_at: datetime
    until: datetime


@dataclass
class FakeHosts:
    """Which hosts do not answer at all."""

    clock: Clock
    silent: dict[str, _Silence] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def silent_until(self, host: str) -> datetime | None:
        """When the host may be tried again; None when it may be now, by whoever asked."""
        with self.lock:
            now, known = self.clock.now(), self._known(host)
            if known is None or known.in_a_row < 3:
                return None
            if known.until > now:
                return known.until
            self.silent[host] = replace(known, until=now + timedelta(seconds=15), last_at=now)
            return None

    def was_silent(self, host: str) -> None:
        """Remember that it gave no answer."""
        with self.lock:
            now = self.clock.now()
            known = self._known(host) or _Silence(0, now, now, now)
            tried = known.in_a_row >= 3 and known.until - known.last_at == timedelta(seconds=15)
            if known.until > now and not tried:
                return
            if now - max(known.last_at, known.until) > timedelta(minutes=5):
                known = _Silence(0, now, now, now)
            in_a_row = known.in_a_row + 1
            if now - known.since < timedelta(seconds=10):
                in_a_row = min(in_a_row, 2)
            pause = min(30 * 2 ** max(0, in_a_row - 3), 600) if in_a_row >= 3 else 0
            self.silent[host] = _Silence(in_a_row, known.since, now, now + timedelta(seconds=pause))

    def answered(self, host: str) -> None:
        """Remember that it did."""
        with self.lock:
            self.silent.pop(host, None)

    def _known(self, host: str) -> _Silence | None:
        known = self.silent.get(host)
        forgotten = known is None or known.until + timedelta(days=1) <= self.clock.now()
        return None if forgotten else known


@dataclass
class FakeEvents:
    """The event bus: every change announced."""

    changes: list[StateChange] = field(default_factory=list)

    def put(self, changes: Sequence[StateChange]) -> None:
        """Announce the changes."""
        self.changes += changes


@dataclass
class FakeSignatures:
    """Signatures that name what they sign."""

    def sign(self, body: bytes, claims: Mapping[str, str]) -> str:
        """Three pieces like a JWS: the claims, nothing, the digest of the body."""
        header = base64.urlsafe_b64encode(json.dumps(dict(claims)).encode()).rstrip(b"=").decode()
        return f"{header}..{hashlib.sha256(body).hexdigest()}"


def fake_webhooks(table: FakeTable, **overrides: Any) -> WebhookPorts:
    """Everything webhooks need, each replaceable by name."""
    clock = table.clock
    fakes: dict[str, Any] = {
        "store": FakeWebhooks(table),
        "pokes": FakePokes(clock),
        "letters": FakeLetters(),
        "seals": FakeSeals(),
        "names": FakeNames(),
        "posts": FakePosts(),
        "hosts": FakeHosts(clock),
        "signatures": FakeSignatures(),
        "events": FakeEvents(),
    }
    return WebhookPorts(**{**fakes, **overrides})
