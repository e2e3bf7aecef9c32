"""How a turn ends for whoever called: the exit status, and the command lines that go on from there."""

from typing import NoReturn

from a2a_serverless.cli.connecting import Agent, command
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import note, shown
from a2a_serverless.cli.turns import Turn
from a2a_serverless.cli.wording import permission_in, said, state_of
from a2a_serverless.protocol.objects import Task, TaskState
from a2a_serverless.tasks.lifecycle import TERMINAL, WAITING

ENDED = {
    TaskState.COMPLETED: Exit.DONE,
    TaskState.FAILED: Exit.NOT_COMPLETED,
    TaskState.REJECTED: Exit.NOT_COMPLETED,
    TaskState.CANCELED: Exit.NOT_COMPLETED,
    TaskState.INPUT_REQUIRED: Exit.INPUT_REQUIRED,
    TaskState.AUTH_REQUIRED: Exit.AUTH_REQUIRED,
}


def ended(turn: Turn) -> int:
    """The exit status of where the task stands, with what may be done next.

    Raises:
        Failure: it was not completed.
    """
    session, task = turn.session, turn.task
    if task is None:
        return Exit.DONE
    status = ENDED.get(task.status.state)
    if status is Exit.NOT_COMPLETED:
        why = said(task.status.message)
        text = f"the task {'has ' if task.status.state is TaskState.FAILED else 'was '}{state_of(task)}"
        raise Failure(status, f"{text}: {why}" if why else text)
    if session.calling.as_json:
        return Exit.DONE if status is None else status
    note(shown(f"task {task.id}: {state_of(task)}"))
    for hint in _hints(turn.agent, task):
        note(f"hint: {hint}")
    if status is None and session.wait:
        return Exit.STILL_WORKING
    return Exit.DONE if status is None else status


def _hints(agent: Agent, task: Task) -> list[str]:
    """Command lines for what may be done with the task now."""
    match task.status.state:
        case TaskState.INPUT_REQUIRED if permission_in(task) is not None:
            return [command("call", agent, "--task", task.id, answer) for answer in ("--allow", "--deny")]
        case TaskState.INPUT_REQUIRED:
            return [answering(agent, task)]
        case TaskState.AUTH_REQUIRED:
            # Agents that do not learn that it is done are told.
            return [answering(agent, task), command("task subscribe", agent, task.id, "--until-ended")]
        case TaskState.COMPLETED:
            return []
    return [command("task subscribe", agent, task.id)]


def answering(agent: Agent, task: Task) -> str:
    """The command line that says something to a task which waits."""
    return f'{command("call", agent, "--task", task.id)} "…"'


def left(turn: Turn) -> NoReturn:
    """Whoever interrupts leaves the task at work, unless it was to be canceled.

    Raises:
        Failure: always, with how it goes on.
    """
    agent, task = turn.agent, turn.task
    if task is None:
        text = "the agent has not said that it took the message"
        hint = f"sent again with --message-id {turn.message_id} it counts once"
        raise Failure(Exit.INTERRUPTED, text, hint)
    name, state = shown(task.id), task.status.state
    if state in TERMINAL:
        raise Failure(Exit.INTERRUPTED, f"task {name}: {state_of(task)}", command("task get", agent, task.id))
    hint = _hints(agent, task)[0]
    if turn.session.cancel:
        try:
            canceled = agent.run(_canceled(agent, task.id))
        except (Failure, KeyboardInterrupt) as error:
            text = f"task {name} may go on{f': {error}' if str(error) else ''}"
            raise Failure(Exit.INTERRUPTED, text, hint) from error
        raise Failure(Exit.INTERRUPTED, f"task {name}: {state_of(canceled)}")
    raise Failure(Exit.INTERRUPTED, f"task {name} {'waits' if state in WAITING else 'goes on'}", hint)


async def _canceled(agent: Agent, task_id: str) -> Task:
    async with agent.client() as client:
        return await client.cancel_task(task_id)


def too_long(turn: Turn, seconds: float) -> Failure:
    """Whoever has waited long enough leaves the task at work, too."""
    agent = turn.agent
    if turn.task_id is None:
        hint = f"sent again with --message-id {turn.message_id} it counts once"
        return Failure(Exit.STILL_WORKING, f"{agent.typed} has not answered in {seconds:g} s", hint)
    hint = command("task subscribe", agent, turn.task_id)
    return Failure(Exit.STILL_WORKING, f"the task goes on after {seconds:g} s", hint)
