"""Delivering a task's events to its webhooks: in order, at least once, or to the dead-letter queue.

Whoever is woken takes a lease on the webhook, posts the events after its cursor one by one, and moves the
cursor under the lease's token; then it looks once more, since a poke that came meanwhile was dropped. Pokes
may therefore be lost, doubled or late. A webhook that fails waits longer and longer; one that fails for
good is given up, its record lying in the dead-letter queue before anybody calls it dead.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from a2a_serverless.operations.notices import Notice, headers_of, host_of, notices
from a2a_serverless.operations.webhook_urls import PrivateAddressError, check_addresses, check_url
from a2a_serverless.ports import Ports, WebhookPorts
from a2a_serverless.ports.webhooks import (
    Appended,
    DeadLetter,
    Poke,
    StateChange,
    UnopenableError,
    UnresolvableNameError,
    Webhook,
    WebhookAnswer,
    WebhookKey,
    WebhookRequest,
)
from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.tasks.log import LoggedEvent, PushKind

READ_AT_ONCE = 25
"""Events read from the log in one go."""

TRANSIENT = frozenset({408, 409, 425, 429})
"""Answers that may be another next time, beside every 5xx."""

JITTER = 0.2
"""How much a pause may be shorter or longer than its plan, so that many do not end at once."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an event was not taken, and whether it may be another time."""

    reason: str
    final: bool = False
    retry_after: float = 0.0
    tried: bool = True


class _StopError(Exception):
    """This delivery ends here; the webhook says how it goes on."""


def fan_out(ports: Ports, appended: Sequence[Appended]) -> None:
    """Wake the webhooks of tasks to whose logs something was appended that they may want; tell AWS of states.

    Doing it again for the same events is harmless.
    """
    webhooks = ports.webhooks
    if webhooks is None:
        return
    wanted = dict.fromkeys(each.key for each in appended if each.kind in ports.policy.webhooks.kinds)
    pokes = [Poke(WebhookKey(task, name)) for task in wanted for name in sorted(webhooks.store.ids(task))]
    if pokes:
        webhooks.pokes.send(pokes)
    if webhooks.events is not None and (changes := list(_changes(ports, appended))):
        webhooks.events.put(changes)


def _changes(ports: Ports, appended: Sequence[Appended]) -> Iterator[StateChange]:
    for each in appended:
        if each.kind is PushKind.STATES and each.state is not None and each.at is not None:
            context_id = ports.tasks.load(each.key, about=each.position).context_id
            yield StateChange(each.key, context_id, each.position, each.state, each.at)


def deliver(ports: Ports, poke: Poke, until: datetime) -> None:
    """Deliver what a webhook has not had yet, as far as it takes it and until the time is up.

    Errors of AWS rise: the poke comes again then, and the lease runs out.
    """
    webhooks = ports.webhooks
    if webhooks is None:
        return
    while True:
        token = ports.identifiers.new()
        lease_until = ports.clock.now() + ports.policy.webhooks.lease
        standing = webhooks.store.lease(poke.key, token, until=lease_until)
        if standing is None or not standing.held_by(token):
            _put_poke_off(ports, webhooks, poke, standing)
            return
        delivery = _Delivery(ports, webhooks, standing, token, until)
        try:
            delivery.run()
        except _StopError:
            return
        if not ports.tasks.events_after(poke.key.task, delivery.cursor, 1, current=True):
            return
        if ports.clock.now() >= until:
            webhooks.pokes.send([Poke(poke.key)])
            return


def _put_poke_off(ports: Ports, webhooks: WebhookPorts, poke: Poke, standing: Webhook | None) -> None:
    """Let the poke that ends a pause come again if it came early; any other finds somebody at work."""
    if standing is None or standing.not_before is None or standing.died_at is not None:
        return
    early = (standing.not_before - ports.clock.now()).total_seconds()
    if standing.backs_off and poke.window == _window(standing.attempts) and early > 0:
        webhooks.pokes.send([poke], delay=early)


def _window(attempts: int) -> int:
    return attempts + 1


@dataclass
class _Delivery:
    """One lease on one webhook, from the first event after its cursor to the last."""

    ports: Ports
    webhooks: WebhookPorts
    webhook: Webhook
    token: str
    until: datetime
    cursor: int = field(init=False)
    stored: int = field(init=False)
    attempts: int = field(init=False)
    failing_since: datetime | None = field(init=False)

    def __post_init__(self) -> None:
        self.cursor = self.stored = self.webhook.cursor
        self.attempts, self.failing_since = self.webhook.attempts, self.webhook.failing_since

    def run(self) -> None:
        """Post event after event, then end the lease; raises _StopError when that is not how it ended."""
        key = self.webhook.key.task
        while self.ports.clock.now() < self.until:
            events = self.ports.tasks.events_after(key, self.cursor, READ_AT_ONCE, current=True)
            for event in events:
                if not self._deliver(event):
                    break
            if len(events) < READ_AT_ONCE:
                break
        if not self._release():
            raise _StopError

    def _release(self) -> bool:
        """End the lease; attempts at an event that nobody had time for go on being counted."""
        store, key = self.webhooks.store, self.webhook.key
        if self.attempts:
            now, since = self.ports.clock.now(), self.failing_since
            return store.put_off(key, self.token, not_before=now, attempts=self.attempts, failing_since=since)
        return store.advance(key, self.token, self.cursor, until=None)

    def _deliver(self, event: LoggedEvent) -> bool:
        """Post what the event says to webhooks, if anything; False when there is no time left for it."""
        for notice in notices(self.ports, self.webhook, event):
            if self.ports.clock.now() >= self.until:
                return False
            self._keep_lease()
            failure = self._post(notice)
            if failure is not None:
                self._fail(event, failure)
                raise _StopError
            self.ports.metrics.count("WebhookDelivered")
        if event.pushes in self.ports.policy.webhooks.kinds:
            self.attempts, self.failing_since = 0, None
        self.cursor = event.position
        return True

    def _keep_lease(self) -> None:
        """Say before each event but the first that the ones before were taken, and that this goes on."""
        if self.cursor == self.stored:
            return
        until = self.ports.clock.now() + self.ports.policy.webhooks.lease
        if not self.webhooks.store.advance(self.webhook.key, self.token, self.cursor, until=until):
            raise _StopError
        self.stored = self.cursor

    def _post(self, notice: Notice) -> _Failure | None:
        """One attempt; None when the receiver took it."""
        policy, registered = self.ports.policy.webhooks, self.webhook.registered
        host = host_of(registered.url)
        silent_until = self.webhooks.hosts.silent_until(host)
        if silent_until is not None:
            pause = (silent_until - self.ports.clock.now()).total_seconds()
            return _Failure("the host does not answer", retry_after=max(pause, 1.0), tried=False)
        try:
            target = check_url(policy, registered.url)
            address = check_addresses(policy, target, self.webhooks.names.addresses(target.host))
            headers = headers_of(
                self.webhooks, self.webhook, notice, attempt=self.attempts + 1, at=self.ports.clock.now()
            )
        except UnresolvableNameError:
            return _Failure("the host name has no address")
        except (PrivateAddressError, InvalidParamsError):
            return _Failure("the URL leads to an address that is not public", final=True)
        except UnopenableError:
            return _Failure("the webhook's secrets cannot be opened", final=True)
        request = WebhookRequest(registered.url, address, headers, notice.body, policy.timeout)
        return self._judge(host, self.webhooks.posts.post(request))

    def _judge(self, host: str, answer: WebhookAnswer) -> _Failure | None:
        if answer.status is None:
            self.webhooks.hosts.was_silent(host)
            return _Failure(answer.problem or "no answer")
        self.webhooks.hosts.answered(host)
        if 200 <= answer.status < 300:  # noqa: PLR2004  RFC 9110 15.3
            return None
        final = answer.status < 500 and answer.status not in TRANSIENT  # noqa: PLR2004  RFC 9110 15.6
        return _Failure(f"answered {answer.status}", final=final, retry_after=answer.retry_after or 0.0)

    def _fail(self, event: LoggedEvent, failure: _Failure) -> None:
        """Come back after a pause, or give the webhook up."""
        now = self.ports.clock.now()
        policy = self.ports.policy.webhooks
        self.attempts += failure.tried
        self.failing_since = self.failing_since or now
        spent = policy.attempts and self.attempts >= policy.attempts
        self.ports.metrics.count("WebhookFailed")
        if failure.final or spent or now - self.failing_since >= policy.age:
            self._give_up(event, failure, now)
            return
        pause = min(max(self._pause(), failure.retry_after), policy.age.total_seconds())
        not_before = now + timedelta(seconds=pause)
        held = self.webhooks.store.put_off(
            self.webhook.key,
            self.token,
            not_before=not_before,
            attempts=self.attempts,
            failing_since=self.failing_since,
        )
        if held:
            self.webhooks.pokes.send([Poke(self.webhook.key, _window(self.attempts))], delay=pause)

    def _pause(self) -> float:
        """Seconds until the next attempt: doubled each time up to the longest, give or take a fifth."""
        policy = self.ports.policy.webhooks
        planned = min(policy.first_delay * 2.0 ** min(self.attempts - 1, 40), policy.longest_delay)
        chance = int.from_bytes(hashlib.sha256(self.token.encode()).digest()[:4]) / 2**32
        return planned * (1 - JITTER + 2 * JITTER * chance)

    def _give_up(self, event: LoggedEvent, failure: _Failure, now: datetime) -> None:
        """First the record, then the end: dead without a record would be a silent loss."""
        letter = DeadLetter(
            key=self.webhook.key,
            position=event.position,
            host=host_of(self.webhook.registered.url),
            reason=failure.reason,
            attempts=self.attempts,
            failing_since=self.failing_since or now,
            died_at=now,
        )
        self.webhooks.letters.put(letter)
        killed = self.webhooks.store.kill(
            self.webhook.key,
            self.token,
            died_at=letter.died_at,
            attempts=letter.attempts,
            failing_since=letter.failing_since,
            reason=letter.reason,
        )
        if killed:
            self.ports.metrics.count("WebhookDead")
