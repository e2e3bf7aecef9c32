"""`a2a-serverless task get|list|cancel`: tasks as people read them, and as the protocol has them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from a2a_serverless.cli.agent_choice import chosen_agent
from a2a_serverless.cli.calling_options import Calling
from a2a_serverless.cli.connecting import Agent, command, connected
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import moment, note, print_json, print_table, shown
from a2a_serverless.cli.saving import save
from a2a_serverless.cli.wording import of_part, said, state_of, title_of, words_of
from a2a_serverless.protocol.objects import Role, Task, TaskState
from a2a_serverless.protocol.requests import ListTasksResponse

LONGEST_WORDS = 60
"""Characters of what a task says last, in a list."""


class Filter(NamedTuple):
    """Which tasks are listed, as it was typed."""

    context_id: str | None
    state: str | None
    since: str | None
    page_size: int | None
    page_token: str | None
    artifacts: bool


def get_task(
    calling: Calling, address: str | None, name: str, *, history: int | None, out: str | None
) -> None:
    """Print a task.

    Raises:
        Failure: there is none, or the agent cannot be called.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def got() -> tuple[Task, list[Path]]:
        async with agent.client() as client:
            task = await client.get_task(name, history_length=0 if history is None else history)
            return task, await save(client, task.artifacts, Path(out)) if out is not None else []

    task, saved = agent.run(got())
    if calling.as_json:
        print_json({**task.to_dict(), **({"saved": list(map(str, saved))} if out is not None else {})})
        return
    for line in _described(task):
        print(line)
    for path in saved:
        print(f"saved {path}")


def list_tasks(calling: Calling, address: str | None, wanted: Filter) -> None:
    """Print a page of the caller's tasks.

    Raises:
        Failure: the filter makes no sense, or the agent cannot be called.
    """
    state = _state(wanted.state) if wanted.state else None
    since = _time(wanted.since) if wanted.since else None
    agent = connected(calling, chosen_agent(calling, address))

    async def listed() -> ListTasksResponse:
        async with agent.client() as client:
            return await client.list_tasks(
                context_id=wanted.context_id,
                status=state,
                page_size=wanted.page_size,
                page_token=wanted.page_token,
                status_timestamp_after=since,
                include_artifacts=wanted.artifacts or None,
            )

    page = agent.run(listed())
    if calling.as_json:
        print_json(page.to_dict())
        return
    if page.tasks:
        print_table(["task", "state", "context", "since", "said last"], [_row(task) for task in page.tasks])
    print(_summary(page))
    if page.next_page_token:
        note(f"hint: the next page is {_next(agent, wanted, page.next_page_token)}")


def cancel_task(calling: Calling, address: str | None, name: str) -> None:
    """Cancel a task and print how it stands then.

    Raises:
        Failure: there is none, it has ended, or the agent cannot be called.
    """
    agent = connected(calling, chosen_agent(calling, address))

    async def canceled() -> Task:
        async with agent.client() as client:
            return await client.cancel_task(name)

    task = agent.run(canceled())
    if calling.as_json:
        print_json(task.to_dict())
    else:
        print(shown(f"task {task.id}: {state_of(task)}"))


def _described(task: Task) -> Iterator[str]:
    """A task, its messages and artifacts, for people."""
    since = f" since {moment(task.status.timestamp)}" if task.status.timestamp else ""
    yield shown(f"task     {task.id}")
    yield shown(f"context  {task.context_id or ''}".rstrip())
    yield shown(f"state    {state_of(task)}{since}")
    if task.status.message is not None:
        yield f"\n{words_of(task.status)}"
    for artifact in task.artifacts:
        yield f"\n# {title_of(artifact)}"
        yield from (of_part(part).removesuffix("\n") for part in artifact.parts)
    for message in task.history:
        yield f"\n{'you' if message.role is Role.USER else 'agent'}: {said(message)}"


def _row(task: Task) -> list[str]:
    words = " ".join(words_of(task.status).split())
    short = words if len(words) <= LONGEST_WORDS else words[:LONGEST_WORDS].rstrip() + " …"
    return [task.id, state_of(task), task.context_id or "", moment(task.status.timestamp), short]


def _summary(page: ListTasksResponse) -> str:
    if not page.tasks:
        return "No task."
    if len(page.tasks) == page.total_size:
        return "1 task." if page.total_size == 1 else f"All {page.total_size:,} tasks."
    return f"{len(page.tasks):,} of {page.total_size:,} tasks."


def _next(agent: Agent, wanted: Filter, token: str) -> str:
    """The command line for the next page, to be used as it is."""
    given = {
        "--context": wanted.context_id,
        "--state": wanted.state,
        "--since": wanted.since,
        "--page-size": wanted.page_size,
        "--page-token": token,
    }
    options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return command("task list", agent, *options)


def _state(text: str) -> TaskState:
    """A state by its name, however it is written."""
    written = text.upper().replace("-", "_").removeprefix("TASK_STATE_")
    if written not in TaskState.__members__:
        names = ", ".join(name.lower().replace("_", "-") for name in TaskState.__members__)
        raise Failure(Exit.USAGE, f"{text!r} is no state of a task", f"there are {names}")
    return TaskState[written]


def _time(text: str) -> datetime:
    """A moment; without a zone it is in UTC."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise Failure(Exit.USAGE, f"{text!r} is no time", "such as 2026-11-30T12:00:00Z") from error
