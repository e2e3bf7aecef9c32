"""One turn of the skill: hear, plan, ask permission, change, follow, conclude.

The agent is called from its beginning after every answer and every checkpoint; what was done is in the
memory, and nothing that was done is done again. A change is begun in one place, `_begin`, after permission
and under a token that names the task and the step.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

from a2a_agents.iac.operations import following
from a2a_agents.iac.operations.diagnosis import failed, report
from a2a_agents.iac.operations.hearing import REPAIR, STACK, hear, parameters
from a2a_agents.iac.operations.memory import Memory, Ongoing, Plan
from a2a_agents.iac.operations.planning import Ends, Given, permission, planned
from a2a_agents.iac.operations.ros import (
    Change,
    NoSuchStackError,
    NotAuthorizedError,
    RefusedError,
    Ros,
    RosError,
    Stack,
    StackEvent,
    ThrottledError,
    UnreachableError,
)
from a2a_agents.iac.operations.shown import Shown
from a2a_agents.iac.operations.template import Template
from a2a_agents.iac.operations.wishes import ID, Action, UnreadableWishError, Wish
from a2a_serverless.agent import (
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Part,
    Rejected,
    Turn,
    Update,
    Working,
)

MOST_FAILURES = 20
"""Times in a row that ROS does not answer before a task gives up."""

AFTER_FAILURE = 30.0
"""Seconds until it is asked again."""

NOT_BEGUN_LOOKS = 3
"""Looks at a stack that is as it was before it counts as changed nevertheless."""

MISSING_CREDENTIALS = (
    "Alibaba Cloud cannot be asked: {}. Whoever runs this agent stores the credentials of a RAM user or role"
    ' as JSON, {{"accessKeyId": "…", "accessKeySecret": "…", "securityToken": "…, if temporary"}}, in the'
    " secret or parameter that IAC_ROS_CREDENTIALS names. Then send any message to this task, and it goes on."
    " Do not send credentials in a message."
)

ASKED = "ROS is asked to {} stack {} in {}. From here on, cancelling this task stops nothing there."

GOES_ON = (
    "ROS is at work on stack {} ({}), and goes on with it whatever becomes of this task; the stack stays as"
    " far as it has come."
)

Connect = Callable[[], Awaitable[Ros]]


async def operate(turn: Turn, connect: Connect, *, region: str = "") -> AsyncIterator[Update]:
    """One turn, whose outcome is the last update. `region` is meant where nobody names one."""
    memory = Memory.of(turn)
    work = _Work(turn, memory, region)
    outcome: Outcome = Completed()
    try:
        async with aclosing(work.updates(connect)) as updates:
            async for update in updates:
                yield update
    except Ends as end:
        outcome = end.outcome
    except UnreadableWishError as error:
        outcome = InputRequired(str(error))
    except NotAuthorizedError as error:
        outcome = AuthRequired(MISSING_CREDENTIALS.format(error))
    except (ThrottledError, UnreachableError) as error:
        outcome = await work.patience(error)
    except RefusedError as error:
        outcome = Failed(f"ROS refuses. {work.shown.text(str(error))}")
        memory.done()
    memory.save(turn)
    yield outcome


class _Work:
    def __init__(self, turn: Turn, memory: Memory, region: str) -> None:
        self._turn = turn
        self._memory = memory
        self._region = region
        self._given: list[tuple[str, str]] = []
        self._parameters: dict[str, str] = {}
        self._ros: Ros

    @property
    def shown(self) -> Shown:
        """Takes out of texts what was ever given for parameters, but for those that may be shown."""
        public = self._memory.plan.parameters if self._memory.plan else {}
        return Shown([value for name, value in self._given if name not in public])

    async def updates(self, connect: Connect) -> AsyncGenerator[Update, None]:
        """What the turn does until it ends."""
        memory = self._memory
        await hear(self._turn, memory)
        self._given = parameters(self._turn)
        self._parameters = dict(self._given)
        self._ros = await connect()
        # Loading the SDK takes what a short function may not have left for the work.
        await self._pause()
        if memory.ongoing is None and memory.plan is None:
            async for update in self._look():
                yield update
        if memory.ongoing is None and memory.plan is not None:
            async for update in self._change(memory.plan):
                yield update
        if memory.ongoing is not None:
            async for update in self._follow(memory.ongoing):
                yield update

    async def _pause(self) -> None:
        """A place to go on from."""
        self._memory.save(self._turn)
        await self._turn.checkpoint()

    async def patience(self, error: RosError) -> Outcome:
        """ROS does not answer: come back after a while, or give up after many."""
        memory = self._memory
        memory.failures += 1
        if memory.failures <= MOST_FAILURES:
            memory.save(self._turn)
            await self._turn.checkpoint(resume_after=AFTER_FAILURE)
        memory.failures = 0
        text = f"ROS cannot be asked: {error}."
        if memory.ongoing is not None:
            return Failed(f"{text} {GOES_ON.format(memory.ongoing.stack, memory.ongoing.stack_id)}")
        if memory.allowed:
            return Failed(f"{text} Whether the change was begun is not known: look at the stack first.")
        return Failed(f"{text} Nothing was changed.")

    # What there is ----------------------------------------------------------------------------------------

    async def _look(self) -> AsyncGenerator[Update, None]:
        """Answer what changes nothing; of what does, make a plan."""
        memory = self._memory
        action = memory.wish.action
        if action is None:
            raise Ends(
                InputRequired(
                    "What is to be done: create, update, continue, delete, follow or diagnose a stack, or"
                    " list the stacks of a region?"
                )
            )
        region = self._where()
        if action is Action.LIST:
            yield _listing(region, await self._ros.stacks(region))
            memory.done()
            return
        name = self._which(action)
        stack = await self._find(region, name)
        memory.stack = stack.name if stack else name
        action = self._meant(action, region, name, stack)
        if memory.ongoing is not None and stack is not None:
            yield Working(f"Stack {stack.name} is {stack.status}. It is followed; nothing is begun anew.")
        if stack is None and action is not Action.CREATE:
            memory.wish = memory.wish.model_copy(update={"stack": None})
            raise self._asking(STACK, f"There is no stack {name} in {region}. Which one is meant?")
        if stack is not None and action is Action.DIAGNOSE:
            yield await self._diagnosis(stack)
            memory.done()
            raise Ends(Completed(f"Stack {stack.name} is {stack.status}."))
        if memory.ongoing is None and stack is not None and action is Action.FOLLOW:
            memory.ongoing = _ongoing(action, stack)
        if memory.ongoing is None:
            memory.step += 1
            memory.plan = await self._planned(action, region, name, stack)
            yield Working(memory.plan.effect)

    def _where(self) -> str:
        """The region: as said, as said before in this conversation, or as configured."""
        region = self._memory.region or self._region
        if not region:
            raise Ends(InputRequired("In which region? For example cn-hangzhou."))
        return region

    def _which(self, action: Action) -> str:
        """The stack; looking at one may mean the one that was talked about last, changing one never does."""
        name = self._memory.wish.stack
        if name is None and action in (Action.FOLLOW, Action.DIAGNOSE, Action.CONTINUE):
            name = self._memory.stack or None
        if name is None:
            what = "How is the stack to be called?" if action is Action.CREATE else "Which stack is meant?"
            raise self._asking(STACK, what)
        return name

    async def _find(self, region: str, name: str) -> Stack | None:
        if not ID.fullmatch(name):
            return await self._ros.find(region, name)
        try:
            stack = await self._ros.stack(region, name)
        except NoSuchStackError:
            return None
        return None if stack.deleted else stack

    def _meant(self, action: Action, region: str, name: str, stack: Stack | None) -> Action:
        """What to do with the stack as it is: what another task of this conversation began is taken up."""
        memory, earlier = self._memory, self._memory.earlier
        ours = (
            earlier is not None
            and earlier.action is Action.CREATE
            and (earlier.region, earlier.stack) == (region, name)
        )
        if action is Action.CONTINUE and stack is None and earlier is not None and ours:
            memory.wish = Wish(template=earlier.template).and_then(memory.wish)
            self._parameters = {**earlier.parameters, **self._parameters}
            return Action.CREATE
        if action is Action.CONTINUE and stack is not None and stack.status != "CREATE_FAILED":
            memory.ongoing = _ongoing(Action.CREATE if ours else Action.FOLLOW, stack)
        if action is Action.CREATE and stack is not None:
            if not ours:
                memory.wish = memory.wish.model_copy(update={"stack": None})
                raise self._asking(
                    STACK,
                    f"There is a stack {name} in {region} already ({stack.status}); it was not touched. Which"
                    " other name is the new one to have? Or say: update, continue or delete it.",
                )
            memory.ongoing = _ongoing(Action.CREATE, stack)
        return action

    def _asking(self, about: str, text: str) -> Ends:
        self._memory.asked = about
        return Ends(InputRequired(text))

    # The plan ---------------------------------------------------------------------------------------------

    async def _planned(self, action: Action, region: str, name: str, stack: Stack | None) -> Plan:
        memory, wish = self._memory, self._memory.wish
        if stack is not None and stack.in_progress:
            memory.done()
            raise Ends(
                Rejected(f"Stack {name} is {stack.status}: ROS does one thing at a time. It was not touched.")
            )
        template = await self._template(wish.template)
        if action is Action.CREATE and template is None:
            raise Ends(
                InputRequired(
                    "Which template? Send it, or name a file of this conversation (file:///name.yaml)."
                )
            )
        if action is Action.UPDATE and template is None and not self._parameters:
            raise Ends(
                InputRequired("What is to be changed? Send the new template, or parameters as NAME=VALUE.")
            )
        own = None
        if template is None and stack is not None and action is not Action.DELETE:
            own = Template("the stack's own", await self._ros.template(region, stack.stack_id))
        resumed = memory.earlier if action is Action.CREATE else None
        again = resumed is not None and (resumed.region, resumed.stack) == (region, name)
        return await planned(
            self._ros,
            Given(
                action=action,
                region=region,
                name=stack.name if stack else name,
                token=resumed.token if resumed is not None and again else memory.token(),
                stack=stack,
                template=template,
                own=own,
                parameters=self._parameters,
                retain=wish.retain,
                timeout_minutes=wish.timeout_minutes or 60,
            ),
        )

    async def _template(self, name: str | None) -> Template | None:
        if name is None:
            return None
        try:
            return Template(name, (await self._turn.workspace.read(name)).decode())
        except (FileNotFoundError, ValueError):
            self._memory.wish = self._memory.wish.model_copy(update={"template": None})
            raise Ends(
                InputRequired(f"This conversation has no template {name!r}. Send it, or name another file.")
            ) from None

    # The change -------------------------------------------------------------------------------------------

    async def _change(self, plan: Plan) -> AsyncGenerator[Update, None]:
        """Ask permission for the plan, have ROS begin, and come back later to see what becomes of it."""
        memory = self._memory
        if memory.allowed != plan.token:
            memory.save(self._turn)
            if not await self._turn.ask_permission(permission(plan)):
                memory.done()
                raise Ends(Rejected(f"Not allowed: nothing was changed on stack {plan.stack}."))
            memory.allowed = plan.token
        change = await self._asked_for(plan)
        yield Working(ASKED.format(plan.action.value, plan.stack, plan.region))
        ongoing = await self._begin(plan, change)
        memory.ongoing, memory.failures = ongoing, 0
        yield Working(GOES_ON.format(ongoing.stack, ongoing.stack_id))
        memory.save(self._turn)
        await self._turn.checkpoint(resume_after=following.next_look(ongoing))

    async def _asked_for(self, plan: Plan) -> Change:
        """The change that was permitted, and no other."""
        template = await self._template(plan.template)
        if template is None and plan.digest and plan.action is Action.UPDATE:
            template = Template("the stack's own", await self._ros.template(plan.region, plan.stack_id))
        if template is not None and template.digest != plan.digest:
            self._forget_plan()
            raise Ends(
                InputRequired(
                    "The template has changed since it was asked for. Say again what is to be done."
                )
            )
        missing = [name for name in plan.secrets if name not in self._parameters]
        if missing:
            self._forget_plan()
            raise Ends(InputRequired(f"Please give these again, they are not kept: {', '.join(missing)}."))
        secrets = {name: self._parameters[name] for name in plan.secrets}
        return Change(
            region=plan.region,
            template=template.text if template else None,
            parameters={**plan.parameters, **secrets},
            token=plan.token,
            timeout_minutes=plan.timeout_minutes,
            retain=plan.retain,
        )

    async def _begin(self, plan: Plan, change: Change) -> Ongoing:
        """Have ROS begin. What may have been begun before, its answer lost, is not begun twice."""
        ros = self._ros
        ongoing = Ongoing(
            action=plan.action,
            region=plan.region,
            stack=plan.stack,
            stack_id=plan.stack_id,
            before=plan.before,
            since=plan.before.partition(" ")[2],
        )
        if plan.action is Action.CREATE:
            self._memory.tried = True
            ongoing.stack_id = await ros.create_stack(plan.stack, change)
            return ongoing
        changed = await self._changed_since(plan)
        if changed and not self._memory.tried:
            self._forget_plan()
            raise Ends(
                InputRequired(
                    f"Stack {plan.stack} has changed since it was asked for. Say again what is to be done."
                )
            )
        following.news(ongoing, await self._events(ongoing))
        self._memory.tried = True
        if plan.action is Action.UPDATE:
            await ros.update_stack(plan.stack_id, change)
        elif not changed:
            asks = ros.continue_create_stack if plan.action is Action.CONTINUE else ros.delete_stack
            await asks(plan.stack_id, change)
        return ongoing

    def _forget_plan(self) -> None:
        self._memory.plan, self._memory.allowed, self._memory.tried = None, "", False

    async def _changed_since(self, plan: Plan) -> bool:
        """Whether the stack is another than it was: somebody else's doing, or ours, its answer lost."""
        try:
            stack = await self._ros.stack(plan.region, plan.stack_id)
        except NoSuchStackError:
            return True
        return f"{stack.status} {stack.updated_at}" != plan.before

    # What becomes of it -----------------------------------------------------------------------------------

    async def _follow(self, ongoing: Ongoing) -> AsyncGenerator[Update, None]:
        """Tell what has happened since the last look; look again later, or conclude."""
        memory = self._memory
        try:
            stack = await self._ros.stack(ongoing.region, ongoing.stack_id)
            events = await self._events(ongoing)
        except NoSuchStackError:
            memory.done()
            if ongoing.action is Action.DELETE:
                raise Ends(Completed(f"Stack {ongoing.stack} is deleted.")) from None
            raise Ends(Failed(f"Stack {ongoing.stack} is gone: somebody has deleted it.")) from None
        fresh = following.news(ongoing, events)
        if fresh:
            yield Working(self.shown.text(following.told(fresh)))
        ongoing.polls += 1
        memory.failures = 0
        as_it_was = f"{stack.status} {stack.updated_at}" == ongoing.before
        if stack.in_progress or (as_it_was and ongoing.polls <= NOT_BEGUN_LOOKS):
            if ongoing.polls > following.MOST_LOOKS:
                memory.done()
                raise Ends(
                    Failed(f"Stack {stack.name} is still {stack.status}. ROS goes on; ask again later.")
                )
            memory.save(self._turn)
            await self._turn.checkpoint(resume_after=following.next_look(ongoing))
        async for update in self._conclude(ongoing, stack):
            yield update

    async def _events(self, ongoing: Ongoing) -> Sequence[StackEvent]:
        return await self._ros.events(ongoing.region, ongoing.stack_id, ongoing.since)

    async def _conclude(self, ongoing: Ongoing, stack: Stack) -> AsyncGenerator[Update, None]:
        memory = self._memory
        if stack.deleted:
            memory.done()
            raise Ends(Completed(f"Stack {stack.name} is deleted."))
        if not stack.status.endswith("_FAILED") and "ROLLBACK" not in stack.status:
            yield await self._result(stack)
            memory.done()
            raise Ends(Completed(f"Stack {stack.name} is {stack.status}."))
        yield await self._diagnosis(stack)
        text = f"Stack {stack.name} is {stack.status}."
        if stack.reason:
            text += f" {self.shown.text(stack.reason)}"
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

    async def _result(self, stack: Stack) -> Update:
        """The stack as an artifact."""
        text = await self._ros.template(stack.region, stack.stack_id) if stack.outputs else ""
        told = {
            "stackId": stack.stack_id,
            "stackName": stack.name,
            "regionId": stack.region,
            "status": stack.status,
            "outputs": self.shown.outputs(stack, Template("the stack's own", text)),
        }
        part = Part(data=told, media_type="application/json")
        return ArtifactChunk(
            f"stack-{stack.name}"[:128],
            parts=[part],
            name=f"Stack {stack.name}",
            append=False,
            last_chunk=True,
        )

    async def _diagnosis(self, stack: Stack) -> Update:
        """Why it is as it is, as an artifact."""
        events = await self._ros.events(stack.region, stack.stack_id)
        resources = await self._ros.resources(stack.region, stack.stack_id)
        culprits = [one.name for one in failed(events, resources)]
        return ArtifactChunk(
            f"diagnosis-{stack.name}"[:128],
            self.shown.text(report(stack, events, resources)),
            name=f"Diagnosis of stack {stack.name}",
            description=f"Failed: {', '.join(culprits)}" if culprits else None,
            media_type="text/markdown",
            append=False,
            last_chunk=True,
        )


def _ongoing(action: Action, stack: Stack) -> Ongoing:
    return Ongoing(action=action, region=stack.region, stack=stack.name, stack_id=stack.stack_id)


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
