"""Pydantic AI: an agent of that framework, served as it is.

What waits for approval, for an answer or for somebody else's result ends the run with the framework's own
output `DeferredToolRequests`, so an agent with such tools names it among its output types. Here it becomes a
question, and the answer goes on with the run.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_ai import (
    AgentRunResult,
    AgentRunResultEvent,
    AgentStreamEvent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    UsageLimits,
    UserContent,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelContextWindowExceededError,
    ModelRateLimitError,
    ModelUnavailableError,
    UsageLimitExceeded,
)

from a2a_serverless.agent import Agent, Permission, Thinking, ToolCall, ToolResult, Turn, Usage
from a2a_serverless.frameworks.conversations import REMEMBERED, bridged
from a2a_serverless.frameworks.messages import File, Response, given, plain
from a2a_serverless.frameworks.runs import (
    BUSY,
    REFUSED,
    TOO_LONG,
    TOO_MANY_STEPS,
    Earlier,
    Over,
    Question,
    Step,
    Stopped,
)

FAILURES: Mapping[type[Exception], str] = {
    ModelContextWindowExceededError: TOO_LONG,
    ModelRateLimitError: BUSY,
    ModelUnavailableError: BUSY,
    UsageLimitExceeded: TOO_MANY_STEPS,
    ContentFilterError: REFUSED,
}
"""What the caller is told when one of these is raised."""

MEDIA = ("image/", "audio/", "video/", "application/pdf")
"""How media types begin that the framework hands on; which of them a model takes is the model's business."""

PydanticAgent = AbstractAgent[Any, Any]


def agent(
    thing: PydanticAgent | Callable[[Turn], PydanticAgent],
    *,
    deps: Callable[[Turn], Any] = lambda _: None,
    usage_limits: UsageLimits | None = None,
    failures: Mapping[type[Exception], str] | None = None,
    memory: str = "pydantic_ai",
    remembers: int = REMEMBERED,
) -> Agent:
    """Serve a Pydantic AI agent, or what a factory makes for each turn.

    `deps` makes the dependencies of a run, for example the turn itself. `failures` adds exceptions of your
    own, and what the caller is told of them. For `memory` and `remembers` see `bridged`.
    """

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        runner = thing if isinstance(thing, AbstractAgent) else thing(turn)
        start = await _start(turn, earlier)
        async with runner.run_stream_events(**start, deps=deps(turn), usage_limits=usage_limits) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    steps = _ended(event.result, response)
                else:
                    steps = _told(event, response)
                for step in steps:
                    yield step

    return bridged(run, failures=failures, known=FAILURES, memory=memory, remembers=remembers)


async def _start(turn: Turn, earlier: Earlier) -> dict[str, Any]:
    """What the run starts with: what was just said, or answers to what it had stopped for."""
    if earlier.stopped is None:
        said = [_content(piece) for piece in await given(turn)]
        return {"user_prompt": said, "message_history": _messages(earlier.messages)}
    approvals, answers = earlier.stopped["approvals"], earlier.answers
    results = DeferredToolResults(
        approvals={key: bool(value) for key, value in answers.items() if key in approvals},
        calls={key: value for key, value in answers.items() if key not in approvals},
    )
    return {"message_history": _messages(earlier.stopped["messages"]), "deferred_tool_results": results}


def _ended(result: AgentRunResult[Any], response: Response) -> Iterator[Step]:
    for message in result.new_messages():
        if isinstance(message, ModelResponse):
            yield Usage(message.usage.input_tokens, message.usage.output_tokens, message.model_name)
    messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    match result.output:
        case DeferredToolRequests() as requests:
            approvals = [call.tool_call_id for call in requests.approvals]
            yield Stopped({"messages": messages, "approvals": approvals}, list(_questions(requests)))
            return
        case str(text):
            if not response.said:
                yield from response.text(text)
        case output:
            yield from response.data(output)
    yield Over(messages, _begins)


def _content(piece: str | File) -> UserContent:
    if isinstance(piece, str):
        return piece
    if not piece.media_type.startswith(MEDIA):
        raise piece.unsupported()
    return BinaryContent.narrow_type(BinaryContent(piece.content, media_type=piece.media_type))


def _told(event: AgentStreamEvent, response: Response) -> Iterator[Step]:
    """What an event of the run is to the caller."""
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ):
            yield from response.text(text)
        case PartStartEvent(part=ThinkingPart(content=thought)) if thought:
            yield Thinking(thought)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(thought))) if thought:
            yield Thinking(thought)
        case PartStartEvent(part=ToolCallPart() as call):
            yield ToolCall(call.tool_call_id, call.tool_name)
        case FunctionToolCallEvent(part=call):
            yield ToolCall(call.tool_call_id, call.tool_name, plain(call.args_as_dict()))
        case FunctionToolResultEvent(part=returned):
            response.pause()
            output = plain(returned.content)
            if returned.outcome == "success":
                yield ToolResult(returned.tool_call_id, returned.tool_name, output)
            else:
                yield ToolResult(returned.tool_call_id, returned.tool_name, error=str(output))
        case _:
            pass


def _questions(requests: DeferredToolRequests) -> Iterator[Question]:
    for call in requests.approvals:
        arguments = plain(call.args_as_dict())
        said = {"title": f"Run {call.tool_name}?", **requests.metadata.get(call.tool_call_id, {})}
        known = {
            name: said[name] for name in ("title", "purpose", "effect", "target", "read_only") if name in said
        }
        yield Question(call.tool_call_id, permission=Permission(call.tool_name, arguments=arguments, **known))
    for call in requests.calls:
        arguments = plain(call.args_as_dict())
        asked = arguments.get("question") if requests.kind(call.tool_call_id) == "question" else None
        text = asked if isinstance(asked, str) else f"Please give the result of {call.tool_name}."
        yield Question(call.tool_call_id, text, {"tool": call.tool_name, "arguments": arguments})


def _messages(kept: Sequence[Any]) -> list[ModelMessage]:
    # As text: only so are bytes read back as what they were.
    return ModelMessagesTypeAdapter.validate_json(json.dumps(kept))


def _begins(message: Mapping[str, Any]) -> bool:
    """Whether a caller's words begin here, rather than results that go back to the model."""
    kinds = {part["part_kind"] for part in message["parts"]}
    return (
        message["kind"] == "request"
        and "user-prompt" in kinds
        and not kinds & {"tool-return", "retry-prompt"}
    )
