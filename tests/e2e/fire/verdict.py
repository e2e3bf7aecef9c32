"""What is wrong with what a webhook was told, held against what it should have been. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidSignature

from tests.e2e.fire.records import Arrival
from tests.e2e.fire.signatures import Keys, signed_header
from tests.e2e.fire.told import Told


@dataclass(frozen=True)
class Hook:
    """A registered webhook: where, who it is believed by, and since which position it is told."""

    config_id: str
    url: str
    path: str
    token: str
    authorization: str
    after: int
    takes: int | None = None
    """After so many events its receiver is gone; None for never."""

    def due(self, told: Sequence[Told]) -> list[Told]:
        """What of it this webhook must be told."""
        return [each for each in told if each.position > self.after]

    def dies(self, told: Sequence[Told]) -> bool:
        """Whether it is given up on the way."""
        return self.takes is not None and len(self.due(told)) > self.takes

    def alive(self, told: Sequence[Told]) -> list[Told]:
        """What of it this webhook takes until its receiver is gone."""
        return self.due(told)[: self.takes]


@dataclass
class Course:
    """One webhook's requests in order, and how far they have come."""

    hook: Hook
    due: Sequence[Told]
    taken: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def faults(self, arrivals: Sequence[Arrival], keys: Keys) -> Iterator[str]:
        """All that is wrong."""
        ids = [each.event_id for each in self.due]
        bodies = {each.event_id: each.body for each in self.due}
        for arrival in arrivals:
            yield from self._order(arrival, ids)
            yield from _request(self.hook, arrival, keys, bodies.get(arrival.event_id))
        if self.taken != ids:
            yield f"{self.hook.path} took {self.taken}, not {ids}"
        if self.seen != ids:
            yield f"{self.hook.path} saw {self.seen}, not {ids}"

    def _order(self, arrival: Arrival, ids: Sequence[str]) -> Iterator[str]:
        """Nothing new comes before everything earlier was taken."""
        name = arrival.event_id
        if name not in self.seen:
            self.seen.append(name)
            earlier = ids[: ids.index(name)] if name in ids else []
            if name not in ids:
                yield f"{self.hook.path} was told of {name}, which is not for it"
            elif not set(earlier) <= set(self.taken):
                yield f"{self.hook.path} was told of {name} after {self.taken} only"
        if arrival.taken and name not in self.taken:
            self.taken.append(name)


def _request(hook: Hook, arrival: Arrival, keys: Keys, body: Mapping[str, Any] | None) -> Iterator[str]:
    """What is wrong with one request by itself."""
    headers, place = arrival.headers, f"{hook.path} {arrival.event_id}"
    wanted = {
        "content-type": "application/a2a+json",
        "a2a-version": "1.0",
        "x-a2a-notification-token": hook.token,
        "authorization": hook.authorization,
    }
    wrong = {name: headers.get(name) for name, value in wanted.items() if headers.get(name) != value}
    if wrong:
        yield f"{place}: headers {wrong}"
    if body is not None and arrival.payload != body:
        yield f"{place}: body {arrival.body}, not {body}"
    try:
        claims = signed_header(keys, headers["x-a2a-signature"], arrival.body.encode())
    except (InvalidSignature, KeyError, ValueError) as error:
        yield f"{place}: signature {type(error).__name__}"
    else:
        if (claims["jti"], claims["url"]) != (arrival.event_id, hook.url):
            yield f"{place}: signature claims {claims}"
