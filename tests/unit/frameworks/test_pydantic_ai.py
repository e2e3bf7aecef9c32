"""Agents of Pydantic AI behind the bridge, on the framework's own offline models."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    DeferredToolRequests,
    ModelMessage,
    ModelRetry,
    RunContext,
    UsageLimits,
)
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelContextWindowExceededError,
    ModelRateLimitError,
)
from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from a2a_serverless.agent import ArtifactChunk, Part, Permission, Thinking, Turn
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks import pydantic_ai
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

Delta = str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]
Script = Callable[[Sequence[ModelMessage]], Sequence[Delta]]


def model(script: Script) -> FunctionModel:
    """A model that streams what the script says to the messages so far."""

    async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        for delta in script(messages):
            yield delta

    return FunctionModel(stream_function=stream, model_name="scripted")


def heard(messages: Sequence[ModelMessage]) -> list[str]:
    """Everything that callers have said."""
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return [
        piece if isinstance(piece, str) else type(piece).__name__
        for prompt in prompts
        for piece in ([prompt] if isinstance(prompt, str) else prompt)
    ]


def returned(messages: Sequence[ModelMessage]) -> list[Any]:
    """What tools have returned since the model spoke last."""
    return [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]


def echo(messages: Sequence[ModelMessage]) -> list[Delta]:
    return ["I heard ", "and ".join(heard(messages))]


def call(name: str, arguments: str = "{}", call_id: str = "call-1") -> Delta:
    return {0: DeltaToolCall(name=name, json_args=arguments, tool_call_id=call_id)}


def test_text_streams_as_it_comes_and_is_counted() -> None:
    updates = updates_of(pydantic_ai.agent(Agent(model(echo))), turn("a cup"))

    assert chunks_of(updates) == ["I heard ", "a cup", ""]
    assert [update.last_chunk for update in updates if isinstance(update, ArtifactChunk)][-1] is True
    assert [used.model for used in usage_of(updates)] == ["scripted"]
    assert usage_of(updates)[0].output_tokens > 0


def test_the_frameworks_own_test_model_goes_through_its_tools() -> None:
    served = Agent(TestModel(custom_output_text="All done."))

    @served.tool_plain
    def weigh(item: str) -> str:
        return f"{item}: 300 g"

    updates = updates_of(pydantic_ai.agent(served), turn("How heavy is it?"))

    assert tools_of(updates) == [
        ("call", "weigh", None),
        ("call", "weigh", {"item": "a"}),
        ("result", "weigh", "a: 300 g"),
    ]
    assert "".join(chunks_of(updates)) == "All done."


def test_a_conversation_goes_on_from_task_to_task() -> None:
    happened = rehearse(pydantic_ai.agent(Agent(model(echo))), "a cup", "a plate", "a bowl")

    assert text_of(happened) == "I heard a cupand a plateand a bowl"
    assert happened.state is TaskState.COMPLETED


def test_what_a_tool_could_not_do_is_told_and_the_text_around_it_keeps_apart() -> None:
    def script(messages: Sequence[ModelMessage]) -> list[Delta]:
        return ["Sorry."] if len(messages) > 2 else ["Let me see.", call("look")]

    served = Agent(model(script))

    @served.tool_plain
    def look() -> str:
        raise ModelRetry("It is dark.")

    happened = rehearse(pydantic_ai.agent(served), "Look!")

    told = tools_of(happened.updates)
    assert told[:2] == [("call", "look", None), ("call", "look", {})]
    assert "It is dark." in told[2][2]
    assert text_of(happened) == "Let me see.\n\nSorry."


def test_thoughts_are_told_as_thoughts() -> None:
    def script(_: Sequence[ModelMessage]) -> list[Delta]:
        return [{0: DeltaThinkingPart(content="Hm, ")}, {0: DeltaThinkingPart(content="a cup.")}, "A cup."]

    updates = updates_of(pydantic_ai.agent(Agent(model(script))), turn("What is it?"))

    assert [update.text for update in updates if isinstance(update, Thinking)] == ["Hm, ", "a cup."]


def test_images_json_and_files_that_are_text_reach_the_model_and_stay_in_the_conversation() -> None:
    seen: list[Any] = []

    def script(messages: Sequence[ModelMessage]) -> list[Delta]:
        first = messages[0].parts[0]
        assert isinstance(first, UserPromptPart)
        seen.append(first.content)
        return ["Seen."]

    photo = PNG * 300
    sent = (
        Part(text="Look"),
        Part(data={"order": 1042}),
        Part(raw=photo, media_type="image/png"),
        Part(raw=b"a,b", media_type="text/csv", filename="list.csv"),
    )
    happened = rehearse(pydantic_ai.agent(Agent(model(script))), sent, "And now?")

    image = BinaryContent.narrow_type(BinaryContent(photo, media_type="image/png"))
    expected = ["Look", '{"order": 1042}', image, "list.csv:\na,b"]
    assert seen == [expected, expected]
    assert len(happened.files) == 1
    assert "iVBOR" not in str(happened.saved)


def test_a_file_of_the_conversation_is_read() -> None:
    files = {"notes/list.txt": b"one\ntwo"}
    happened = rehearse(
        pydantic_ai.agent(Agent(model(echo))), Part(url="file:///notes/list.txt"), files=files
    )

    assert text_of(happened) == "I heard notes/list.txt:\none\ntwo"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Part(raw=b"\0", media_type="application/zip", filename="a.zip"), "cannot take 'a.zip'"),
        (Part(url="https://example.com/cup.png"), "not other addresses"),
        (Part(url="file:///gone.txt"), "no file 'gone.txt'"),
    ],
)
def test_what_the_agent_cannot_take_is_rejected(part: Part, said: str) -> None:
    happened = rehearse(pydantic_ai.agent(Agent(model(echo))), part)

    assert happened.state is TaskState.REJECTED
    assert said in happened.text


class Parcel(BaseModel):
    weight: int


def test_a_structured_result_is_json() -> None:
    served = Agent(TestModel(custom_output_args={"weight": 3}), output_type=Parcel)
    updates = updates_of(pydantic_ai.agent(served), turn("Weigh it"))

    parts = [part for update in updates if isinstance(update, ArtifactChunk) for part in update.parts]
    assert [(part.data, part.media_type) for part in parts] == [({"weight": 3}, "application/json")]


def test_a_text_that_the_agent_makes_of_the_models_answer_is_the_response() -> None:
    def label(weight: int) -> str:
        return f"{weight} g"

    served = Agent(TestModel(custom_output_args={"weight": 3}), output_type=label)

    assert text_of(rehearse(pydantic_ai.agent(served), "Weigh it")) == "3 g"


def shredder(deleted: list[str]) -> Agent[None, Any]:
    """An agent that deletes two files, each with approval."""

    def script(messages: Sequence[ModelMessage]) -> list[Delta]:
        if results := returned(messages):
            return [f"Done: {results}"]
        both = {
            number: DeltaToolCall(
                name="delete", json_args=f'{{"name":"{name}"}}', tool_call_id=f"call-{name}"
            )
            for number, name in enumerate("ab")
        }
        return ["I delete both.", both]

    served: Agent[None, Any] = Agent(model(script), output_type=[str, DeferredToolRequests])

    @served.tool
    def delete(run: RunContext[None], name: str) -> str:
        if not run.tool_call_approved:
            raise ApprovalRequired(metadata={"title": f"Delete {name}?", "target": name, "other": 1})
        deleted.append(name)
        return f"{name} deleted"

    return served


def test_approvals_are_asked_one_by_one_and_the_run_goes_on_where_it_stopped() -> None:
    deleted: list[str] = []
    happened = rehearse(
        # A new agent for every turn: nothing is left of the process that asked.
        pydantic_ai.agent(lambda _: shredder(deleted)),
        "Delete a and b",
        decisions=[True, False],
    )

    assert happened.asked == (
        Permission("delete", "Delete a?", target="a", arguments={"name": "a"}),
        Permission("delete", "Delete b?", target="b", arguments={"name": "b"}),
    )
    assert deleted == ["a"]
    assert happened.state is TaskState.COMPLETED
    assert text_of(happened) == "I delete both.\n\nDone: ['a deleted', 'The tool call was denied.']"


def test_a_question_is_put_to_the_caller_and_answered_by_the_next_message() -> None:
    def script(messages: Sequence[ModelMessage]) -> list[Delta]:
        if results := returned(messages):
            return [f"To {results[0]} then."]
        return [call("ask", '{"question":"Where to?"}')]

    served: Agent[None, Any] = Agent(model(script), output_type=[str, DeferredToolRequests])

    @served.tool_plain
    def ask(question: str) -> str:
        raise CallDeferred(kind="question")

    happened = rehearse(pydantic_ai.agent(served), "Send it", "Rome", "Send another one")

    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.INPUT_REQUIRED, "Where to?"),
        (TaskState.COMPLETED, ""),
        (TaskState.INPUT_REQUIRED, "Where to?"),
    ]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelRateLimitError("m", "secret"), "The model is busy. Please try again later."),
        (ContentFilterError("secret"), "The model refused to answer."),
        (ModelContextWindowExceededError("m", "secret"), "lost its older half"),
        (LookupError("secret"), "There is no such thing."),
    ],
)
def test_what_is_expected_to_go_wrong_is_told_without_its_text(error: Exception, said: str) -> None:
    def script(messages: Sequence[ModelMessage]) -> list[Delta]:
        if "fail" in heard(messages)[-1]:
            raise error
        return echo(messages)

    served = pydantic_ai.agent(Agent(model(script)), failures={LookupError: "There is no such thing."})
    happened = rehearse(served, "one", "two", "fail", "three")

    assert happened.turns[2].state is TaskState.FAILED
    assert said in happened.turns[2].text
    assert "secret" not in happened.turns[2].text
    forgot = "older half" in said
    assert text_of(happened) == "I heard " + ("two" if forgot else "oneand two") + "and three"


def test_what_the_deployer_says_of_a_failure_is_said() -> None:
    def script(_: Sequence[ModelMessage]) -> list[Delta]:
        raise ModelRateLimitError("m", "secret")

    served = pydantic_ai.agent(Agent(model(script)), failures={ModelRateLimitError: "Come back on Monday."})

    assert rehearse(served, "Go").text == "Come back on Monday."


def test_too_many_steps_end_the_turn() -> None:
    served = Agent(model(lambda _: [call("again")]))

    @served.tool_plain
    def again() -> str:
        return "more"

    happened = rehearse(pydantic_ai.agent(served, usage_limits=UsageLimits(request_limit=2)), "Go")

    assert (happened.state, happened.text) == (TaskState.FAILED, "The agent gave up after too many steps.")


def test_anything_else_rises() -> None:
    def script(_: Sequence[ModelMessage]) -> list[Delta]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        updates_of(pydantic_ai.agent(Agent(model(script))), turn("Go"))


def test_a_cancelled_turn_cancels_the_run() -> None:
    work = Endless()
    served = Agent(model(lambda _: [call("work")]))
    served.tool_plain(work.work)

    asyncio.run(cancelled_once(work, pydantic_ai.agent(served)))

    assert work.cleaned


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    alice, bob = two_conversations(pydantic_ai.agent(Agent(model(echo))))

    assert (alice, bob) == ("I heard alice-1and alice-2", "I heard bob-1and bob-2")


def test_tools_find_what_the_deployer_gives_them() -> None:
    served = Agent(model(lambda m: returned(m) or [call("who")]), deps_type=Turn)

    @served.tool
    def who(run: RunContext[Turn]) -> str:
        return run.deps.caller["subject"]

    given = turn("Who am I?", caller={"subject": "alice"})
    updates = updates_of(pydantic_ai.agent(served, deps=lambda turn: turn), given)

    assert "".join(chunks_of(updates)) == "alice"


def test_an_exchange_is_kept_as_the_frameworks_own_messages() -> None:
    happened = rehearse(pydantic_ai.agent(Agent(model(echo))), "a cup")

    (exchange,) = happened.saved["pydantic_ai"]["exchanges"]
    assert [message["kind"] for message in exchange] == ["request", "response"]
