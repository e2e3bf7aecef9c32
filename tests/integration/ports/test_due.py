"""What falls due: found by its moment, oldest first, whatever kind it is."""

from datetime import UTC, datetime, timedelta

from a2a_serverless.ports import Due
from tests.integration.ports.samples import LIFETIME, admission, admission_key, head
from tests.integration.ports.world import World

LONG_AGO = datetime(1971, 1, 1, tzinfo=UTC)
"""Before anything that other tests leave behind."""


def test_entries_due_at_or_before_the_moment_come_oldest_first(world: World) -> None:
    moments = [LONG_AGO + timedelta(milliseconds=number) for number in range(12)]
    for number, moment in enumerate(moments):
        world.tasks.write_head(world.task(f"t-{number}"), head(world, due_at=moment))

    oldest_first = [Due(world.task(f"t-{number}"), moment) for number, moment in enumerate(moments)]
    assert list(world.due.due(moments[9], 100)) == oldest_first[:10]
    assert list(world.due.due(moments[11], 4)) == oldest_first[:4]
    assert list(world.due.due(LONG_AGO - timedelta(milliseconds=1), 100)) == []
    for number in range(len(moments)):
        world.tasks.write_head(world.task(f"t-{number}"), head(world, 2))
    assert list(world.due.due(moments[11], 100)) == []


def test_a_pending_admission_is_named_by_its_key(world: World) -> None:
    record = admission(world, "=m#1%23 é").model_copy(update={"due_at": LONG_AGO})
    world.admissions.open(record)

    assert list(world.due.due(LONG_AGO, 100)) == [Due(admission_key(world, "=m#1%23 é"), LONG_AGO)]
    world.admissions.withdraw(record)
    assert list(world.due.due(LONG_AGO, 100)) == []


def test_what_has_expired_is_not_due(world: World) -> None:
    world.tasks.write_head(world.task(), head(world, due_at=LONG_AGO))
    assert list(world.due.due(LONG_AGO, 100)) == [Due(world.task(), LONG_AGO)]

    world.clock.sleep(LIFETIME)

    assert list(world.due.due(LONG_AGO, 100)) == []
    world.tasks.write_head(world.task(), head(world))
