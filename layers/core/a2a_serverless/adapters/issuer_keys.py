"""Keys of issuers as they were last fetched, and when to fetch them again.

An hour is how late a key that was withdrawn is noticed; a key that is not known yet is looked for at once,
but once a minute at most, for anybody may name one. While an issuer cannot be reached its last keys serve
for a day: longer would be to trust what nobody can withdraw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

from a2a_serverless.adapters.https_keys import UnfetchedError
from a2a_serverless.ports import Clock
from a2a_serverless.ports.access import KeysOutOfReachError, TrustedIssuer

FRESH = timedelta(hours=1)
USABLE = timedelta(days=1)
BETWEEN_FETCHES = timedelta(minutes=1)
WITHOUT_ANY = timedelta(seconds=10)
"""Between two attempts while there is no key at all: everybody waits for them."""

NEVER = datetime.min.replace(tzinfo=UTC)

K = TypeVar("K")


@dataclass
class _Kept(Generic[K]):
    keys: K | None = None
    fetched: datetime = NEVER
    tried: datetime | None = None
    failed: bool = False
    lock: Lock = field(default_factory=Lock)

    def next_try(self, now: datetime) -> timedelta:
        """How long until keys may be fetched again."""
        if self.tried is None:
            return timedelta(0)
        pause = WITHOUT_ANY if self.keys is None else BETWEEN_FETCHES
        return max(self.tried + pause - now, timedelta(0))

    def within(self, age: timedelta, now: datetime) -> K | None:
        """The keys, unless they are older."""
        return self.keys if self.keys is not None and now - self.fetched < age else None


class IssuerKeys(Generic[K]):
    """Keys of any number of issuers; safe for many threads."""

    def __init__(self, fetch: Callable[[TrustedIssuer], K], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: dict[tuple[str, str], _Kept[K]] = {}
        self._lock = Lock()

    def current(self, issuer: TrustedIssuer) -> K:
        """The issuer's keys.

        Raises:
            KeysOutOfReachError: there are none that are young enough.
        """
        kept = self._of(issuer)
        fresh = kept.within(FRESH, self._clock.now())
        if fresh is not None:
            return fresh
        with kept.lock:
            now = self._clock.now()
            if kept.within(FRESH, now) is None and not kept.next_try(now):
                self._renew(issuer, kept)
            usable = kept.within(USABLE, now)
        if usable is None:
            raise KeysOutOfReachError(kept.next_try(now).total_seconds())
        return usable

    def newer(self, issuer: TrustedIssuer, known: K) -> K:
        """The issuer's keys, for somebody who misses one among those that were known.

        Raises:
            KeysOutOfReachError: it cannot be said whether there are newer ones.
        """
        kept = self._of(issuer)
        with kept.lock:
            now = self._clock.now()
            if kept.keys is known and not kept.next_try(now):
                self._renew(issuer, kept)
            if kept.failed or kept.keys is None:
                raise KeysOutOfReachError(kept.next_try(now).total_seconds())
            return kept.keys

    def _of(self, issuer: TrustedIssuer) -> _Kept[K]:
        with self._lock:
            return self._kept.setdefault((issuer.issuer, issuer.jwks_uri), _Kept())

    def _renew(self, issuer: TrustedIssuer, kept: _Kept[K]) -> None:
        kept.tried = self._clock.now()
        try:
            kept.keys = self._fetch(issuer)
        except UnfetchedError:
            kept.failed = True
        else:
            kept.fetched, kept.failed = kept.tried, False
