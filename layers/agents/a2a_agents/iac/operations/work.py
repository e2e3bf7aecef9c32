"""One turn of the skill: hear, look, ask permission, change, follow.

The agent is called from its beginning after every answer and every checkpoint; what was done is in the
memory, and nothing that was done is done again.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from a2a_agents.iac.operations.case import Case, shown
from a2a_agents.iac.operations.changing import GOES_ON, change
from a2a_agents.iac.operations.concluding import follow
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.hearing import hear, parameters
from a2a_agents.iac.operations.looking import look
from a2a_agents.iac.operations.memory import Memory
from a2a_agents.iac.operations.ros import (
    NotAuthorizedError,
    RefusedError,
    Ros,
    RosError,
    ThrottledError,
    UnreachableError,
)
from a2a_agents.iac.operations.wishes import UnreadableWishError
from a2a_serverless.agent import (
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Turn,
    Update,
    Working,
)

MOST_FAILURES = 20
"""Times in a row that ROS does not answer before a task gives up."""

AFTER_FAILURE = 30.0
"""Seconds until it is asked again."""

ASKED_AGAIN = "It is asked again every half a minute, for ten minutes."

MISSING_CREDENTIALS = (
    "Alibaba Cloud cannot be asked: {}. Whoever runs this agent stores the credentials of a RAM user or role"
    ' as JSON, {{"accessKeyId": "…", "accessKeySecret": "…", "securityToken": "…, if temporary"}}, in the'
    " secret or parameter that IAC_ROS_CREDENTIALS names. Then send any message to this task, and it goes on."
    " Do not send credentials in a message."
)

Connect = Callable[[], Awaitable[Ros]]


async def operate(turn: Turn, connect: Connect, *, region: str = "") -> AsyncIterator[Update]:
    """One turn, whose outcome is the last update. `region` is meant where nobody names one."""
    memory = Memory.of(turn)
    outcome: Outcome = Completed()
    try:
        async with aclosing(_steps(turn, memory, connect, region)) as updates:
            async for update in updates:
                yield update
    except Ends as end:
        outcome = end.outcome
    except UnreadableWishError as error:
        outcome = InputRequired(str(error))
    except NotAuthorizedError as error:
        outcome = AuthRequired(MISSING_CREDENTIALS.format(error))
    except (ThrottledError, UnreachableError) as error:
        if memory.failures == 0:
            yield Working(f"ROS cannot be asked: {error}. {ASKED_AGAIN}")
        outcome = await _patience(turn, memory, error)
    except RefusedError as error:
        outcome = Failed(f"ROS refuses. {shown(memory, parameters(turn)).text(str(error))}")
        memory.done()
    memory.save(turn)
    yield outcome


async def _steps(turn: Turn, memory: Memory, connect: Connect, region: str) -> AsyncGenerator[Update, None]:
    """What the turn does until it ends."""
    await hear(turn, memory)
    case = Case(turn, memory, await connect(), region, parameters(turn))
    await case.pause()
    if memory.ongoing is None and memory.plan is None:
        async for update in look(case):
            yield update
    if memory.ongoing is None and memory.plan is not None:
        async for update in change(case, memory.plan):
            yield update
    if memory.ongoing is not None:
        async for update in follow(case, memory.ongoing):
            yield update


async def _patience(turn: Turn, memory: Memory, error: RosError) -> Outcome:
    """ROS does not answer: come back after a while, or give up after many."""
    memory.failures += 1
    if memory.failures <= MOST_FAILURES:
        memory.save(turn)
        await turn.checkpoint(resume_after=AFTER_FAILURE)
    memory.failures = 0
    text = f"ROS cannot be asked: {error}."
    if memory.ongoing is not None:
        return Failed(f"{text} {GOES_ON.format(memory.ongoing.stack, memory.ongoing.stack_id)}")
    if memory.tried:
        return Failed(f"{text} Whether the change was begun is not known: look at the stack first.")
    return Failed(f"{text} Nothing was changed.")
