"""Changing a stack: with permission, as it was permitted, and once however often the turn comes here."""

from collections.abc import AsyncGenerator

from a2a_agents.iac.operations import following
from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.case import OWN, Case
from a2a_agents.iac.operations.concluding import stack_artifact
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.memory import Ongoing, Plan
from a2a_agents.iac.operations.planning import permission
from a2a_agents.iac.operations.ros import Change, NoSuchStackError
from a2a_agents.iac.operations.template import Template
from a2a_serverless.agent import InputRequired, Rejected, Update, Working

ASKED = "ROS is asked to {} stack {} in {}. From here on, cancelling this task stops nothing there."

GOES_ON = (
    "ROS is at work on stack {} ({}), and goes on with it whatever becomes of this task; the stack stays as"
    " far as it has come."
)


async def change(case: Case, plan: Plan) -> AsyncGenerator[Update, None]:
    """Ask permission for the plan, have ROS begin, and come back later to see what becomes of it."""
    memory = case.memory
    if memory.allowed != plan.token:
        memory.save(case.turn)
        if not await case.turn.ask_permission(permission(plan)):
            memory.done()
            raise Ends(Rejected(f"Not allowed: nothing was changed on stack {plan.stack}."))
        memory.allowed = plan.token
    asked = await _asked_for(case, plan)
    note = ASKED.format(plan.action.value, plan.stack, plan.region)
    yield Working(note)
    yield stack_artifact(plan.stack, plan.stack_id, plan.region, note=note)
    ongoing = await _begin(case, plan, asked)
    memory.ongoing, memory.failures = ongoing, 0
    note = GOES_ON.format(ongoing.stack, ongoing.stack_id)
    yield Working(note)
    yield stack_artifact(plan.stack, ongoing.stack_id, plan.region, note=note)
    await case.pause(following.next_look(ongoing))


async def _asked_for(case: Case, plan: Plan) -> Change:
    """The change that was permitted, and no other."""
    template = await case.template(plan.template)
    if template is None and plan.digest and plan.action is Action.UPDATE:
        template = Template(OWN, await case.ros.template(plan.region, plan.stack_id))
    if template is not None and template.digest != plan.digest:
        _forget_plan(case)
        raise Ends(
            InputRequired("The template has changed since it was asked for. Say again what is to be done.")
        )
    missing = [name for name in plan.secrets if name not in case.parameters]
    if missing:
        _forget_plan(case)
        raise Ends(InputRequired(f"Please give these again, they are not kept: {', '.join(missing)}."))
    secrets = {name: case.parameters[name] for name in plan.secrets}
    return Change(
        region=plan.region,
        template=template.text if template else None,
        parameters={**plan.parameters, **secrets},
        token=plan.token,
        timeout_minutes=plan.timeout_minutes,
        retain=plan.retain,
    )


async def _begin(case: Case, plan: Plan, change: Change) -> Ongoing:
    """Have ROS begin. What may have been begun before, its answer lost, is not begun twice."""
    ros = case.ros
    ongoing = Ongoing(
        action=plan.action,
        region=plan.region,
        stack=plan.stack,
        stack_id=plan.stack_id,
        before=plan.before,
        since=plan.before.partition(" ")[2],
    )
    if plan.action is Action.CREATE:
        case.memory.tried = True
        ongoing.stack_id = await ros.create_stack(plan.stack, change)
        return ongoing
    changed = await _changed_since(case, plan)
    if changed and not case.memory.tried:
        _forget_plan(case)
        raise Ends(
            InputRequired(
                f"Stack {plan.stack} has changed since it was asked for. Say again what is to be done."
            )
        )
    following.news(ongoing, await ros.events(plan.region, plan.stack_id, ongoing.since))
    case.memory.tried = True
    if plan.action is Action.UPDATE:
        await ros.update_stack(plan.stack_id, change)
    elif not changed:
        asks = ros.continue_create_stack if plan.action is Action.CONTINUE else ros.delete_stack
        await asks(plan.stack_id, change)
    return ongoing


def _forget_plan(case: Case) -> None:
    case.memory.plan, case.memory.allowed, case.memory.tried = None, "", False


async def _changed_since(case: Case, plan: Plan) -> bool:
    """Whether the stack is another than it was: somebody else's doing, or ours, its answer lost."""
    try:
        stack = await case.ros.stack(plan.region, plan.stack_id)
    except NoSuchStackError:
        return True
    return f"{stack.status} {stack.updated_at}" != plan.before
