"""LangGraph: a compiled graph of that framework, served as it is.

The graph gets a checkpointer in memory that is filled from the conversation before a run and emptied into it
afterwards, so one of its own is not used, and no thread is ever shared. `interrupt()` in a node is a
question to the caller, whose answer goes on with the run by `Command(resume=…)`.
"""

import base64
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from langchain_core.exceptions import ContextOverflowError, ModelRateLimitError, ModelRefusalError
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.channels.delta import DeltaChannel
from langgraph.errors import GraphRecursionError
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt, StateSnapshot

from a2a_serverless.agent import (
    Agent,
    Outcome,
    Permission,
    Rejected,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Update,
    Usage,
    Working,
)
from a2a_serverless.frameworks.conversations import REMEMBERED, bridged
from a2a_serverless.frameworks.graph_threads import MESSAGES, Thread
from a2a_serverless.frameworks.messages import File, Response, given, plain
from a2a_serverless.frameworks.runs import (
    BUSY,
    NOT_ALLOWED,
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
    ContextOverflowError: TOO_LONG,
    ModelRateLimitError: BUSY,
    ModelRefusalError: REFUSED,
    GraphRecursionError: TOO_MANY_STEPS,
}
"""What the caller is told when one of these is raised."""

BREAKPOINT = "breakpoint"
"""The key of the question whether to go on where a graph was compiled to stop before or after a node."""

REFUSED_STEP = object()

Graph = Pregel[Any, Any, Any, Any]


def agent(
    thing: Graph | Callable[[Turn], Graph],
    *,
    start: Callable[[Turn, HumanMessage], Any] = lambda _, message: {"messages": [message]},
    context: Callable[[Turn], Any] = lambda _: None,
    config: Callable[[Turn], RunnableConfig] = lambda _: {},
    subgraphs: bool = False,
    failures: Mapping[type[Exception], str] | None = None,
    memory: str = "langgraph",
    remembers: int = REMEMBERED,
) -> Agent:
    """Serve a compiled graph, or what a factory makes for each turn.

    `start` makes the graph's input of what the caller said, `context` its runtime context, `config` what a
    run is configured with besides its thread. With `subgraphs` the text of graphs within the graph streams,
    too. `failures` adds exceptions of your own, and what the caller is told of them. For `memory` and
    `remembers` see `bridged`.
    """

    async def run(turn: Turn, earlier: Earlier, response: Response) -> AsyncGenerator[Step, None]:
        graph = thing if isinstance(thing, Pregel) else thing(turn)
        if any(isinstance(channel, DeltaChannel) for channel in graph.channels.values()):
            raise TypeError("a graph with a DeltaChannel needs all of its past, which a conversation has not")
        thread = Thread()
        if earlier.stopped is None:
            begin = _begin(start(turn, _message(await given(turn))), thread, earlier)
        elif (begin := _resumed(thread, earlier)) is REFUSED_STEP:
            yield Rejected(NOT_ALLOWED)
            return
        graph = graph.copy({"checkpointer": thread.saver})
        configured = merge_configs(config(turn), thread.config)
        telling = _Telling(response)
        parts = graph.astream(
            begin,
            configured,
            context=context(turn),
            stream_mode=["messages", "custom"],
            subgraphs=subgraphs,
            version="v2",
        )
        async with aclosing(cast("AsyncGenerator[Any, None]", parts)) as events:
            async for part in events:
                for update in telling.told(part["type"], part["data"]):
                    yield update
        for update in telling.whole():
            yield update
        for step in _ended(thread, await graph.aget_state(thread.config), response):
            yield step

    return bridged(run, failures=failures, known=FAILURES, memory=memory, remembers=remembers)


def _message(pieces: list[str | File]) -> HumanMessage:
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        return HumanMessage("\n".join(texts))
    return HumanMessage([_block(piece) for piece in pieces])


def _block(piece: str | File) -> dict[str, Any]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    kind = piece.media_type.partition("/")[0]
    content = base64.b64encode(piece.content).decode()
    if kind in ("image", "audio", "video"):
        return {"type": kind, "base64": content, "mime_type": piece.media_type}
    if piece.media_type != "application/pdf":
        raise piece.unsupported()
    # Some providers ask for the name.
    return {"type": "file", "base64": content, "mime_type": piece.media_type, "filename": piece.name}


def _begin(begin: Any, thread: Thread, earlier: Earlier) -> Any:  # noqa: ANN401  whatever the graph takes
    """Put the graph where it was; returns its input, with earlier messages where nothing else is left."""
    if earlier.rest is not None:
        thread.fill(earlier.rest, earlier.messages)
    elif earlier.messages and isinstance(begin, dict) and MESSAGES in begin:
        begin = {**begin, MESSAGES: [*map(thread.loaded, earlier.messages), *begin[MESSAGES]]}
    return begin


def _resumed(thread: Thread, earlier: Earlier) -> Any:  # noqa: ANN401  whatever nodes wait for
    """Put the graph where it stopped; returns what it goes on with."""
    thread.fill(earlier.stopped["checkpoints"])
    answers = earlier.answers
    if BREAKPOINT in answers:
        return None if answers[BREAKPOINT] else REFUSED_STEP
    values: dict[str, Any] = {}
    for interrupt_id, actions in earlier.stopped["actions"].items():
        if actions is None:
            values[interrupt_id] = answers[interrupt_id]
        else:
            decisions = [answers[f"{interrupt_id}:{number}"] for number in range(actions)]
            kinds = ["approve" if allowed else "reject" for allowed in decisions]
            values[interrupt_id] = {"decisions": [{"type": kind} for kind in kinds]}
    return Command(resume=values)


def _ended(thread: Thread, state: StateSnapshot, response: Response) -> Iterator[Step]:
    if state.interrupts or state.next:
        actions = {each.id: _actions(each.value) for each in state.interrupts}
        counts = {interrupt_id: None if each is None else len(each) for interrupt_id, each in actions.items()}
        questions = [question for each in state.interrupts for question in _questions(each, actions[each.id])]
        yield Stopped(
            {"checkpoints": thread.stopped(), "actions": counts}, questions or [_breakpoint(state.next)]
        )
        return
    found = state.values.get(MESSAGES) if isinstance(state.values, Mapping) else None
    if not response.said and isinstance(found, list) and found and isinstance(found[-1], AIMessage):
        yield from response.text(found[-1].text)
    messages, rest = thread.over()
    yield Over(messages, lambda message: bool(message["begins"]), rest)


def _breakpoint(nodes: tuple[str, ...]) -> Question:
    named = ", ".join(nodes)
    return Question(BREAKPOINT, permission=Permission(named, f"Go on with {named}?"))


def _actions(value: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401  whatever a node asks
    """The tool calls to be decided about, where LangChain's human-in-the-loop middleware asks."""
    found = value.get("action_requests") if isinstance(value, dict) else None
    return found if isinstance(found, list) else None


def _questions(interrupt: Interrupt[Any], actions: list[dict[str, Any]] | None) -> Iterator[Question]:
    value = plain(interrupt.value)
    for number, action in enumerate(actions or ()):
        name = action.get("name", "")
        permission = Permission(
            name,
            f"Run {name}?",
            purpose=action.get("description", ""),
            arguments=plain(action.get("args")),
        )
        yield Question(f"{interrupt.id}:{number}", permission=permission)
    if actions is not None:
        return
    if isinstance(value, dict) and {"tool", "title"} <= set(value):
        yield Question(interrupt.id, permission=Permission(**value))
    elif isinstance(value, str):
        yield Question(interrupt.id, value)
    else:
        asked = value.get("question") if isinstance(value, dict) else None
        yield Question(interrupt.id, asked if isinstance(asked, str) else "The agent needs an answer.", value)


class _Telling:
    """Tells the caller what happens in a run."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self._open: dict[str | None, AIMessageChunk] = {}
        self._names: dict[str, str] = {}

    def told(self, kind: str, data: Any) -> Iterator[Update]:  # noqa: ANN401  of each kind its own
        match data:
            case AIMessageChunk() as chunk, _:
                yield from self._piece(chunk)
            case AIMessage() as message, _:
                yield from self._response.text(message.text)
                yield from self._whole(message)
            case ToolMessage() as message, _:
                yield from self.whole()
                yield self._result(message)
            case str() if kind == "custom":
                yield Working(data)
            case _ if isinstance(data, Update) and not isinstance(data, Outcome):
                yield data
            case _:
                pass

    def whole(self) -> Iterator[Update]:
        """Whatever has come in pieces so far is whole now."""
        for message_id in list(self._open):
            yield from self._whole(self._open.pop(message_id))

    def _piece(self, chunk: AIMessageChunk) -> Iterator[Update]:
        if isinstance(chunk.content, list):
            for block in chunk.content_blocks:
                if block["type"] == "reasoning" and block.get("reasoning"):
                    yield Thinking(block["reasoning"])
        for call in chunk.tool_call_chunks:
            if call["id"] and call["name"]:
                yield ToolCall(call["id"], call["name"])
        yield from self._response.text(chunk.text)
        before = self._open.get(chunk.id)
        self._open[chunk.id] = chunk if before is None else before + chunk
        if chunk.chunk_position == "last":
            yield from self._whole(self._open.pop(chunk.id))

    def _whole(self, message: AIMessage) -> Iterator[Update]:
        self._response.pause()
        for call in message.tool_calls:
            self._names[call["id"] or ""] = call["name"]
            yield ToolCall(call["id"] or "", call["name"], plain(call["args"]))
        if used := message.usage_metadata:
            model = message.response_metadata.get("model_name")
            yield Usage(used["input_tokens"], used["output_tokens"], model)

    def _result(self, message: ToolMessage) -> ToolResult:
        name = message.name or self._names.get(message.tool_call_id, "")
        if message.status == "error":
            return ToolResult(message.tool_call_id, name, error=message.text)
        return ToolResult(message.tool_call_id, name, plain(message.content))
