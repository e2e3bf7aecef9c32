"""Graphs of LangGraph behind the bridge, on chat models of LangChain's that answer from a script."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.exceptions import ContextOverflowError, ModelRateLimitError
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import Field

from a2a_serverless.agent import ArtifactChunk, Part, Permission, Thinking, Turn, Usage, Working
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks import langgraph
from a2a_serverless.frameworks.messages import Response
from tests.unit.frameworks.callers import (
    PNG,
    Endless,
    cancelled_once,
    chunks_of,
    text_of,
    tools_of,
    turn,
    two_conversations,
    updates_of,
    usage_of,
)

Script = Callable[[Sequence[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """A chat model that streams, word by word, what the script makes of the messages so far."""

    script: Any
    heard: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.script(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        self.heard.append([message.content for message in messages])
        said = self.script(messages)
        words = said.content.split(" ") if isinstance(said.content, str) and said.content else []
        for number, word in enumerate(words):
            yield ChatGenerationChunk(message=AIMessageChunk(f" {word}" if number else word))
        if isinstance(said.content, list):
            yield ChatGenerationChunk(message=AIMessageChunk(said.content))
        calls = [
            {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": index}
            for index, call in enumerate(said.tool_calls)
        ]
        metadata = {"model_name": "scripted"}
        last = AIMessageChunk(
            "",
            tool_call_chunks=calls,
            usage_metadata={"input_tokens": 10, "output_tokens": 2, "total_tokens": 12},
            response_metadata=metadata,
        )
        yield ChatGenerationChunk(message=last)


def heard(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages if isinstance(message, HumanMessage)]


def returned(messages: Sequence[BaseMessage]) -> list[str]:
    """What tools have returned since the model spoke last."""
    found: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        found.insert(0, message.text)
    return found


def echo(messages: Sequence[BaseMessage]) -> AIMessage:
    return AIMessage(f"I heard {' and '.join(heard(messages))}")


def calls(text: str = "", **tools: Any) -> AIMessage:
    named = [{"name": name, "args": args, "id": f"call-{name}"} for name, args in tools.items()]
    return AIMessage(text, tool_calls=[{**call, "type": "tool_call"} for call in named])


def chatting(model: BaseChatModel, *tools: Any, **compiled: Any) -> Any:
    """The graph that a chat agent is: a model, and its tools until it calls none."""

    async def chat(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("chat", chat)
    builder.add_edge(START, "chat")
    if tools:
        builder.add_node("tools", ToolNode(tools))
        builder.add_conditional_edges("chat", tools_condition)
        builder.add_edge("tools", "chat")
    return builder.compile(**compiled)


def serving(script: Script = echo, *tools: Any) -> Any:
    return chatting(Scripted(script=script), *tools)


def test_text_streams_as_it_comes_and_is_counted() -> None:
    updates = updates_of(langgraph.agent(serving()), turn("a cup"))

    assert chunks_of(updates) == ["I", " heard", " a", " cup", ""]
    assert [update.last_chunk for update in updates if isinstance(update, ArtifactChunk)][-1] is True
    assert usage_of(updates) == [Usage(10, 2, "scripted")]


def test_langchains_own_fake_model_is_heard() -> None:
    graph = chatting(GenericFakeChatModel(messages=iter([AIMessage("Hello there")])))

    assert text_of(rehearse(langgraph.agent(graph), "Hi")) == "Hello there"


def test_a_conversation_goes_on_whatever_checkpointer_the_graph_has() -> None:
    graph = chatting(Scripted(script=echo), checkpointer=InMemorySaver())
    happened = rehearse(langgraph.agent(graph), "a cup", "a plate", "a bowl")

    assert text_of(happened) == "I heard a cup and a plate and a bowl"
    assert len(happened.saved["langgraph"]["exchanges"]) == 3


def test_a_conversation_that_is_too_big_loses_whole_exchanges() -> None:
    def first_letters(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("".join(text[0] for text in heard(messages)))

    served = langgraph.agent(serving(first_letters), remembers=9_000)
    happened = rehearse(served, *(letter * 1_000 for letter in "abcdefgh"))

    assert text_of(happened) in "abcdefgh"
    assert 2 < len(text_of(happened)) < 8
    assert len(json.dumps(happened.saved)) < 9_100


def test_tools_are_called_and_told_of() -> None:
    @tool
    def weigh(item: str) -> str:
        """Weigh it."""
        return f"{item}: 300 g"

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("300 g.") if returned(messages) else calls("I look.", weigh={"item": "cup"})

    happened = rehearse(langgraph.agent(serving(script, weigh)), "How heavy?")

    assert tools_of(happened.updates) == [
        ("call", "weigh", None),
        ("call", "weigh", {"item": "cup"}),
        ("result", "weigh", "cup: 300 g"),
    ]
    assert text_of(happened) == "I look.\n\n300 g."


def test_a_tool_that_does_not_know_its_input_says_so() -> None:
    @tool
    def weigh(item: str) -> str:
        """Weigh it."""
        return item

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("Sorry.") if returned(messages) else calls(weigh={})

    told = tools_of(updates_of(langgraph.agent(serving(script, weigh)), turn("How heavy?")))

    assert told[-1][:2] == ("result", "weigh")
    assert "item" in told[-1][2]


def test_thoughts_are_told_as_thoughts() -> None:
    thinking = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "A cup."}]
    updates = updates_of(langgraph.agent(serving(lambda _: AIMessage(thinking))), turn("What is it?"))

    assert [update.text for update in updates if isinstance(update, Thinking)] == ["Hm."]
    assert "".join(chunks_of(updates)) == "A cup."


def test_nodes_may_say_what_they_do_and_yield_updates() -> None:
    def work(_: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        write("Looking up")
        write(ArtifactChunk("list", "one"))
        write({"of": "no interest"})
        return {"messages": [AIMessage("Done.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    happened = rehearse(langgraph.agent(builder.compile()), "Go")

    assert happened.updates[0] == Working("Looking up")
    assert happened.texts == {"list": "one", "response": "Done."}


def test_a_graph_without_messages_is_given_its_own_input_and_context() -> None:
    class Order(TypedDict, total=False):
        number: str
        seen: int

    def look(state: Order, runtime: Runtime[Turn]) -> Order:
        get_stream_writer()(f"{state['number']} of {runtime.context.caller['subject']}")
        return {"seen": state.get("seen", 0) + 1}

    builder = StateGraph(Order, context_schema=Turn)
    builder.add_node("look", look)
    builder.add_edge(START, "look")
    served = langgraph.agent(
        builder.compile(),
        start=lambda _, message: {"number": message.text},
        context=lambda given: given,
    )
    state: dict[str, Any] = {}
    for number in ("1041", "1042"):
        updates = updates_of(served, turn(number, state=state, caller={"subject": "alice"}))

    assert updates == [Working("1042 of alice")]


def test_images_and_json_reach_the_model_and_stay_in_the_conversation() -> None:
    model = Scripted(script=echo, heard=[])
    sent = (Part(text="Look"), Part(data={"order": 1042}), Part(raw=PNG * 300, media_type="image/png"))
    happened = rehearse(langgraph.agent(chatting(model)), sent, "And now?")

    first = [heard[0] for heard in model.heard]
    assert first[0] == first[1]
    assert [block["type"] for block in first[0]] == ["text", "text", "image"]
    assert len(happened.files) == 1


def test_a_document_is_a_file_with_its_name() -> None:
    model = Scripted(script=echo)
    sent = Part(raw=b"%PDF", media_type="application/pdf", filename="bill.pdf")
    rehearse(langgraph.agent(chatting(model)), sent)

    ((heard_first, *_),) = model.heard
    assert [(block["type"], block["filename"]) for block in heard_first] == [("file", "bill.pdf")]


def test_messages_go_on_where_nothing_else_is_left_of_a_graph() -> None:
    served = langgraph.agent(serving())
    state: dict[str, Any] = {}
    updates_of(served, turn("one", state=state))
    state["langgraph"]["rest"] = None

    assert "".join(chunks_of(updates_of(served, turn("two", state=state)))) == "I heard one and two"


def test_a_message_whose_end_no_model_told_is_whole_when_its_tools_answer() -> None:
    telling = langgraph._Telling(Response(turn("Go")))
    calls_tool = {"name": "weigh", "args": "{}", "id": "call-1", "index": 0}
    piece = AIMessageChunk("I look.", id="m", tool_call_chunks=[calls_tool])
    told = [
        *telling.told("messages", (piece, {})),
        *telling.told("messages", (ToolMessage("300 g", tool_call_id="call-1"), {})),
    ]

    assert tools_of(told) == [("call", "weigh", None), ("call", "weigh", {}), ("result", "weigh", "300 g")]


@pytest.mark.parametrize("media_type", ["application/zip", "application/octet-stream"])
def test_what_the_agent_cannot_take_is_rejected(media_type: str) -> None:
    happened = rehearse(langgraph.agent(serving()), Part(raw=b"\0", media_type=media_type, filename="a"))

    assert (happened.state, happened.text) == (
        TaskState.REJECTED,
        f"The agent cannot take 'a' of type {media_type}.",
    )


def asking(*questions: Any) -> Any:
    """A graph that asks these, one after the other, and says what it heard."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(json.dumps([interrupt(question) for question in questions]))]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder.compile()


def test_an_interrupt_is_a_question_that_the_next_message_answers_in_another_process() -> None:
    made: list[Any] = []

    def make(_: Turn) -> Any:
        made.append(asking("Where to?", {"question": "How many?", "most": 3}))
        return made[-1]

    happened = rehearse(langgraph.agent(make), "Send it", "Rome", Part(data={"number": 2}), "Another")

    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.INPUT_REQUIRED, "Where to?"),
        (TaskState.INPUT_REQUIRED, "How many?"),
        (TaskState.COMPLETED, ""),
        (TaskState.INPUT_REQUIRED, "Where to?"),
    ]
    assert "".join(chunks_of(happened.turns[2].updates)) == '["Rome", {"number": 2}]'
    assert len(made) == 4


def test_an_interrupt_that_reads_like_a_permission_is_one() -> None:
    question = {"tool": "pay", "title": "Pay?", "target": "the bill"}
    happened = rehearse(langgraph.agent(asking(question)), "Pay", decisions=[False])

    assert happened.asked == (Permission("pay", "Pay?", target="the bill"),)
    assert text_of(happened) == "[false]"


def test_langchains_human_in_the_loop_is_the_caller() -> None:
    requests = {
        "action_requests": [
            {"name": "delete", "args": {"name": "a"}, "description": "No way back."},
            {"name": "delete", "args": {"name": "b"}},
        ],
        "review_configs": [{"action_name": "delete", "allowed_decisions": ["approve", "reject"]}],
    }
    happened = rehearse(langgraph.agent(asking(requests)), "Delete", decisions=[True, False])

    assert happened.asked == (
        Permission("delete", "Run delete?", purpose="No way back.", arguments={"name": "a"}),
        Permission("delete", "Run delete?", arguments={"name": "b"}),
    )
    assert json.loads(text_of(happened)) == [{"decisions": [{"type": "approve"}, {"type": "reject"}]}]


@pytest.mark.parametrize(("allowed", "state"), [(True, TaskState.COMPLETED), (False, TaskState.REJECTED)])
def test_a_breakpoint_asks_whether_to_go_on(*, allowed: bool, state: TaskState) -> None:
    @tool
    def weigh() -> str:
        """Weigh it."""
        return "300 g"

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("Done.") if returned(messages) else calls(weigh={})

    graph = chatting(Scripted(script=script), weigh, interrupt_before=["tools"])
    happened = rehearse(langgraph.agent(graph), "Go", decisions=[allowed])

    assert happened.asked == (Permission("tools", "Go on with tools?"),)
    assert happened.state is state
    assert text_of(happened) == ("Done." if allowed else "")


def test_questions_of_parallel_nodes_and_of_graphs_within_are_all_asked() -> None:
    class Both(TypedDict, total=False):
        messages: Annotated[list[BaseMessage], lambda old, new: [*old, *new]]

    def part(name: str) -> Callable[[Both], Both]:
        return lambda _: {"messages": [AIMessage(f"{name}: {interrupt(f'{name}?')}")]}

    inner = StateGraph(Both)
    inner.add_node("deep", part("inner"))
    inner.add_edge(START, "deep")
    builder = StateGraph(Both)
    for name, node in (("left", part("left")), ("within", inner.compile())):
        builder.add_node(name, node)
        builder.add_edge(START, name)
    happened = rehearse(langgraph.agent(builder.compile()), "Go", "one", "two")

    answers = {told.text for told in happened.turns[:2]}
    assert answers == {"left?", "inner?"}
    assert happened.state is TaskState.COMPLETED
    said = "".join(chunks_of(happened.updates))
    assert "left: " in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelRateLimitError("secret"), "The model is busy. Please try again later."),
        (ContextOverflowError("secret"), "lost its older half"),
        (LookupError("secret"), "There is no such thing."),
    ],
)
def test_what_is_expected_to_go_wrong_is_told_without_its_text(error: Exception, said: str) -> None:
    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if heard(messages)[-1] == "fail":
            raise error
        return echo(messages)

    served = langgraph.agent(serving(script), failures={LookupError: "There is no such thing."})
    happened = rehearse(served, "one", "two", "fail", "three")

    assert happened.turns[2].state is TaskState.FAILED
    assert said in happened.turns[2].text
    assert text_of(happened) == "I heard " + ("two" if "half" in said else "one and two") + " and three"


def test_too_many_steps_end_the_turn() -> None:
    @tool
    def again() -> str:
        """Again."""
        return "more"

    served = langgraph.agent(
        serving(lambda _: calls(again={}), again), config=lambda _: {"recursion_limit": 4}
    )

    assert rehearse(served, "Go").text == "The agent gave up after too many steps."


def test_anything_else_rises() -> None:
    def script(_: Sequence[BaseMessage]) -> AIMessage:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        updates_of(langgraph.agent(serving(script)), turn("Go"))


def test_a_graph_that_needs_all_of_its_past_is_refused() -> None:
    class Everything(TypedDict):
        messages: Annotated[list[Any], DeltaChannel(lambda old, new: [*old, *new], list)]

    builder = StateGraph(Everything)
    builder.add_node("nothing", lambda _: {})
    builder.add_edge(START, "nothing")

    with pytest.raises(TypeError, match="DeltaChannel"):
        updates_of(langgraph.agent(builder.compile()), turn("Go"))


def test_a_cancelled_turn_cancels_the_run() -> None:
    work = Endless()

    async def labour(_: MessagesState) -> dict[str, Any]:
        await work.work()
        return {}

    builder = StateGraph(MessagesState)
    builder.add_node("labour", labour)
    builder.add_edge(START, "labour")
    asyncio.run(cancelled_once(work, langgraph.agent(builder.compile())))

    assert work.cleaned


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    assert two_conversations(langgraph.agent(serving())) == (
        "I heard alice-1 and alice-2",
        "I heard bob-1 and bob-2",
    )
