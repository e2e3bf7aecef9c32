"""Rows of contexts: taken from the holder that was seen, settled by the one that holds."""

from dataclasses import replace

from a2a_serverless.ports import ContextKey, ContextRow
from tests.integration.ports.samples import LIFETIME, expires, holder
from tests.integration.ports.world import TENANT, World


def context(world: World, context_id: str = "c-1") -> ContextKey:
    """The key of one of the owner's contexts."""
    return ContextKey(TENANT, world.owner, context_id)


def taken(world: World, *, seen: ContextRow, row: ContextRow, until: int | None = None) -> ContextRow:
    """Take the context."""
    return world.contexts.take(context(world), seen=seen, taken=row, expires=until or expires(world))


def test_a_context_remembers_its_workspace_and_its_earlier_tasks_until_another_has_it(
    world: World,
) -> None:
    row = ContextRow(holder(world), "state/1", frozenset({"t-2"}), "shop", ("t-0", "t-1"))

    assert taken(world, seen=ContextRow(), row=row) == row
    world.contexts.settle(context(world), holder(world), state="state/2", waits=False)
    assert world.contexts.read(context(world)) == replace(row, state="state/2")
    after = ContextRow(holder(world, "t-9"), "state/2")
    assert taken(world, seen=row, row=after) == after


def test_an_unknown_context_has_an_empty_row(world: World) -> None:
    assert world.contexts.read(context(world)) == ContextRow()


def test_a_free_context_is_taken(world: World) -> None:
    row = ContextRow(holder(world), "state/1", frozenset({"t-2", "t-3"}))

    assert taken(world, seen=ContextRow(), row=row) == row
    assert world.contexts.read(context(world)) == row


def test_a_context_is_taken_over_from_the_holder_seen(world: World) -> None:
    first = taken(
        world, seen=ContextRow(), row=ContextRow(holder(world, "t-1"), "state/1", frozenset({"t-0"}))
    )
    second = ContextRow(holder(world, "t-2"))

    assert taken(world, seen=first, row=second) == second
    assert world.contexts.read(context(world)) == second


def test_a_context_is_not_taken_over_from_another_holder(world: World) -> None:
    first = taken(world, seen=ContextRow(), row=ContextRow(holder(world, "t-1")))

    assert taken(world, seen=ContextRow(), row=ContextRow(holder(world, "t-2"))) == first
    assert (
        taken(world, seen=ContextRow(holder(world, "t-1", turn=2)), row=ContextRow(holder(world, "t-2")))
        == first
    )
    assert world.contexts.read(context(world)) == first


def test_a_repeated_take_reads_as_taken(world: World) -> None:
    mine = ContextRow(holder(world), "state/1")
    taken(world, seen=ContextRow(), row=mine)

    assert taken(world, seen=ContextRow(), row=mine) == mine


def test_the_holder_records_how_its_turn_ended(world: World) -> None:
    row = taken(world, seen=ContextRow(), row=ContextRow(holder(world), "state/1", frozenset({"t-0"})))

    world.contexts.settle(context(world), holder(world), state="state/2", waits=True)
    waits = replace(row, state="state/2", waiting=frozenset({"t-0", "t-1"}))
    assert world.contexts.read(context(world)) == waits

    world.contexts.settle(context(world), holder(world), state=None, waits=False)
    assert world.contexts.read(context(world)) == replace(waits, waiting=frozenset({"t-0"}))


def test_the_last_waiting_task_may_leave_and_another_come(world: World) -> None:
    row = taken(world, seen=ContextRow(), row=ContextRow(holder(world)))

    for waits in (False, True, True, False, False):
        world.contexts.settle(context(world), holder(world), state=None, waits=waits)
        expected = frozenset({"t-1"}) if waits else frozenset()
        assert world.contexts.read(context(world)) == replace(row, waiting=expected)


def test_who_was_replaced_records_nothing(world: World) -> None:
    first = taken(world, seen=ContextRow(), row=ContextRow(holder(world, "t-1")))
    second = taken(world, seen=first, row=ContextRow(holder(world, "t-2")))

    world.contexts.settle(context(world), holder(world, "t-1"), state="zombie", waits=True)
    world.contexts.settle(context(world), holder(world, "t-2", turn=7), state="zombie", waits=True)

    assert world.contexts.read(context(world)) == second


def test_settling_an_unknown_context_makes_no_row(world: World) -> None:
    world.contexts.settle(context(world), holder(world), state="state/1", waits=True)

    assert world.contexts.read(context(world)) == ContextRow()


def test_an_expired_row_is_absent_and_may_be_replaced(world: World) -> None:
    first = taken(world, seen=ContextRow(), row=ContextRow(holder(world), "state/1", frozenset({"t-0"})))
    world.clock.sleep(LIFETIME)
    assert world.contexts.read(context(world)) == ContextRow()
    assert taken(world, seen=first, row=ContextRow(holder(world, "t-2"))) == ContextRow()
    second = ContextRow(holder(world, "t-2"))

    assert taken(world, seen=ContextRow(), row=second) == second
    assert world.contexts.read(context(world)) == second


def test_a_row_lives_as_long_as_the_longest_lived_task_that_held_it(world: World) -> None:
    young, old = holder(world, "young"), holder(world, "old")
    later, sooner = expires(world) + LIFETIME, expires(world)
    first = taken(world, seen=ContextRow(), row=ContextRow(young), until=later)

    second = taken(world, seen=first, row=ContextRow(old, "state/1"), until=sooner)
    assert second == ContextRow(old, "state/1")

    world.clock.sleep(LIFETIME)
    assert world.contexts.read(context(world)) == second


def test_contexts_of_others_are_others(world: World) -> None:
    taken(world, seen=ContextRow(), row=ContextRow(holder(world)))

    assert world.contexts.read(ContextKey("other", world.owner, "c-1")) == ContextRow()
    assert world.contexts.read(ContextKey(TENANT, "", f"{world.owner}#c-1")) == ContextRow()
