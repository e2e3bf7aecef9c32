"""How a turn that goes on waits for its next invocation: by which name it ends this one, and for how long.

The state machine comes back on three names, after a second, half a minute, and five minutes. It comes back
8,000 times and no more, so a turn is woken the more rarely the older it is, unless it has only run out of
time. A turn that asked to be woken is called no sooner: an invocation that is early waits, here if it is for
seconds.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from a2a_serverless.ports import Ports, TurnKey
from a2a_serverless.tasks.fold import LoggedTask

WAITED_HERE, WAITING_SHARE = 10.0, 0.3
"""Seconds that an invocation that came early waits for, and at most what share of its time."""

PATIENCE = ((timedelta(days=1), 300.0), (timedelta(hours=1), 30.0))
"""From which age a turn that asks to be woken waits at least how many seconds."""


class TurnContinues(Exception):
    """The turn goes on in another invocation at once; the state machine retries on this name."""


class TurnWaits(Exception):
    """The turn goes on in about half a minute."""


class TurnWaitsLong(Exception):
    """The turn goes on in about five minutes."""


def coming_back_in(seconds: float) -> TurnContinues | TurnWaits | TurnWaitsLong:
    """How the state machine comes back in about so many seconds."""
    if seconds > 120:  # noqa: PLR2004  halfway between the waits the state machine knows
        return TurnWaitsLong()
    return TurnWaits() if seconds > 10 else TurnContinues()  # noqa: PLR2004  as above


def waits(ports: Ports, key: TurnKey, task: LoggedTask, asked: float) -> float:
    """Seconds that the turn waits when its agent asked to be woken in so many; 0 for at once."""
    if asked <= 0:
        return 0.0
    began = task.record_of(key.turn).received_at
    age = ports.clock.now() - began if began else timedelta(0)
    least = next((seconds for old, seconds in PATIENCE if age >= old), 0.0)
    return max(least, min(asked, ports.policy.retention.total_seconds()))


def wait_until(ports: Ports, moment: datetime | None, remaining: Callable[[], float]) -> bool:
    """Wait here when the moment is seconds away; returns whether anything was waited for.

    Raises:
        TurnContinues, TurnWaits, TurnWaitsLong: it is further away than this invocation waits.
    """
    early = (moment - ports.clock.now()).total_seconds() if moment else 0.0
    if early <= 0:
        return False
    if early > min(WAITED_HERE, remaining() * WAITING_SHARE):
        raise coming_back_in(early)
    ports.clock.sleep(early)
    return True
