"""Admission records: created once, closed or withdrawn only by who knows where they go."""

from a2a_serverless.ports import AdmissionStatus, Due
from tests.integration.ports.samples import LIFETIME, admission, admission_key
from tests.integration.ports.world import World

DONE = {"status": AdmissionStatus.DONE}


def test_a_message_without_a_record_has_none(world: World) -> None:
    assert world.admissions.read(admission_key(world)) is None


def test_an_opened_record_is_read_back(world: World) -> None:
    record = admission(world, text="é\0")

    assert world.admissions.open(record) == record
    assert world.admissions.read(admission_key(world)) == record


def test_the_first_record_stands(world: World) -> None:
    first = world.admissions.open(admission(world, task_id="first"))

    assert world.admissions.open(admission(world, task_id="second")) == first
    assert world.admissions.read(admission_key(world)) == first


def test_a_record_id_may_hold_any_character(world: World) -> None:
    names = ["=m#1", "=m%231", "=m 1", "=é\0\N{SNOWMAN}", "=" + "\N{CRAB}" * 256, "~m#1"]
    for name in names:
        world.admissions.open(admission(world, name, task_id=f"for {name}"))

    for name in names:
        record = world.admissions.read(admission_key(world, name))
        assert record is not None
        assert record.task_id == f"for {name}"


def test_a_closed_record_is_done_and_no_longer_due(world: World) -> None:
    record = world.admissions.open(admission(world))
    entry = Due(admission_key(world), record.due_at)
    assert entry in world.due.due(record.due_at, 1000)

    world.admissions.close(record)
    world.admissions.close(record)

    assert world.admissions.read(admission_key(world)) == record.model_copy(update=DONE)
    assert entry not in world.due.due(record.due_at, 1000)


def test_a_record_is_closed_only_for_the_place_it_names(world: World) -> None:
    record = world.admissions.open(admission(world))

    world.admissions.close(record.model_copy(update={"task_id": "other"}))
    world.admissions.close(record.model_copy(update={"position": 2}))

    assert world.admissions.read(admission_key(world)) == record


def test_a_withdrawn_record_is_gone(world: World) -> None:
    record = world.admissions.open(admission(world))

    world.admissions.withdraw(record)
    world.admissions.withdraw(record)

    assert world.admissions.read(admission_key(world)) is None
    assert world.admissions.open(admission(world, task_id="again")).task_id == "again"


def test_a_record_is_withdrawn_only_while_pending_and_for_the_place_it_names(world: World) -> None:
    record = world.admissions.open(admission(world))

    world.admissions.withdraw(record.model_copy(update={"task_id": "other"}))
    world.admissions.withdraw(record.model_copy(update={"position": 2}))
    assert world.admissions.read(admission_key(world)) == record

    world.admissions.close(record)
    world.admissions.withdraw(record)
    assert world.admissions.read(admission_key(world)) == record.model_copy(update=DONE)


def test_closing_a_record_that_is_not_there_makes_none(world: World) -> None:
    world.admissions.close(admission(world))

    assert world.admissions.read(admission_key(world)) is None


def test_an_expired_record_is_absent_and_may_be_replaced(world: World) -> None:
    first = world.admissions.open(admission(world, task_id="first"))
    world.clock.sleep(LIFETIME)
    assert world.admissions.read(admission_key(world)) is None
    assert Due(admission_key(world), first.due_at) not in world.due.due(world.clock.now(), 1000)

    second = admission(world, task_id="second")

    assert world.admissions.open(second) == second
    assert world.admissions.read(admission_key(world)) == second


def test_a_record_too_big_for_one_item_is_read_back(world: World) -> None:
    record = admission(world, text="é" * 250_000)

    assert world.admissions.open(record) == record
    assert world.admissions.open(admission(world, task_id="second")) == record
    world.admissions.close(record)
    assert world.admissions.read(admission_key(world)) == record.model_copy(update=DONE)
