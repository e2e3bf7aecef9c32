"""Answers may get lost: the SDK then repeats a write that took effect; a batch may be answered in part."""

from datetime import timedelta

import pytest

from a2a_serverless.adapters.dynamodb_table import UnansweredKeysError
from a2a_serverless.ports import AdmissionStatus, ContextKey, ContextRow, Due, TaskQuery
from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.log import LoggedEvent
from tests.integration.ports.samples import (
    admission,
    admission_key,
    chunk,
    dies,
    expires,
    head,
    holder,
    hooked,
    received,
    registration,
    write,
)
from tests.integration.ports.world import TENANT, StoredWorld


def test_an_append_whose_answer_was_lost_has_succeeded(stored: StoredWorld) -> None:
    event = LoggedEvent(1, "mine", expires(stored), received(stored))

    with stored.losing_the_answer_of("PutItem"):
        stored.tasks.append(stored.task(), event)

    assert list(stored.tasks.events_after(stored.task(), 0, 10)) == [event]


def test_an_admission_whose_answer_was_lost_stands(stored: StoredWorld) -> None:
    with stored.losing_the_answer_of("PutItem"):
        record = stored.admissions.open(admission(stored, task_id="mine"))

    assert record.task_id == "mine"
    with stored.losing_the_answer_of("UpdateItem"):
        stored.admissions.close(record)
    closed = stored.admissions.read(admission_key(stored))
    assert closed == record.model_copy(update={"status": AdmissionStatus.DONE})


def test_a_context_taken_with_a_lost_answer_is_mine(stored: StoredWorld) -> None:
    key = ContextKey(TENANT, stored.owner, "c-1")
    mine = ContextRow(holder(stored), "state/1")

    with stored.losing_the_answer_of("UpdateItem"):
        row = stored.contexts.take(key, seen=ContextRow(), taken=mine, expires=expires(stored))

    assert row == mine


def test_a_head_written_with_a_lost_answer_stands(stored: StoredWorld) -> None:
    with stored.losing_the_answer_of("UpdateItem"):
        stored.tasks.write_head(stored.task(), head(stored, 3, TaskState.WORKING, snapshot=2))

    page = stored.tasks.find(TaskQuery(TENANT, stored.owner, frozenset({TaskState.WORKING})))
    assert [task_id for _, task_id in page.found] == ["t-1"]


def test_a_streams_place_taken_with_a_lost_answer_is_mine_and_the_only_one(stored: StoredWorld) -> None:
    until = stored.clock.now() + timedelta(minutes=5)

    with stored.losing_the_answer_of("UpdateItem"):
        mine = stored.streams.open(TENANT, stored.owner, most=2, until=until)

    assert mine is not None
    assert stored.streams.open(TENANT, stored.owner, most=2, until=until) is not None
    assert stored.streams.open(TENANT, stored.owner, most=2, until=until) is None
    with stored.losing_the_answer_of("UpdateItem"):
        stored.streams.close(mine)
    again = stored.streams.open(TENANT, stored.owner, most=2, until=until)
    assert again is not None
    assert again.place == mine.place


def test_a_webhook_counted_with_a_lost_answer_is_counted_once(stored: StoredWorld) -> None:
    moment = stored.clock.now() + timedelta(minutes=1)
    for due_at in (None, moment + timedelta(minutes=1)):
        stored.tasks.write_head(stored.task(), head(stored, due_at=due_at))

        with stored.losing_the_answer_of("UpdateItem"):
            assert stored.webhooks.reserve(stored.webhook(), most=1, due_at=moment)

        assert stored.webhooks.ids(stored.task()) == {"w-1"}
        stored.webhooks.delete(stored.webhook())


def test_a_webhook_put_with_a_lost_answer_stands(stored: StoredWorld) -> None:
    with stored.losing_the_answer_of("UpdateItem"):
        put = stored.webhooks.put(stored.webhook(), registration(), cursor=3, expires=expires(stored))

    assert put == stored.webhooks.read(stored.webhook())
    assert put.cursor == 3


def test_a_lease_taken_with_a_lost_answer_is_mine(stored: StoredWorld) -> None:
    key = hooked(stored).key

    with stored.losing_the_answer_of("UpdateItem"):
        mine = stored.webhooks.lease(key, "mine", until=stored.clock.now() + timedelta(seconds=30))

    assert mine is not None
    assert mine.held_by("mine")


def test_whoever_delivers_stays_known_when_an_answer_is_lost(stored: StoredWorld) -> None:
    """An answer lost on the way is repeated by the SDK: the first attempt must not look like another's."""
    key, now = hooked(stored).key, stored.clock.now()
    assert stored.webhooks.lease(key, "mine", until=now + timedelta(seconds=30))

    with stored.losing_the_answer_of("UpdateItem"):
        assert stored.webhooks.advance(key, "mine", 5, until=now + timedelta(seconds=40))
    with stored.losing_the_answer_of("UpdateItem"):
        assert stored.webhooks.advance(key, "mine", 6, until=None)
    with stored.losing_the_answer_of("UpdateItem"):
        assert stored.webhooks.put_off(key, "mine", not_before=now, attempts=1, failing_since=now)
    with stored.losing_the_answer_of("UpdateItem"):
        assert dies(stored, key, "mine", now)
    with stored.losing_the_answer_of("UpdateItem"):
        assert stored.webhooks.revive(key)

    standing = stored.webhooks.read(key)
    assert standing is not None
    assert (standing.cursor, standing.lease, standing.died_at, standing.reason) == (6, None, None, None)


def test_a_webhook_deleted_with_a_lost_answer_is_gone(stored: StoredWorld) -> None:
    key = hooked(stored).key

    with stored.losing_the_answer_of("DeleteItem"), stored.losing_the_answer_of("UpdateItem"):
        stored.webhooks.delete(key)

    assert stored.webhooks.read(key) is None
    assert stored.webhooks.ids(key.task) == frozenset()


def test_a_head_with_webhooks_written_with_a_lost_answer_stays_due(stored: StoredWorld) -> None:
    hooked(stored)
    moment = stored.clock.now() + timedelta(minutes=1)
    settled = head(stored, 2, TaskState.COMPLETED, webhooks_due_at=moment)

    with stored.losing_the_answer_of("UpdateItem"):
        stored.tasks.write_head(stored.task(), settled)

    assert Due(stored.task(), moment) in stored.due.due(moment, 1000)


def test_a_silence_told_with_a_lost_answer_counts_once(stored: StoredWorld) -> None:
    hosts, host = stored.hosts(), f"{stored.owner}.example"

    for _ in range(2):
        stored.clock.sleep(5)
        with stored.losing_the_answer_of("PutItem"):
            hosts.was_silent(host)

    assert stored.hosts().silent_until(host) is None
    stored.clock.sleep(5)
    hosts.was_silent(host)
    assert stored.hosts().silent_until(host) == stored.clock.now() + timedelta(seconds=30)


def test_who_is_to_try_a_silent_host_learns_so_when_the_answer_was_lost(stored: StoredWorld) -> None:
    hosts, host = stored.hosts(), f"{stored.owner}.example"
    for _ in range(3):
        stored.clock.sleep(5)
        hosts.was_silent(host)
    stored.clock.sleep(30)

    with stored.losing_the_answer_of("PutItem"):
        assert hosts.silent_until(host) is None

    assert stored.hosts().silent_until(host) is not None
    with stored.losing_the_answer_of("PutItem"):
        hosts.answered(host)
    assert stored.hosts().silent_until(host) is None


def test_keys_left_unprocessed_are_asked_for_again_and_never_taken_for_holes(stored: StoredWorld) -> None:
    write(stored, stored.task(), received(stored), *(chunk(str(number)) for number in range(9)))
    stored.tasks.write_head(stored.task(), head(stored, 10))
    begun = stored.clock.now()

    with stored.leaving_keys_unprocessed(2, kept=4) as asked:
        assert stored.tasks.load(stored.task()).position == 10
    assert asked == [10, 6, 2]
    assert stored.clock.now() == begun

    with stored.leaving_keys_unprocessed(2, kept=0) as asked:
        assert len(stored.tasks.events_after(stored.task(), 1, 5)) == 5
    assert asked == [4, 4, 4]
    assert stored.clock.now() > begun


def test_keys_that_nobody_answers_for_are_an_error(stored: StoredWorld) -> None:
    write(stored, stored.task(), received(stored), chunk("a"))

    with stored.leaving_keys_unprocessed(100, kept=0), pytest.raises(UnansweredKeysError):
        stored.tasks.load(stored.task(), about=2)
