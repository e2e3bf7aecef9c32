"""`a2a-serverless call`: something is said, what comes of it is shown, and a question is answered."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from a2a_serverless.cli.agent_choice import chosen_agent
from a2a_serverless.cli.asking import Answer, asked_on_terminal, is_interactive
from a2a_serverless.cli.connecting import command, connected
from a2a_serverless.cli.endings import ended, left, too_long
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import note
from a2a_serverless.cli.saving import save
from a2a_serverless.cli.saying import Said, Saying, read_saying
from a2a_serverless.cli.turns import Session, Turn
from a2a_serverless.cli.wording import of_artifacts, question_of, said
from a2a_serverless.client import Client, Stream
from a2a_serverless.client.routes import Wanted
from a2a_serverless.protocol.errors import UnsupportedOperationError
from a2a_serverless.protocol.events import StreamResponse
from a2a_serverless.protocol.objects import Message, Role, Task, TaskState
from a2a_serverless.protocol.requests import SendMessageConfiguration
from a2a_serverless.tasks.lifecycle import WAITING

__all__ = ["Saying", "Session", "follow_task", "hold"]


def hold(session: Session, saying: Saying) -> int:
    """Say it, and go on as long as the agent asks and somebody answers; returns the exit status.

    Raises:
        Failure: it cannot be said, the task has ended without being completed, or was left.
    """
    typed = read_saying(saying)
    wanted = Wanted(skill=saying.skill, tag=saying.tag, prompt=typed.text or "")
    agent = connected(session.calling, chosen_agent(session.calling, typed.address, wanted))
    interactive = (
        session.ask and not session.calling.as_json and is_interactive() and saying.words[-1:] != ["-"]
    )
    message: Message | Said = typed
    while True:
        turn = Turn(session, agent, message.message_id, interactive)
        _go(turn, _say(turn, message))
        task = turn.task
        if task is None or not (interactive and task.status.state is TaskState.INPUT_REQUIRED):
            return ended(turn)
        answer = asked_on_terminal(task)
        if answer is None:
            return ended(turn)
        message = _answered(task, answer)


def follow_task(session: Session, address: str | None, name: str, last_event_id: str | None) -> int:
    """Show what happens to a task from where it stands; returns the exit status.

    Raises:
        Failure: there is none, it has ended without being completed, or was left.
    """
    if last_event_id is not None and not last_event_id.isprintable():
        raise Failure(Exit.USAGE, "the event's id has characters that no header can hold")
    turn = Turn(session, connected(session.calling, chosen_agent(session.calling, address)))
    _go(turn, _attend(turn, name, last_event_id))
    return ended(turn)


def _go(turn: Turn, work: Coroutine[Any, Any, None]) -> None:
    """Do the work of a turn and print what came of it.

    Raises:
        Failure: it was interrupted.
    """
    try:
        turn.agent.run(work, limited=False)
    except KeyboardInterrupt:
        turn.view.close()
        left(turn)
    finally:
        turn.view.close()
    _show(turn)


async def _say(turn: Turn, given: Message | Said) -> None:
    session, agent = turn.session, turn.agent
    async with _within(turn), agent.client() as client:
        message = await given.message(client) if isinstance(given, Said) else given
        accept = given.saying.accept if isinstance(given, Said) else ()
        configuration = SendMessageConfiguration(
            accepted_output_modes=tuple(accept), return_immediately=not session.wait
        )
        if session.wait:
            await _follow(turn, client.send_streaming_message(message, configuration=configuration))
        else:
            answer = await client.send_message(message, configuration=configuration)
            turn.task, turn.message = answer.task, answer.message
        await _save(turn, client)


async def _attend(turn: Turn, name: str, last_event_id: str | None) -> None:
    async with _within(turn), turn.agent.client() as client:
        stream = client.subscribe_to_task(name, last_event_id=last_event_id)
        try:
            await _follow(turn, stream, waits=not turn.session.until_ended)
        except UnsupportedOperationError:
            if turn.task is not None:
                raise
            # It has ended: there is nothing to follow, and all to see.
            turn.task = await client.get_task(name)
            turn.view.tell(StreamResponse(task=turn.task))
        await _save(turn, client)


@asynccontextmanager
async def _within(turn: Turn) -> AsyncIterator[None]:
    """For as long as one wants to wait."""
    seconds = turn.agent.chosen.get("timeout")
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise too_long(turn, seconds) from error


async def _save(turn: Turn, client: Client) -> None:
    if turn.session.out is not None and turn.task is not None:
        try:
            turn.saved = await save(client, turn.task.artifacts, Path(turn.session.out))
        except Failure as failure:
            failure.hint = command("task get", turn.agent, turn.task.id, "--out", "DIR")
            raise


async def _follow(turn: Turn, stream: Stream, *, waits: bool = False) -> None:
    """Tell what happens until the task ends or waits for whoever calls; with `waits`, however long it has."""
    begun = False
    async with stream:
        async for told in stream:
            turn.task, turn.message = stream.task, told.message
            turn.view.tell(told)
            if stream.state in WAITING and waits:
                return
            asks = stream.state is TaskState.AUTH_REQUIRED and begun and not turn.session.until_ended
            if asks and stream.task is not None:
                if not turn.interactive:
                    return
                note(
                    f"{question_of(stream.task)}\n"
                    "This goes on when the agent learns that it is done; Ctrl-C leaves it waiting."
                )
            begun = True


def _show(turn: Turn) -> None:
    """Print what came of it, as far as it has not been shown."""
    session = turn.session
    if not session.calling.as_json:
        for line in _lines(turn):
            print(line)
    elif not session.stream:
        answer: dict[str, Any] = {
            name: value.to_dict() for name, value in (("task", turn.task), ("message", turn.message)) if value
        }
        saved = {"saved": list(map(str, turn.saved))} if session.out is not None else {}
        print(json.dumps({**answer, **saved}, indent=2))


def _lines(turn: Turn) -> Iterator[str]:
    task = turn.task
    if turn.message is not None:
        yield said(turn.message)
    yield from (f"saved {path}" for path in turn.saved)
    if task is None or turn.view.shows_all:
        return
    if not turn.saved:
        yield from of_artifacts(task.artifacts)
    if task.status.state in WAITING:
        yield question_of(task)
    elif task.status.state is TaskState.COMPLETED and task.status.message is not None:
        yield said(task.status.message)


def _answered(task: Task, answer: Answer) -> Message:
    return Message(
        message_id=answer.message_id,
        role=Role.USER,
        parts=(answer.part,),
        task_id=task.id,
        context_id=task.context_id,
    )
