"""What becomes of a stack: told on the way, and in the end as its outputs, or as why it failed."""

from collections.abc import AsyncGenerator

from a2a_agents.iac.operations import following
from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.case import Case
from a2a_agents.iac.operations.diagnosis import failed, report
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.hearing import REPAIR
from a2a_agents.iac.operations.memory import Ongoing
from a2a_agents.iac.operations.ros import NoSuchStackError, Stack
from a2a_serverless.agent import ArtifactChunk, Completed, Failed, InputRequired, Part, Update, Working

NOT_BEGUN_LOOKS = 3
"""Looks at a stack that is as it was before it counts as changed nevertheless."""


async def follow(case: Case, ongoing: Ongoing) -> AsyncGenerator[Update, None]:
    """Tell what has happened since the last look; look again later, or conclude."""
    memory = case.memory
    try:
        stack = await case.ros.stack(ongoing.region, ongoing.stack_id)
        events = await case.ros.events(ongoing.region, ongoing.stack_id, ongoing.since)
    except NoSuchStackError:
        memory.done()
        yield stack_artifact(ongoing.stack, ongoing.stack_id, ongoing.region, status="DELETE_COMPLETE")
        if ongoing.action is Action.DELETE:
            raise Ends(Completed(f"Stack {ongoing.stack} is deleted.")) from None
        raise Ends(Failed(f"Stack {ongoing.stack} is gone: somebody has deleted it.")) from None
    fresh = following.news(ongoing, events)
    if fresh:
        yield Working(case.shown.text(following.told(fresh)))
    ongoing.polls += 1
    memory.failures = 0
    as_it_was = f"{stack.status} {stack.updated_at}" == ongoing.before
    if stack.in_progress or (as_it_was and ongoing.polls <= NOT_BEGUN_LOOKS):
        if ongoing.polls > following.MOST_LOOKS:
            memory.done()
            raise Ends(Failed(f"Stack {stack.name} is still {stack.status}. ROS goes on; ask again later."))
        await case.pause(following.next_look(ongoing))
    async for update in _conclude(case, ongoing, stack):
        yield update


async def _conclude(case: Case, ongoing: Ongoing, stack: Stack) -> AsyncGenerator[Update, None]:
    memory = case.memory
    yield await _result(case, stack)
    if stack.deleted:
        memory.done()
        raise Ends(Completed(f"Stack {stack.name} is deleted."))
    if not stack.status.endswith("_FAILED") and "ROLLBACK" not in stack.status:
        memory.done()
        raise Ends(Completed(f"Stack {stack.name} is {stack.status}."))
    yield await diagnosis(case, stack)
    text = f"Stack {stack.name} is {stack.status}."
    if stack.reason:
        text += f" {case.shown.text(stack.reason)}"
    memory.done()
    if ongoing.action in (Action.CREATE, Action.CONTINUE) and stack.status == "CREATE_FAILED":
        memory.asked = REPAIR
        raise Ends(
            InputRequired(
                f"{text} What was created stays. Shall its creation be continued? Send a corrected"
                " template or parameters with the answer if need be. Or say: delete it, or leave it."
            )
        )
    raise Ends(Completed(text) if ongoing.action is Action.FOLLOW else Failed(text))


def stack_artifact(name: str, stack_id: str, region: str, **told: object) -> ArtifactChunk:
    """A stack as an artifact, which the next one replaces; it stays when a task is cancelled."""
    data = {"stackId": stack_id, "stackName": name, "regionId": region, **told}
    return ArtifactChunk(
        f"stack-{name}"[:128],
        parts=[Part(data=data, media_type="application/json")],
        name=f"Stack {name}",
        append=False,
        last_chunk=True,
    )


async def _result(case: Case, stack: Stack) -> Update:
    """The stack as it is in the end."""
    if stack.deleted or not stack.outputs:
        return stack_artifact(stack.name, stack.stack_id, stack.region, status=stack.status)
    outputs = case.shown.outputs(stack, await case.own_template(stack))
    return stack_artifact(stack.name, stack.stack_id, stack.region, status=stack.status, outputs=outputs)


async def diagnosis(case: Case, stack: Stack) -> Update:
    """Why it is as it is, as an artifact."""
    events = await case.ros.events(stack.region, stack.stack_id)
    resources = await case.ros.resources(stack.region, stack.stack_id)
    culprits = [one.name for one in failed(events, resources)]
    return ArtifactChunk(
        f"diagnosis-{stack.name}"[:128],
        case.shown.text(report(stack, events, resources)),
        name=f"Diagnosis of stack {stack.name}",
        description=f"Failed: {', '.join(culprits)}" if culprits else None,
        media_type="text/markdown",
        append=False,
        last_chunk=True,
    )
