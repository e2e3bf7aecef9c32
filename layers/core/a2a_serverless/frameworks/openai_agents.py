"""OpenAI Agents: an agent of that framework, served as it is.

A tool that needs approval interrupts the run; its `RunState` goes with the conversation, so that the caller's
decision goes on with it in whatever process comes next. The framework's tracing sends what is said to
OpenAI and is off, unless a run is configured otherwise.
"""

import base64
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from agents import Agent as OpenAIAgent
from agents import (
    InputGuardrailTripwireTriggered,
    MaxTurnsExceeded,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    RunResultStreaming,
    RunState,
    StreamEvent,
    ToolApprovalItem,
)
from agents.run import DEFAULT_MAX_TURNS
from openai import BadRequestError, RateLimitError

from a2a_serverless.agent import Agent, Permission, Thinking, ToolCall, ToolResult, Turn, Update, Usage
from a2a_serverless.frameworks.conversations import REMEMBERED, bridged
from a2a_serverless.frameworks.messages import File, RefusedError, Response, given, plain
from a2a_serverless.frameworks.runs import (
    BUSY,
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
    RateLimitError: BUSY,
    ModelRefusalError: REFUSED,
    MaxTurnsExceeded: TOO_MANY_STEPS,
}
"""What the caller is told when one of these is raised."""

Served = OpenAIAgent[Any]


def agent(
    thing: Served | Callable[[Turn], Served],
    *,
    context: Callable[[Turn], Any] = lambda turn: turn,
    run_config: Callable[[Turn], RunConfig] = lambda _: RunConfig(tracing_disabled=True),
    max_turns: int = DEFAULT_MAX_TURNS,
    failures: Mapping[type[Exception], str] | None = None,
    memory: str = "openai_agents",
    remembers: int = REMEMBERED,
) -> Agent:
    """Serve an agent of OpenAI Agents, or what a factory makes for each turn.

    `context` makes what tools find as the context of the run, by default the turn; it is made anew where a
    run goes on, and never stored. `run_config` configures a run, `max_turns` is the most calls of the
    model. `failures` adds exceptions of your own, and what the caller is told of them. For `memory` and
    `remembers` see `bridged`.
    """

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        served = thing if isinstance(thing, OpenAIAgent) else thing(turn)
        made = context(turn)
        begin = await _start(served, turn, earlier, made)
        result = Runner.run_streamed(
            served,
            begin,
            context=None if isinstance(begin, RunState) else made,
            max_turns=max_turns,
            run_config=run_config(turn),
        )
        telling = _Telling(response, begin.get_interruptions() if isinstance(begin, RunState) else ())
        try:
            async with aclosing(cast("AsyncGenerator[StreamEvent, None]", result.stream_events())) as events:
                async for event in events:
                    for update in telling.told(event):
                        yield update
        except (InputGuardrailTripwireTriggered, OutputGuardrailTripwireTriggered):
            raise RefusedError(NOT_ALLOWED) from None
        except BadRequestError as error:
            if error.code == "context_length_exceeded":
                raise NotDoneError(TOO_LONG) from None
            raise
        finally:
            if not result.is_complete:
                result.cancel()
        for step in _ended(result, response):
            yield step

    return bridged(run, failures=failures, known=FAILURES, memory=memory, remembers=remembers)


async def _start(served: Served, turn: Turn, earlier: Earlier, context: Any) -> Any:  # noqa: ANN401  its own
    """What the run starts with: what was said up to now, or itself where it had stopped."""
    if earlier.stopped is None:
        content = [_content(piece) for piece in await given(turn)]
        return [*earlier.messages, {"role": "user", "content": content}]
    state: RunState[Any] = await RunState.from_json(served, earlier.stopped, context_override=context)
    for item in state.get_interruptions():
        if earlier.answers[_key(item)]:
            state.approve(item)
        else:
            state.reject(item)
    return state


def _content(piece: str | File) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    kind, _, form = piece.media_type.partition("/")
    content = base64.b64encode(piece.content).decode()
    address = f"data:{piece.media_type};base64,{content}"
    if kind == "image":
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    if piece.media_type == "application/pdf":
        return {"type": "input_file", "file_data": address, "filename": piece.name}
    if form in AUDIOS:
        return {"type": "input_audio", "input_audio": {"data": content, "format": AUDIOS[form]}}
    raise piece.unsupported()


AUDIOS = {"mpeg": "mp3", "mp3": "mp3", "wav": "wav", "x-wav": "wav"}


def _ended(result: RunResultStreaming, response: Response) -> Iterator[Step]:
    if result.interruptions:
        kept = result.to_state().to_json(context_serializer=lambda _: {})
        kept["context"]["context"] = None  # the deployer's own, with who knows what in it
        yield Stopped(plain(kept), [_question(item) for item in result.interruptions])
        return
    if not isinstance(result.final_output, str):
        yield from response.data(result.final_output)
    elif not response.said:
        yield from response.text(result.final_output)
    yield Over(plain(result.to_input_list()), lambda item: item.get("role") == "user")


def _key(item: ToolApprovalItem) -> str:
    return item.call_id or ""


def _question(item: ToolApprovalItem) -> Question:
    name = item.qualified_name or item.name or ""
    return Question(
        _key(item), permission=Permission(name, f"Run {name}?", arguments=_arguments(item.arguments))
    )


def _arguments(written: str | None) -> Any:  # noqa: ANN401  whatever the model wrote
    try:
        return json.loads(written or "{}")
    except ValueError:
        return {"input": written}


class _Telling:
    """Tells the caller what happens in a run."""

    def __init__(self, response: Response, decided: Iterable[ToolApprovalItem]) -> None:
        self._response = response
        self._names = {_key(item): item.name or "" for item in decided}

    def told(self, event: StreamEvent) -> Iterator[Update]:
        if event.type == "raw_response_event":
            yield from self._of_the_model(event.data)
        elif event.type == "run_item_stream_event":
            yield from self._of_the_run(event.item)

    def _of_the_model(self, data: Any) -> Iterator[Update]:  # noqa: ANN401  one of some fifty
        match data.type:
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._response.text(data.delta)
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                yield Thinking(data.delta)
            case "response.output_item.added" if data.item.type == "function_call":
                yield ToolCall(data.item.call_id, data.item.name)
            case "response.completed" if data.response.usage:
                used = data.response.usage
                yield Usage(used.input_tokens, used.output_tokens, data.response.model)

    def _of_the_run(self, item: Any) -> Iterator[Update]:  # noqa: ANN401  as above
        match item.type:
            case "message_output_item":
                self._response.pause()
            case "tool_call_item":
                call_id = item.call_id or ""
                self._names[call_id] = item.tool_name or item.raw_item.type
                yield ToolCall(
                    call_id, self._names[call_id], _arguments(getattr(item.raw_item, "arguments", None))
                )
            case "tool_call_output_item":
                call_id = item.call_id or ""
                yield ToolResult(call_id, self._names.get(call_id, ""), plain(item.output))
