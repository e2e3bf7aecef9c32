"""Executions of turns: started once under their name, described, stopped."""

from time import monotonic

from a2a_serverless.ports import TurnKey
from tests.integration.ports.world import World


def turn(world: World, number: int = 1) -> TurnKey:
    """A turn that no other test has."""
    return TurnKey(world.task(f"t-{world.owner}"), number)


def ends(world: World, which: TurnKey) -> bool:
    """Whether the turn's execution ends soon: what is said about one lags behind what was done to it."""
    deadline = monotonic() + 20
    while world.executions.describe(which) != "ended":
        if monotonic() > deadline:
            return False
    return True


def test_a_turn_that_was_never_started_is_unknown(world: World) -> None:
    assert world.executions.describe(turn(world)) is None


def test_a_started_turn_runs(world: World) -> None:
    world.executions.start(turn(world))

    assert world.executions.describe(turn(world)) == "running"
    assert world.executions.describe(turn(world, 2)) is None
    world.executions.stop(turn(world), "The test is over.")


def test_a_stopped_turn_has_ended_and_is_not_started_again(world: World) -> None:
    world.executions.start(turn(world))

    world.executions.stop(turn(world), "The task was canceled.")
    assert ends(world, turn(world))

    world.executions.start(turn(world))
    assert world.executions.describe(turn(world)) == "ended"


def test_starting_a_running_turn_again_changes_nothing(world: World) -> None:
    world.executions.start(turn(world))

    world.executions.start(turn(world))

    assert world.executions.describe(turn(world)) == "running"
    world.executions.stop(turn(world), "The test is over.")


def test_stopping_a_turn_that_does_not_run_is_silent(world: World) -> None:
    world.executions.stop(turn(world), "It was never started.")
    assert world.executions.describe(turn(world)) is None

    world.executions.start(turn(world, 2))
    world.executions.stop(turn(world, 2), "The task was canceled.")
    world.executions.stop(turn(world, 2), "The task was canceled.")
    assert ends(world, turn(world, 2))
