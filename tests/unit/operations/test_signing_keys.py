"""Which pair signs when, which are published when, and how one follows another."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.bindings.card import MAX_AGE
from a2a_serverless.operations.signing_keys import (
    IN_FLIGHT,
    READ_AGAIN,
    SOONEST,
    current_ring,
    published,
    rotate,
    signer,
)
from a2a_serverless.ports.signing_keys import KeyPolicy, KeyPorts, KeyRing, sealed_for
from tests.fakes.ports import FakeClock
from tests.fakes.signing import FakeSigningKeys, fake_keys

MOMENT = timedelta(milliseconds=1)
POLICY = KeyPolicy()
BEGIN = FakeClock().now()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ports(clock: FakeClock) -> KeyPorts:
    """With one pair, which signs from the beginning."""
    made = fake_keys(clock=clock)
    current_ring(made)
    return made


def signs(ports: KeyPorts, at: datetime) -> str:
    return signer(standing(ports), at).kid


def shown(ports: KeyPorts, at: datetime) -> list[str]:
    return [key.kid for key in published(standing(ports), at)]


def standing(ports: KeyPorts) -> KeyRing:
    ring = ports.keys.read()
    assert ring is not None
    return ring


def test_before_the_first_pair_nothing_is_published() -> None:
    assert list(published(None, BEGIN)) == []


def test_the_first_pair_is_published_and_signs_at_once() -> None:
    ports = fake_keys()

    ring = current_ring(ports)

    assert ring == ports.keys.read()
    (key,) = ring.keys
    assert (key.created, key.signs_from, key.retires) == (BEGIN, BEGIN, None)
    assert ports.seals.open(key.sealed, sealed_for(key.kid)) == b"private-1"
    assert (signs(ports, BEGIN), shown(ports, BEGIN)) == ("kid-1", ["kid-1"])


def test_the_first_pair_signs_also_by_a_clock_that_is_behind_its_makers(ports: KeyPorts) -> None:
    assert signs(ports, BEGIN - timedelta(seconds=2)) == "kid-1"


def test_a_pair_that_stands_is_not_written_again(ports: KeyPorts) -> None:
    assert current_ring(ports) == current_ring(ports) == standing(ports)
    assert standing(ports).version == 1


def test_a_pair_is_published_before_it_signs_and_stays_published_after_it_signed_last(
    ports: KeyPorts,
) -> None:
    rotate(ports)
    takes_over = BEGIN + POLICY.publish_ahead
    retires = takes_over + POLICY.publish_after

    assert (signs(ports, BEGIN), shown(ports, BEGIN)) == ("kid-1", ["kid-1", "kid-2"])
    assert (signs(ports, takes_over - MOMENT), signs(ports, takes_over)) == ("kid-1", "kid-2")
    assert shown(ports, retires - MOMENT) == ["kid-1", "kid-2"]
    assert shown(ports, retires) == ["kid-2"]


def test_at_every_moment_the_pair_that_signs_has_been_published_for_an_hour_and_will_be_for_two_days(
    ports: KeyPorts, clock: FakeClock
) -> None:
    """Over a year of deliveries, one every five hours; the first pair of all is nobody's second."""
    seen: dict[str, list[datetime]] = {}
    signed: dict[str, list[datetime]] = {}
    end = clock.now() + timedelta(days=365)
    while clock.now() < end:
        ring, now = current_ring(ports), clock.now()
        for key in published(ring, now):
            seen.setdefault(key.kid, []).append(now)
        signed.setdefault(signer(ring, now).kid, []).append(now)
        clock.sleep(5 * 3600)

    assert len(signed) == 5
    for kid, moments in list(signed.items())[1:-1]:
        assert moments[0] - seen[kid][0] >= POLICY.publish_ahead
        assert seen[kid][-1] - moments[-1] >= POLICY.publish_after - timedelta(hours=5)


def test_a_pair_lasts_ninety_days(ports: KeyPorts, clock: FakeClock) -> None:
    clock.sleep((POLICY.lasts - MOMENT).total_seconds())
    assert len(current_ring(ports).keys) == 1

    clock.sleep(MOMENT.total_seconds())
    ring = current_ring(ports)

    assert [key.kid for key in ring.keys] == ["kid-1", "kid-2"]
    assert signer(ring, clock.now()).kid == "kid-1"
    assert current_ring(ports) == ring


def test_a_pair_lasts_as_long_as_the_deployment_says(clock: FakeClock) -> None:
    ports = fake_keys(clock=clock, policy=replace(POLICY, lasts=timedelta(days=7)))
    current_ring(ports)

    clock.sleep(timedelta(days=7).total_seconds())

    assert len(current_ring(ports).keys) == 2


def test_rotating_again_before_the_next_pair_signs_adds_none(ports: KeyPorts, clock: FakeClock) -> None:
    ring = rotate(ports)
    clock.sleep((POLICY.publish_ahead - MOMENT).total_seconds())

    assert rotate(ports) == ring

    clock.sleep(MOMENT.total_seconds())
    assert [key.kid for key in rotate(ports).keys] == ["kid-1", "kid-2", "kid-3"]


def test_rotating_where_there_is_no_pair_makes_the_first() -> None:
    ports = fake_keys()

    (key,) = rotate(ports).keys

    assert (key.kid, key.signs_from) == ("kid-1", BEGIN)


def test_a_private_half_that_will_never_sign_again_is_kept_no_longer_than_the_next_change(
    ports: KeyPorts, clock: FakeClock
) -> None:
    for _ in range(2):
        rotate(ports)
        clock.sleep(POLICY.publish_ahead.total_seconds())

    assert [(key.kid, bool(key.sealed)) for key in standing(ports).keys] == [
        ("kid-1", False),
        ("kid-2", True),
        ("kid-3", True),
    ]


def test_a_retired_pair_is_forgotten_with_the_next_change(ports: KeyPorts, clock: FakeClock) -> None:
    rotate(ports)
    clock.sleep((POLICY.publish_ahead + POLICY.publish_after).total_seconds())

    assert [key.kid for key in rotate(ports).keys] == ["kid-2", "kid-3"]


def test_after_a_leak_a_new_pair_signs_as_soon_as_everybody_can_know_it(ports: KeyPorts) -> None:
    rotate(ports, leaked=True)

    assert shown(ports, BEGIN) == ["kid-1", "kid-2"]
    assert (signs(ports, BEGIN + SOONEST - MOMENT), signs(ports, BEGIN + SOONEST)) == ("kid-1", "kid-2")
    assert shown(ports, BEGIN + SOONEST + IN_FLIGHT) == ["kid-2"]
    assert timedelta(seconds=MAX_AGE) + READ_AGAIN <= SOONEST < POLICY.publish_ahead


def test_after_a_leak_no_earlier_pair_is_trusted_for_long_and_none_that_waits(
    ports: KeyPorts, clock: FakeClock
) -> None:
    rotate(ports)
    clock.sleep(POLICY.publish_ahead.total_seconds())
    rotate(ports)
    assert shown(ports, clock.now()) == ["kid-1", "kid-2", "kid-3"]

    rotate(ports, leaked=True)

    assert shown(ports, clock.now()) == ["kid-1", "kid-2", "kid-4"]
    assert shown(ports, clock.now() + SOONEST + IN_FLIGHT) == ["kid-4"]


def test_after_a_leak_a_pair_stays_published_with_which_somebody_may_sign_who_has_not_heard_of_it(
    ports: KeyPorts, clock: FakeClock
) -> None:
    known = rotate(ports)
    clock.sleep((POLICY.publish_ahead - timedelta(minutes=2)).total_seconds())

    rotate(ports, leaked=True)

    for _ in range(int(READ_AGAIN / timedelta(minutes=1))):
        assert signer(known, clock.now()).kid in shown(ports, clock.now())
        assert signs(ports, clock.now()) == signer(known, clock.now()).kid
        clock.sleep(60)
    clock.sleep(SOONEST.total_seconds())
    assert shown(ports, clock.now()) == ["kid-3"]


def test_a_leak_told_twice_leaves_a_pair_to_sign_at_every_moment(ports: KeyPorts, clock: FakeClock) -> None:
    rotate(ports, leaked=True)
    clock.sleep(60)
    rotate(ports, leaked=True)

    for _ in range(30):
        assert signs(ports, clock.now()) in shown(ports, clock.now())
        clock.sleep(60)
    assert shown(ports, clock.now()) == ["kid-3"]


class Overtaken(FakeSigningKeys):
    """A store in which somebody else acts between a reading and the next change."""

    meddlers: list[Callable[[], object]]

    def keep(self, ring: KeyRing, *, seen: KeyRing | None) -> KeyRing | None:
        while self.meddlers:
            self.meddlers.pop()()
        return super().keep(ring, seen=seen)


def overtaken(ports: KeyPorts, *meddlers: Callable[[], object]) -> KeyPorts:
    assert isinstance(ports.keys, FakeSigningKeys)
    keys = Overtaken(ports.keys.table)
    object.__setattr__(keys, "meddlers", list(meddlers))
    return replace(ports, keys=keys)


def test_who_comes_second_with_a_first_pair_takes_the_one_that_stands() -> None:
    ports = fake_keys()

    (key,) = current_ring(overtaken(ports, lambda: current_ring(ports))).keys

    assert key.kid == "kid-2"  # the meddler's: the other's is kid-1
    assert standing(ports).keys == (key,)


def test_two_who_rotate_at_once_add_one_pair(ports: KeyPorts) -> None:
    ring = rotate(overtaken(ports, lambda: rotate(ports)))

    assert ring == standing(ports)
    assert [key.kid for key in ring.keys] == ["kid-1", "kid-3"]


def test_a_leak_is_dealt_with_although_somebody_rotates_meanwhile(ports: KeyPorts) -> None:
    ring = rotate(overtaken(ports, lambda: rotate(ports)), leaked=True)

    assert [key.kid for key in ring.keys] == ["kid-1", "kid-2"]
    assert ring.keys[-1].signs_from == BEGIN + SOONEST


def test_a_ring_that_vanishes_meanwhile_begins_anew(ports: KeyPorts) -> None:
    assert isinstance(ports.keys, FakeSigningKeys)
    items = ports.keys.table.items

    ring = rotate(overtaken(ports, items.clear))

    assert [key.signs_from for key in ring.keys] == [BEGIN]


@dataclass
class Process:
    """Somebody who signs, going by the ring as it was up to five minutes ago."""

    ports: KeyPorts
    ring: KeyRing | None = None
    read_at: datetime = BEGIN

    def sign(self) -> str:
        now = self.ports.clock.now()
        if self.ring is None or now >= self.read_at + READ_AGAIN:
            self.ring, self.read_at = current_ring(self.ports), now
        return signer(self.ring, now).kid


MINUTES = st.sampled_from([0, 1, 2, 4, 6, 9, 11, 30, 58, 61, 60 * 24, 60 * 24 * 91])
STEPS = st.tuples(MINUTES, st.sampled_from(["sign", "sign", "sign", "rotate", "leak"]), st.integers(0, 2))


@given(st.lists(STEPS, max_size=40))
def test_whatever_happens_a_receiver_finds_the_key_it_needs(steps: list[tuple[int, str, int]]) -> None:
    """Also in a copy of the keys as they were five minutes before, and for as long as a request travels."""
    clock = FakeClock()
    ports = fake_keys(clock=clock)
    processes = [Process(ports) for _ in range(3)]
    first = processes[0].sign()
    history = [(BEGIN, standing(ports))]
    signed: list[tuple[datetime, str]] = []

    def shown_at(moment: datetime) -> set[str]:
        ring = next(ring for since, ring in reversed(history) if since <= moment)
        return {key.kid for key in published(ring, moment)}

    for minutes, what, who in steps:
        clock.sleep(60 * minutes)
        now = clock.now()
        if what == "sign":
            signed.append((now, processes[who].sign()))
        else:
            rotate(ports, leaked=what == "leak")
        history.append((now, standing(ports)))
    for moment, kid in signed:
        assert kid in shown_at(moment)
        assert kid in shown_at(moment + IN_FLIGHT - MOMENT)
        assert kid == first or kid in shown_at(moment - timedelta(seconds=MAX_AGE))
