"""Strands: an agent of that framework, served as it is.

Its state goes with the conversation as the framework's own snapshot, interrupts included. An agent of
Strands is one conversation: give a factory that makes one for each turn. A single agent is lent to one turn
at a time and given back as it was.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from strands import Agent as StrandsAgent
from strands import Snapshot
from strands.agent.agent_result import AgentResult
from strands.handlers.callback_handler import PrintingCallbackHandler, null_callback_handler
from strands.interrupt import Interrupt
from strands.types.agent import Limits
from strands.types.exceptions import (
    ContextWindowOverflowException,
    MaxTokensReachedException,
    ModelThrottledException,
)
from strands.types.session import decode_bytes_values, encode_bytes_values
from strands.vended_interventions.hitl import HumanInTheLoop

from a2a_serverless.agent import (
    Agent,
    Permission,
    Rejected,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from a2a_serverless.frameworks.conversations import REMEMBERED, bridged
from a2a_serverless.frameworks.converse_content import blocks
from a2a_serverless.frameworks.messages import Response, given, plain
from a2a_serverless.frameworks.runs import (
    BUSY,
    CUT_SHORT,
    NOT_ALLOWED,
    REFUSED,
    TOO_LONG,
    TOO_MANY_STEPS,
    Earlier,
    NotDoneError,
    Over,
    Question,
    Step,
    Stopped,
)

FAILURES: Mapping[type[Exception], str] = {
    ContextWindowOverflowException: TOO_LONG,
    ModelThrottledException: BUSY,
    MaxTokensReachedException: CUT_SHORT,
}
"""What the caller is told when one of these is raised."""

REFUSALS = {"content_filtered": REFUSED, "guardrail_intervened": NOT_ALLOWED}
SAID_ALL = ("end_turn", "stop_sequence", "tool_use", "cancelled")
"""Reasons after which the answer stands: the model's, or a tool's that ends the run. The rest are limits."""

PATIENCE = 1.0
"""Seconds that a run which is to stop gets for it; a host has not much more."""

GLANCE = 0.01
"""Seconds between two looks whether an agent that others use is free."""

Make = Callable[[Turn], StrandsAgent]


def agent(
    thing: StrandsAgent | Make,
    *,
    invocation_state: Callable[[Turn], dict[str, Any]] = lambda turn: {"turn": turn},
    permissions: Collection[str] = (HumanInTheLoop.name,),
    limits: Limits | None = None,
    failures: Mapping[type[Exception], str] | None = None,
    memory: str = "strands",
    remembers: int = REMEMBERED,
) -> Agent:
    """Serve what a factory makes for each turn, or one Strands agent, one turn after the other.

    `invocation_state` is what tools and hooks find there; by default the turn. Interrupts named in
    `permissions` ask for a permission and are answered true or false; others are answered by what the caller
    says. `limits` are the framework's own, for one run. `failures` adds exceptions of your own, and what the
    caller is told of them. For `memory` and `remembers` see `bridged`.
    """
    lock = threading.Lock()

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        async with _lent(thing, lock) if isinstance(thing, StrandsAgent) else _made(thing, turn) as runner:
            prompt = await _start(runner, turn, earlier)
            telling = _Telling(runner, response)
            events = runner.stream_async(prompt, invocation_state=invocation_state(turn), limits=limits)
            async with aclosing(_until_cancelled(runner, cast("AsyncGenerator[Any, None]", events))) as told:
                async for event in told:
                    for step in telling.told(event, permissions):
                        yield step

    return bridged(run, failures=failures, known=FAILURES, memory=memory, remembers=remembers)


@asynccontextmanager
async def _made(make: Make, turn: Turn) -> AsyncIterator[StrandsAgent]:
    runner = make(turn)
    _hush(runner)
    try:
        yield runner
    finally:
        runner.cleanup()


@asynccontextmanager
async def _lent(runner: StrandsAgent, lock: threading.Lock) -> AsyncIterator[StrandsAgent]:
    """One agent for one turn at a time, given back as it was."""
    while not lock.acquire(blocking=False):  # noqa: ASYNC110  turns have loops of their own, which share no event
        await asyncio.sleep(GLANCE)
    try:
        before = runner.take_snapshot(preset="session")
        _hush(runner)
        try:
            yield runner
        finally:
            runner.load_snapshot(before)
    finally:
        lock.release()


def _hush(runner: StrandsAgent) -> None:
    """Strands prints what the model says unless told otherwise; here that would be the log."""
    if isinstance(runner.callback_handler, PrintingCallbackHandler):
        runner.callback_handler = null_callback_handler


async def _until_cancelled(
    runner: StrandsAgent, events: AsyncGenerator[Any, None]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """The events of a run in a task of its own, which is asked to stop before it is made to.

    Only so do tools in threads hear of it: they look at the agent's cancel signal.
    """
    crossing: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()

    async def perform() -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    crossing.put_nowait(event)
        finally:
            crossing.put_nowait(None)

    performing = asyncio.create_task(perform())
    try:
        while (event := await crossing.get()) is not None:
            yield event
        await performing
    finally:
        if not performing.done():
            runner.cancel()
            await asyncio.wait({performing}, timeout=PATIENCE)
            performing.cancel()
        await asyncio.gather(performing, return_exceptions=True)


async def _start(runner: StrandsAgent, turn: Turn, earlier: Earlier) -> list[Any]:
    """Put the agent where it was; returns what to call it with."""
    if earlier.stopped is not None:
        runner.load_snapshot(Snapshot.from_dict(decode_bytes_values(earlier.stopped)))
        return [
            {"interruptResponse": {"interruptId": key, "response": said}}
            for key, said in earlier.answers.items()
        ]
    if earlier.rest is not None:
        snapshot = {**earlier.rest, "data": {**earlier.rest["data"], "messages": list(earlier.messages)}}
        runner.load_snapshot(Snapshot.from_dict(decode_bytes_values(snapshot)))
    return blocks(await given(turn))


class _Telling:
    """Tells the caller what happens in a run."""

    def __init__(self, runner: StrandsAgent, response: Response) -> None:
        self._runner, self._response = runner, response
        self._tools = {call["toolUseId"]: call for message in runner.messages for call in _calls(message)}
        self._interrupted: dict[str, Any] = {}

    def told(self, event: Mapping[str, Any], permissions: Collection[str]) -> Iterator[Step]:
        match event:
            case {"result": AgentResult() as result}:
                yield from self._ended(result, permissions)
            case {"data": str(text)}:
                yield from self._response.text(text)
            case {"reasoningText": str(thought)} if thought:
                yield Thinking(thought)
            case {"type": "tool_use_stream", "current_tool_use": {"toolUseId": call_id, "name": name}}:
                if call_id not in self._tools:
                    self._tools[call_id] = event["current_tool_use"]
                    yield ToolCall(call_id, name)
            case {"tool_interrupt_event": {"tool_use": call, "interrupts": interrupts}}:
                self._interrupted |= {interrupt.id: call for interrupt in interrupts}
            case {"message": message}:
                yield from self._said(message)
            case _:
                pass

    def _said(self, message: Mapping[str, Any]) -> Iterator[Step]:
        """A whole message: calls of tools with what they are given, their results, or the end of a text."""
        for call in _calls(message):
            self._tools[call["toolUseId"]] = call
            yield ToolCall(call["toolUseId"], call["name"], plain(call["input"]))
        for block in message["content"]:
            if result := block.get("toolResult"):
                yield _result(result, self._tools.get(result["toolUseId"], {}).get("name", ""))
        if message["role"] == "assistant":
            self._response.pause()
        if usage := message.get("metadata", {}).get("usage"):
            config = self._runner.model.get_config()
            model = config.get("model_id") if isinstance(config, dict) else None
            yield Usage(usage["inputTokens"], usage["outputTokens"], model)

    def _ended(self, result: AgentResult, permissions: Collection[str]) -> Iterator[Step]:
        snapshot = encode_bytes_values(self._runner.take_snapshot(preset="session").to_dict())
        if result.stop_reason == "interrupt":
            questions = [self._question(each, permissions) for each in result.interrupts or ()]
            yield Stopped(snapshot, questions)
            return
        if result.stop_reason in REFUSALS:
            yield Rejected(REFUSALS[result.stop_reason])
            return
        if result.stop_reason not in SAID_ALL:
            raise NotDoneError(TOO_MANY_STEPS)
        if result.structured_output is not None:
            yield from self._response.data(result.structured_output)
        elif not self._response.said:
            yield from self._response.text(str(result).strip())
        yield Over(snapshot["data"].pop("messages"), _begins, rest=snapshot)

    def _question(self, interrupt: Interrupt, permissions: Collection[str]) -> Question:
        """A reason that reads like a permission is one, and so is what the owner of the agent says is one."""
        call, reason = self._interrupted.get(interrupt.id, {}), plain(interrupt.reason)
        if isinstance(reason, dict) and {"tool", "title"} <= set(reason):
            return Question(interrupt.id, permission=Permission(**reason))
        if interrupt.name in permissions:
            tool = call.get("name", interrupt.name)
            title = f"Run {tool}?"
            arguments = plain(call.get("input"))
            return Question(interrupt.id, permission=Permission(tool, title, arguments=arguments))
        text = reason if isinstance(reason, str) else f"The agent asks: {interrupt.name}"
        return Question(interrupt.id, text, None if isinstance(reason, str) else reason)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def _result(result: Mapping[str, Any], name: str) -> ToolResult:
    output = [block.get("text", block.get("json", plain(block))) for block in result["content"]]
    shown = output[0] if len(output) == 1 else output
    if result["status"] == "error":
        return ToolResult(result["toolUseId"], name, error=str(shown))
    return ToolResult(result["toolUseId"], name, shown)


def _begins(message: Mapping[str, Any]) -> bool:
    """Whether a caller's words begin here, rather than results that go back to the model."""
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])
