"""Amazon Bedrock: a model with tools, by ConverseStream, without any framework.

The loop that a framework would be: the model speaks, the tools it calls are called, their results go back,
until it calls none. Calls that need the caller's permission, or the caller's answer, wait with the
conversation.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from typing import Any, cast

from botocore.config import Config
from botocore.session import get_session

from a2a_serverless.agent import Agent, Thinking, ToolCall, ToolResult, Turn, Update, Usage
from a2a_serverless.frameworks.bedrock_stream import BROKEN_OFF, Answer, ConverseClient, streamed
from a2a_serverless.frameworks.bedrock_tools import Tool, ToolError, ask_caller
from a2a_serverless.frameworks.conversations import REMEMBERED, bridged
from a2a_serverless.frameworks.converse_content import blocks, from_json, to_json
from a2a_serverless.frameworks.messages import RefusedError, Response, given, plain
from a2a_serverless.frameworks.runs import (
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

__all__ = ["ConverseClient", "Tool", "ToolError", "agent", "ask_caller"]

SENSELESS = "The model's answer made no sense. Please try again."

ENDS: Mapping[str, tuple[type[Exception], str]] = {
    "": (NotDoneError, BROKEN_OFF),
    "max_tokens": (NotDoneError, CUT_SHORT),
    "model_context_window_exceeded": (NotDoneError, TOO_LONG),
    "malformed_model_output": (NotDoneError, SENSELESS),
    "malformed_tool_use": (NotDoneError, SENSELESS),
    "guardrail_intervened": (RefusedError, NOT_ALLOWED),
    "content_filtered": (RefusedError, REFUSED),
}
"""Reasons to stop after which there is no answer, and what the caller is told."""

DENIED = "The user did not allow this."


@cache
def _client(region: str | None) -> ConverseClient:
    """One for the process; a model may be silent for a while before it speaks, hence two minutes."""
    config = Config(
        connect_timeout=3.0,
        read_timeout=120.0,
        retries={"mode": "standard", "total_max_attempts": 4},
        tcp_keepalive=True,
        user_agent_extra="a2a-serverless",
    )
    made = get_session().create_client("bedrock-runtime", region_name=region, config=config)
    return cast("ConverseClient", made)


def agent(
    model_id: str,
    *,
    system: str | Callable[[Turn], str] = "",
    tools: Sequence[Tool | Callable[..., Any]] = (),
    most_rounds: int = 20,
    request: Mapping[str, Any] | None = None,
    region: str | None = None,
    client: Callable[[], ConverseClient] | None = None,
    failures: Mapping[type[Exception], str] | None = None,
    memory: str = "bedrock_converse",
    remembers: int = REMEMBERED,
) -> Agent:
    """Serve a model of Amazon Bedrock, named by its id, or by the id or ARN of an inference profile.

    `system` is the system prompt, or makes it for a turn. `most_rounds` is how often the model may be
    called for one turn. `request` holds other members of the API's request, such as `inferenceConfig`,
    `guardrailConfig` or `additionalModelRequestFields`. `client` gives the client to use, else there is one
    for the process, of `region` or the environment's. `failures` adds exceptions of your own, of tools for
    example, and what the caller is told of them. For `memory` and `remembers` see `bridged`.
    """
    named = {tool.name: tool for tool in map(_tool, tools)}
    configured = {**(request or {}), "modelId": model_id}
    if named:
        configured["toolConfig"] = {"tools": [tool.specification for tool in named.values()]}

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        prompt = system if isinstance(system, str) else system(turn)
        asked = {**configured, "system": [{"text": prompt}]} if prompt else configured
        talk = _Talk(turn, named, asked, earlier)
        if earlier.stopped is None:
            talk.messages.append({"role": "user", "content": blocks(await given(turn))})
        for _ in range(most_rounds):
            if questions := list(talk.questions()):
                yield Stopped(to_json(talk.messages), questions)
                return
            for result in await talk.work():
                yield result
            async with aclosing(talk.hear(client() if client else _client(region), response)) as updates:
                async for update in updates:
                    yield update
            if not talk.calls:
                yield Over(to_json(talk.messages), _begins)
                return
        raise NotDoneError(TOO_MANY_STEPS)

    return bridged(run, failures=failures, memory=memory, remembers=remembers)


def _tool(given: Tool | Callable[..., Any]) -> Tool:
    return given if isinstance(given, Tool) else Tool(given)


class _Talk:
    """The messages that go to and fro, and the tools that are called in between."""

    def __init__(
        self, turn: Turn, tools: Mapping[str, Tool], request: Mapping[str, Any], earlier: Earlier
    ) -> None:
        self._turn, self._tools, self._request = turn, tools, request
        self._answers = earlier.answers
        kept = earlier.messages if earlier.stopped is None else earlier.stopped
        self.messages: list[dict[str, Any]] = from_json(list(kept))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of tools that the last message asks for."""
        last = self.messages[-1]
        return [block["toolUse"] for block in last["content"] if "toolUse" in block]

    def questions(self) -> Iterator[Question]:
        """What the caller has to decide or to answer before the tools are called."""
        for call in self.calls:
            tool, key, wanted = self._tools.get(call["name"]), call["toolUseId"], call["input"]
            if tool is None or key in self._answers or tool.invalid(wanted):
                continue
            if tool.question is not None:
                yield Question(key, tool.question(wanted))
            elif tool.permission is not None:
                yield Question(key, permission=tool.permission(wanted))

    async def work(self) -> list[ToolResult]:
        """Call the tools that the last message asks for, all at once; their results are the next message."""
        done = await asyncio.gather(*(self._called(call) for call in self.calls))
        if done:
            self.messages.append({"role": "user", "content": [_block(each) for each in done]})
        return done

    async def _called(self, call: Mapping[str, Any]) -> ToolResult:
        tool, key, wanted = self._tools.get(call["name"]), call["toolUseId"], call["input"]
        wrong = f"There is no tool {call['name']}." if tool is None else tool.invalid(wanted)
        if tool is None or wrong is not None:
            return ToolResult(key, call["name"], error=wrong)
        if tool.question is not None:
            return ToolResult(key, tool.name, self._answers[key])
        if tool.permission is not None and not self._answers[key]:
            return ToolResult(key, tool.name, error=DENIED)
        try:
            return ToolResult(key, tool.name, plain(await tool.call(self._turn, wanted)))
        except ToolError as error:
            return ToolResult(key, tool.name, error=str(error))

    async def hear(self, client: ConverseClient, response: Response) -> AsyncGenerator[Update, None]:
        """The model's next answer, which becomes the last message."""
        answer = Answer()
        async with aclosing(streamed(client, {**self._request, "messages": self.messages})) as events:
            async for event in events:
                answer.take(event)
                for update in _told(event, response):
                    yield update
        response.pause()
        if answer.usage:
            yield Usage(answer.usage["inputTokens"], answer.usage["outputTokens"], self._request["modelId"])
        if answer.stop_reason in ENDS:
            kind, text = ENDS[answer.stop_reason]
            raise kind(text)
        self.messages.append(answer.message)
        for call in self.calls:
            yield ToolCall(call["toolUseId"], call["name"], call["input"])


def _told(event: Mapping[str, Any], response: Response) -> Iterator[Update]:
    """What an event is to the caller."""
    match event:
        case {"contentBlockDelta": {"delta": {"text": text}}}:
            yield from response.text(text)
        case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": thought}}}} if thought:
            yield Thinking(thought)
        case {"contentBlockStart": {"start": {"toolUse": call}}}:
            yield ToolCall(call["toolUseId"], call["name"])


def _block(result: ToolResult) -> dict[str, Any]:
    """A result as it goes back to the model."""
    failed = result.error is not None
    output = result.error if failed else result.output
    shown = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    status = "error" if failed else "success"
    return {
        "toolResult": {
            "toolUseId": result.call_id,
            "content": [{"text": shown or "(nothing)"}],
            "status": status,
        }
    }


def _begins(message: Mapping[str, Any]) -> bool:
    """Whether a caller's words begin here, rather than results that go back to the model."""
    return message["role"] == "user" and not any("toolResult" in block for block in message["content"])
