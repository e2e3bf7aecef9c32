"""The ring of signing keys: made once, replaced by whoever saw it last, agreed on by all."""

import sys
from collections.abc import Iterator

import pytest

from a2a_serverless.adapters.dynamodb_signing_keys import DynamoSigningKeys
from a2a_serverless.adapters.dynamodb_table import DynamoTable
from a2a_serverless.operations.signing_keys import current_ring, rotate
from a2a_serverless.ports.signing_keys import KeyPorts, KeyRing, SigningKey, SigningKeys
from tests.fakes.ports import FakeClock
from tests.fakes.signing import FakeKeyPairs, FakeSigningKeys, fake_keys
from tests.fakes.table import FakeTable
from tests.integration.ports.samples import THREADS, all_at_once
from tests.integration.ports.world import StoredWorld, World

CENTURY = 100 * 366 * 86_400


@pytest.fixture
def keys(world: World) -> SigningKeys:
    """The ring of each implementation, for a purpose that nobody else has."""
    if isinstance(world, StoredWorld):
        return stored_keys(world)
    return FakeSigningKeys(FakeTable(world.clock), world.owner)


@pytest.fixture
def _eager_threads() -> Iterator[None]:
    """Threads that interrupt each other as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def stored_keys(world: StoredWorld) -> DynamoSigningKeys:
    table = DynamoTable(world.backend.dynamodb, world.backend.table, world.clock)
    return DynamoSigningKeys(table, world.owner)


def ring(version: int, *names: str) -> KeyRing:
    """A ring of that version with pairs of these names, all but the last of which retire."""
    now = FakeClock().now()
    return KeyRing(
        version=version,
        keys=tuple(
            SigningKey(
                kid=name,
                x=f"x-{name}",
                y=f"y-{name}",
                created=now,
                signs_from=now,
                retires=None if name == names[-1] else now,
                sealed=f"sealed-{name}" * 40,
            )
            for name in names
        ),
    )


def test_before_the_first_there_is_no_ring(keys: SigningKeys) -> None:
    assert keys.read() is None


def test_a_ring_is_read_as_it_was_kept(keys: SigningKeys) -> None:
    assert keys.keep(ring(1, "a"), seen=None) == ring(1, "a")
    assert keys.read() == ring(1, "a")

    assert keys.keep(ring(2, "a", "b"), seen=ring(1, "a")) == ring(2, "a", "b")
    assert keys.read() == ring(2, "a", "b")


def test_a_first_ring_stays_the_first(keys: SigningKeys) -> None:
    keys.keep(ring(1, "a"), seen=None)

    assert keys.keep(ring(1, "b"), seen=None) == ring(1, "a")
    assert keys.read() == ring(1, "a")


def test_a_ring_that_was_changed_meanwhile_is_not_replaced(keys: SigningKeys) -> None:
    keys.keep(ring(1, "a"), seen=None)
    keys.keep(ring(2, "a", "b"), seen=ring(1, "a"))

    assert keys.keep(ring(2, "a", "c"), seen=ring(1, "a")) == ring(2, "a", "b")
    assert keys.read() == ring(2, "a", "b")


def test_a_ring_that_is_gone_is_not_replaced(keys: SigningKeys) -> None:
    assert keys.keep(ring(2, "a", "b"), seen=ring(1, "a")) is None
    assert keys.read() is None


def test_a_ring_does_not_expire(world: World, keys: SigningKeys) -> None:
    keys.keep(ring(1, "a"), seen=None)

    world.clock.sleep(CENTURY)

    assert keys.read() == ring(1, "a")
    assert keys.keep(ring(1, "b"), seen=None) == ring(1, "a")


@pytest.mark.usefixtures("_eager_threads")
def test_all_who_need_a_first_pair_at_once_agree_on_one(world: World, keys: SigningKeys) -> None:
    starting = process(world, keys)

    rings = all_at_once(lambda _: current_ring(starting))

    assert rings == [keys.read()] * THREADS
    assert [len(each.keys) for each in rings] == [1] * THREADS


@pytest.mark.usefixtures("_eager_threads")
def test_all_who_rotate_at_once_agree_on_the_next_pair(world: World, keys: SigningKeys) -> None:
    rotating = process(world, keys)
    current_ring(rotating)

    rings = all_at_once(lambda _: rotate(rotating))

    assert rings == [keys.read()] * THREADS
    assert [len(each.keys) for each in rings] == [2] * THREADS


@pytest.mark.usefixtures("_eager_threads")
def test_every_leak_that_is_told_at_once_is_dealt_with(world: World, keys: SigningKeys) -> None:
    rotating = process(world, keys)
    (first,) = current_ring(rotating).keys

    rings = all_at_once(lambda _: rotate(rotating, leaked=True))

    assert len({each.keys[-1].kid for each in rings}) == THREADS
    standing = keys.read()
    assert standing is not None
    assert standing.version == 1 + THREADS
    assert [key.kid for key in standing.keys[:-1]] == [first.kid]


def process(world: World, keys: SigningKeys) -> KeyPorts:
    return fake_keys(keys=keys, clock=world.clock, pairs=FakeKeyPairs())


def test_a_change_whose_answer_was_lost_is_known_as_ones_own(stored: StoredWorld) -> None:
    keys = stored_keys(stored)
    with stored.losing_the_answer_of("PutItem"):
        assert keys.keep(ring(1, "a"), seen=None) == ring(1, "a")
    with stored.losing_the_answer_of("PutItem"):
        assert keys.keep(ring(2, "a", "b"), seen=ring(1, "a")) == ring(2, "a", "b")

    assert keys.read() == ring(2, "a", "b")


def test_the_ring_lies_where_the_documentation_says(stored: StoredWorld) -> None:
    table = DynamoTable(stored.backend.dynamodb, stored.backend.table, stored.clock)
    ports = fake_keys(keys=DynamoSigningKeys(table), clock=stored.clock)

    made = current_ring(ports)

    place = {"pk": {"S": "KEYS#webhooks"}, "sk": {"S": "HEAD"}}
    item = stored.backend.dynamodb.get_item(TableName=stored.backend.table, Key=place)["Item"]
    assert item.keys() == {"pk", "sk", "version", "expires", "body"}
    assert item["version"] == {"N": "1"}
    assert KeyRing.model_validate_json(item["body"]["S"]) == made
