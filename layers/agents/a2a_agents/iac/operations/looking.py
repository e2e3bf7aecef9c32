"""Looking at what there is: answers what changes nothing, and makes a plan of what does.

Here it is decided what a wish means for a stack as it is, and what another task of the conversation left.
"""

from collections.abc import AsyncGenerator, Sequence

from a2a_agents.iac.operations.actions import Action
from a2a_agents.iac.operations.case import Case
from a2a_agents.iac.operations.concluding import diagnosis
from a2a_agents.iac.operations.endings import Ends
from a2a_agents.iac.operations.hearing import STACK
from a2a_agents.iac.operations.memory import Ongoing, Plan
from a2a_agents.iac.operations.planning import Given, planned
from a2a_agents.iac.operations.ros import NoSuchStackError, Stack
from a2a_agents.iac.operations.wishes import Wish
from a2a_agents.iac.operations.words import ID
from a2a_serverless.agent import ArtifactChunk, Completed, InputRequired, Rejected, Update, Working


async def look(case: Case) -> AsyncGenerator[Update, None]:
    """Answer what changes nothing; of what does, make a plan."""
    memory = case.memory
    action = memory.wish.action
    if action is None:
        raise Ends(
            InputRequired(
                "What is to be done: create, update, continue, delete, follow or diagnose a stack, or"
                " list the stacks of a region?"
            )
        )
    region = _where(case)
    if action is Action.LIST:
        yield _listing(region, await case.ros.stacks(region))
        memory.done()
        return
    name = _which(case, action)
    stack = await _find(case, region, name)
    memory.stack = stack.name if stack else name
    action = _meant(case, action, region, name, stack)
    if memory.ongoing is not None and stack is not None:
        yield Working(f"Stack {stack.name} is {stack.status}. It is followed; nothing is begun anew.")
    if stack is None and action is not Action.CREATE:
        memory.wish = memory.wish.model_copy(update={"stack": None})
        raise case.asking(STACK, f"There is no stack {name} in {region}. Which one is meant?")
    if stack is not None and action is Action.DIAGNOSE:
        yield await diagnosis(case, stack)
        memory.done()
        raise Ends(Completed(f"Stack {stack.name} is {stack.status}."))
    if memory.ongoing is None and stack is not None and action is Action.FOLLOW:
        memory.ongoing = followed(action, stack)
    if memory.ongoing is None:
        memory.step += 1
        memory.plan = await _planned(case, action, region, name, stack)
        yield Working(memory.plan.effect)


def _where(case: Case) -> str:
    """The region: as said, as said before in this conversation, or as configured."""
    region = case.memory.region or case.region
    if not region:
        raise Ends(InputRequired("In which region? For example cn-hangzhou."))
    return region


def _which(case: Case, action: Action) -> str:
    """The stack; looking at one may mean the one that was talked about last, changing one never does."""
    name = case.memory.wish.stack
    if name is None and action in (Action.FOLLOW, Action.DIAGNOSE, Action.CONTINUE):
        name = case.memory.stack or None
    if name is None:
        what = "How is the stack to be called?" if action is Action.CREATE else "Which stack is meant?"
        raise case.asking(STACK, what)
    return name


async def _find(case: Case, region: str, name: str) -> Stack | None:
    if not ID.fullmatch(name):
        return await case.ros.find(region, name)
    try:
        stack = await case.ros.stack(region, name)
    except NoSuchStackError:
        return None
    return None if stack.deleted else stack


def _meant(case: Case, action: Action, region: str, name: str, stack: Stack | None) -> Action:
    """What to do with the stack as it is: what another task of this conversation began is taken up."""
    memory, earlier = case.memory, case.memory.earlier
    ours = (
        earlier is not None
        and earlier.action is Action.CREATE
        and (earlier.region, earlier.stack) == (region, name)
    )
    if action is Action.CONTINUE and stack is None and earlier is not None and ours:
        memory.wish = Wish(template=earlier.template).and_then(memory.wish)
        case.parameters = {**earlier.parameters, **case.parameters}
        return Action.CREATE
    if action is Action.CONTINUE and stack is not None and stack.status != "CREATE_FAILED":
        memory.ongoing = followed(Action.CREATE if ours else Action.FOLLOW, stack)
    if action is Action.CREATE and stack is not None:
        if not ours:
            memory.wish = memory.wish.model_copy(update={"stack": None})
            raise case.asking(
                STACK,
                f"There is a stack {name} in {region} already ({stack.status}); it was not touched. Which"
                " other name is the new one to have? Or say: update, continue or delete it.",
            )
        memory.ongoing = followed(Action.CREATE, stack)
    return action


def _asking(case: Case, about: str, text: str) -> Ends:
    case.memory.asked = about
    return Ends(InputRequired(text))


async def _planned(case: Case, action: Action, region: str, name: str, stack: Stack | None) -> Plan:
    memory, wish = case.memory, case.memory.wish
    if stack is not None and stack.in_progress:
        memory.done()
        raise Ends(
            Rejected(f"Stack {name} is {stack.status}: ROS does one thing at a time. It was not touched.")
        )
    template = await case.template(wish.template)
    if action is Action.CREATE and template is None:
        raise Ends(
            InputRequired("Which template? Send it, or name a file of this conversation (file:///name.yaml).")
        )
    if action is Action.UPDATE and template is None and not case.parameters:
        raise Ends(
            InputRequired("What is to be changed? Send the new template, or parameters as NAME=VALUE.")
        )
    own = None
    if template is None and stack is not None and action is not Action.DELETE:
        own = await case.own_template(stack)
    resumed = memory.earlier if action is Action.CREATE else None
    again = resumed is not None and (resumed.region, resumed.stack) == (region, name)
    return await planned(
        case.ros,
        Given(
            action=action,
            region=region,
            name=stack.name if stack else name,
            token=resumed.token if resumed is not None and again else memory.token(),
            stack=stack,
            template=template,
            own=own,
            parameters=case.parameters,
            retain=wish.retain,
            timeout_minutes=wish.timeout_minutes or 60,
        ),
    )


def _listing(region: str, stacks: Sequence[Stack]) -> Update:
    lines = [f"# Stacks in {region}", ""]
    if stacks:
        lines += ["| stack | status | since (UTC) | id |", "|---|---|---|---|"]
        lines += [f"| {one.name} | {one.status} | {one.updated_at} | `{one.stack_id}` |" for one in stacks]
    else:
        lines.append("There are none.")
    text = "\n".join(lines) + "\n"
    return ArtifactChunk(
        "stacks", text, name=f"Stacks in {region}", media_type="text/markdown", append=False, last_chunk=True
    )


def followed(action: Action, stack: Stack) -> Ongoing:
    """A stack that is only followed from here on."""
    return Ongoing(action=action, region=stack.region, stack=stack.name, stack_id=stack.stack_id)
