"""What every bridge does around a framework's run: remember, ask what the run asks, say how it ended.

A framework has messages of its own; here they are JSON. They are kept in `Turn.state` as whole exchanges,
each what a caller said and all that came of it, so that what is dropped when there is too much leaves a
conversation that a model can follow. A run that stopped for questions is kept beside them under its task.
Knows no framework.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from a2a_serverless.agent import (
    Agent,
    Failed,
    InputRequired,
    Part,
    Permission,
    Rejected,
    Turn,
    Update,
    WorkspaceFullError,
)
from a2a_serverless.frameworks.keeping import bring_back, names, put_away, sizes, tidy
from a2a_serverless.frameworks.messages import RefusedError, Response, answer
from a2a_serverless.frameworks.runs import (
    TOO_LONG,
    TOO_MUCH,
    Earlier,
    NotDoneError,
    Over,
    Run,
    Stopped,
)
from a2a_serverless.protocol.objects import TaskState

REMEMBERED = 512 * 1024
"""Bytes of JSON that a conversation remembers unless told otherwise; a host keeps 1 MB of state in all."""

MOST_FILES = 16 * 1024 * 1024
"""Bytes that it remembers as files beside its JSON."""

WAITING = (TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED)

MOST_WAITING = 4
"""Runs of one conversation that may wait for answers; when there are more the oldest is forgotten."""


def bridged(
    run: Run,
    *,
    failures: Mapping[type[Exception], str] | None,
    known: Mapping[type[Exception], str] = MappingProxyType({}),
    memory: str,
    remembers: int = REMEMBERED,
) -> Agent:
    """The agent that a bridge offers: its runs, and everything around them.

    `failures` says what the caller is told when one of these is raised, then `known` does for what the
    framework raises; the first that fits counts. All else rises, and what it says is seen by the operator
    only. `memory` is the member of `Turn.state` that holds the conversation, `remembers` its greatest size in
    bytes of JSON.
    """
    own = failures or {}
    told = {**own, **known, **own}  # the deployer's first, and theirs where both name one

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        conversation = Conversation(turn, memory, remembers)
        ended: Failed | Rejected
        try:
            async with aclosing(_conversed(run, turn, conversation)) as updates:
                async for update in updates:
                    yield update
        except RefusedError as refused:
            ended = Rejected(str(refused))
        except NotDoneError as reason:
            ended = Failed(str(reason))
        except tuple(told) as failure:
            ended = Failed(next(text for kind, text in told.items() if isinstance(failure, kind)))
        else:
            return
        conversation.give_up(too_long=ended.text == TOO_LONG)
        yield ended

    return agent


async def _conversed(run: Run, turn: Turn, conversation: "Conversation") -> AsyncGenerator[Update, None]:
    response = Response(turn)
    while True:
        stopped = await conversation.stopped()
        if stopped is not None and (question := await conversation.ask()):
            yield question
            return
        end: Stopped | Over | None = None
        async with aclosing(run(turn, await conversation.earlier(stopped), response)) as steps:
            async for step in steps:
                if isinstance(step, Stopped | Over):
                    end = step
                    continue
                if isinstance(step, Failed | Rejected):
                    conversation.give_up()
                yield step
        if isinstance(end, Stopped):
            await conversation.wait(end)
            continue
        for update in response.end():
            yield update
        if end is not None:
            await conversation.keep(end)
        return


class Conversation:
    """What is remembered of one conversation with one framework."""

    def __init__(self, turn: Turn, memory: str, limit: int) -> None:
        self._turn, self._memory, self._limit = turn, memory, limit
        kept = turn.state.get(memory) or {}
        self._exchanges: list[Any] = list(kept.get("exchanges", ()))
        self._rest: Any = kept.get("rest")
        self._waiting: dict[str, Any] = dict(kept.get("waiting", {}))
        self._had_files = bool(names(kept))
        mine = self._waiting.get(turn.task_id)
        if mine and mine["asked"] is not None:
            mine["answers"][mine["asked"]], mine["asked"] = answer(turn.message), None

    async def stopped(self) -> Any:  # noqa: ANN401  the framework's own business
        """The run of this task that waits for answers, or None."""
        if self._turn.task_id not in self._waiting:
            return None
        try:
            return await bring_back(self._turn.workspace, self._waiting[self._turn.task_id]["run"])
        except FileNotFoundError:
            raise NotDoneError("What the agent had begun is lost. Please start again.") from None

    async def earlier(self, stopped: Any) -> Earlier:  # noqa: ANN401  as above
        """What the next run starts from. An exchange of which a file is gone is left out."""
        if stopped is not None:
            return Earlier(stopped=stopped, answers=self._waiting[self._turn.task_id]["answers"])
        messages: list[Any] = []
        for exchange in self._exchanges:
            try:
                messages += await bring_back(self._turn.workspace, exchange)
            except FileNotFoundError:
                continue
        return Earlier(messages, self._rest and await bring_back(self._turn.workspace, self._rest))

    async def ask(self) -> InputRequired | None:
        """The next question that the caller has to answer in words; None when all are answered.

        Asks for permissions itself, one after the other; see `Turn.ask_permission`.
        """
        mine = self._waiting[self._turn.task_id]
        for question in mine["questions"]:
            if question["key"] in mine["answers"]:
                continue
            if question["permission"] is None:
                mine["asked"] = question["key"]
                self._write()
                data = question["data"]
                return InputRequired(question["text"], [] if data is None else [Part(data=data)])
            allowed = await self._turn.ask_permission(Permission(**question["permission"]))
            mine["answers"][question["key"]] = allowed
            self._write()
        return None

    async def wait(self, stopped: Stopped) -> None:
        """Remember a run that waits for answers; raises NotDoneError when it is too big for that."""
        try:
            run = await put_away(self._turn.workspace, stopped.run)
        except WorkspaceFullError:
            raise NotDoneError(TOO_MUCH) from None
        self._forget_ended()
        questions = [asdict(each) for each in stopped.questions]
        self._waiting.pop(self._turn.task_id, None)
        self._waiting[self._turn.task_id] = {"run": run, "questions": questions, "answers": {}, "asked": None}
        for task_id in list(self._waiting)[:-MOST_WAITING]:
            del self._waiting[task_id]
        self._drop_exchanges()
        if self._is_too_much():
            raise NotDoneError(TOO_MUCH)
        self._write()

    async def keep(self, over: Over) -> None:
        """Remember a run that is over. One that had stopped adds its exchange to what was said meanwhile."""
        split: list[list[Any]] = []
        for message in over.messages:
            if over.begins(message) or not split:
                split.append([])
            split[-1].append(message)
        self._forget_ended()
        resumed = self._waiting.pop(self._turn.task_id, None) is not None
        kept = [await self._put_away(each) for each in (split[-1:] if resumed else split)]
        self._exchanges = [each for each in [*(self._exchanges if resumed else ()), *kept] if each]
        self._rest = await self._put_away(over.rest)
        self._drop_exchanges()
        if self._is_too_much():
            self._rest = None
        self._write()
        if self._had_files or names(self._kept()):
            await tidy(self._turn.workspace, self._kept())

    def give_up(self, *, too_long: bool = False) -> None:
        """The run ended without an answer: forget it, and the older half of what was too long."""
        self._waiting.pop(self._turn.task_id, None)
        if too_long:
            self._exchanges = self._exchanges[(len(self._exchanges) + 1) // 2 :]
        self._write()

    async def _put_away(self, value: Any) -> Any:  # noqa: ANN401  as above
        """The value as it is kept; None when the conversation has no room for its files."""
        try:
            return await put_away(self._turn.workspace, value)
        except WorkspaceFullError:
            return None

    def _forget_ended(self) -> None:
        """Forget runs that wait for nothing any more, as their tasks were cancelled or ended otherwise."""
        if self._waiting.keys() - {self._turn.task_id}:
            for task in self._turn.earlier_tasks:
                if task.status.state not in WAITING:
                    self._waiting.pop(task.id, None)

    def _drop_exchanges(self) -> None:
        while self._exchanges and self._is_too_much():
            del self._exchanges[0]

    def _is_too_much(self) -> bool:
        kept = self._kept()
        return len(json.dumps(kept)) > self._limit or sum(sizes(kept).values()) > MOST_FILES

    def _write(self) -> None:
        self._turn.state[self._memory] = self._kept()

    def _kept(self) -> dict[str, Any]:
        return {"exchanges": self._exchanges, "rest": self._rest, "waiting": self._waiting}
