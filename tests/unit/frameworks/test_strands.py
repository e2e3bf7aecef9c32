"""Agents of Strands behind the bridge, on a model of ours that speaks the framework's own stream events."""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent, ToolContext, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.hooks import BeforeInvocationEvent, BeforeToolCallEvent
from strands.types.exceptions import (
    ContextWindowOverflowException,
    ModelThrottledException,
)
from strands.vended_interventions.hitl import HumanInTheLoop
from strands.vended_tools.handoff_to_user import handoff_to_user

from a2a_serverless.agent import ArtifactChunk, Part, Permission, Thinking, Usage
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks import strands
from tests.fakes.strands_model import Block, Script, Scripted, call
from tests.unit.frameworks.callers import (
    PNG,
    Endless,
    cancelled_once,
    chunks_of,
    heard_from,
    text_of,
    tools_of,
    turn,
    two_conversations,
    updates_of,
    usage_of,
)


def said_by_callers(messages: Sequence[Any]) -> list[str]:
    texts = [block for message in messages if message["role"] == "user" for block in message["content"]]
    return [block["text"] for block in texts if "text" in block]


def returned(messages: Sequence[Any]) -> list[Any]:
    """What tools have returned since the model spoke last."""
    results = [block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block]
    return [result["content"][0].get("text") for result in results]


def echo(messages: Sequence[Any]) -> list[str | Block]:
    return ["I heard ", " and ".join(said_by_callers(messages))]


def serving(script: Script = echo, **others: Any) -> Callable[[Any], Agent]:
    return lambda _: Agent(model=Scripted(script), **others)


def test_text_streams_as_it_comes_and_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    updates = updates_of(strands.agent(serving()), turn("a cup"))

    assert chunks_of(updates) == ["I heard ", "a cup", ""]
    assert [update.last_chunk for update in updates if isinstance(update, ArtifactChunk)] == [
        False,
        False,
        True,
    ]
    assert usage_of(updates) == [Usage(10, 2, "scripted")]
    # The framework prints what its agents say unless told otherwise.
    assert capsys.readouterr().out == ""


def test_a_conversation_goes_on_and_the_system_prompt_is_the_agents_own() -> None:
    model = Scripted(echo)
    happened = rehearse(
        strands.agent(lambda _: Agent(model=model, system_prompt="Be kind.")), "a cup", "a plate", "a bowl"
    )

    assert text_of(happened) == "I heard a cup and a plate and a bowl"
    assert model.prompts == ["Be kind."] * 3
    assert [message["role"] for message in model.heard[-1]] == ["user", "assistant"] * 2 + ["user"]


def test_tools_are_called_and_told_of() -> None:
    @tool
    def weigh(item: str) -> str:
        """Weigh it."""
        if item == "air":
            raise ValueError("nothing there")
        return f"{item}: 300 g"

    def script(messages: Sequence[Any]) -> list[str | Block]:
        if results := returned(messages):
            return ["It weighs 300 g." if "300" in results[0] else "I cannot."]
        return ["I look.", call("weigh", item=said_by_callers(messages)[-1])]

    happened = rehearse(strands.agent(serving(script, tools=[weigh])), "cup", "air")

    assert tools_of(happened.turns[0].updates) == [
        ("call", "weigh", None),
        ("call", "weigh", {"item": "cup"}),
        ("result", "weigh", "cup: 300 g"),
    ]
    assert "nothing there" in tools_of(happened.turns[1].updates)[-1][2]
    assert text_of(happened) == "I look.\n\nI cannot."


def test_thoughts_are_told_as_thoughts() -> None:
    thought = {"reasoningContent": {"text": "A cup, surely."}}
    updates = updates_of(strands.agent(serving(lambda _: [thought, "A cup."])), turn("What is it?"))

    assert [update.text for update in updates if isinstance(update, Thinking)] == ["A cup, surely."]


def test_images_documents_and_json_reach_the_model_and_stay_in_the_conversation() -> None:
    model = Scripted(echo)
    photo = PNG * 300
    sent = (
        Part(data={"order": 1042}),
        Part(raw=photo, media_type="image/png"),
        Part(raw=b"%PDF", media_type="application/pdf", filename="a/bill.pdf"),
    )
    happened = rehearse(strands.agent(lambda _: Agent(model=model)), sent, "And now?")

    given = [
        {"text": '{"order": 1042}'},
        {"image": {"format": "png", "source": {"bytes": photo.hex()}}},
        {"document": {"format": "pdf", "source": {"bytes": b"%PDF".hex()}, "name": "a-bill-pdf (3)"}},
    ]
    assert [heard[0]["content"] for heard in model.heard] == [given, given]
    assert len(happened.files) == 1
    assert len(json.dumps(happened.saved)) < 4_000


def test_what_the_agent_cannot_take_is_rejected() -> None:
    happened = rehearse(
        strands.agent(serving()), Part(raw=b"\0", media_type="application/zip", filename="a.zip")
    )

    assert (happened.state, happened.text) == (
        TaskState.REJECTED,
        "The agent cannot take 'a.zip' of type application/zip.",
    )


def shredding(messages: Sequence[Any]) -> list[str | Block]:
    if results := returned(messages):
        return [f"Done: {', '.join(results)}"]
    return ["I delete both.", call("delete", "call-a", name="a"), call("delete", "call-b", name="b")]


def test_a_human_in_the_loop_is_the_caller_whose_decisions_outlive_the_process() -> None:
    deleted: list[str] = []

    @tool
    def delete(name: str) -> str:
        """Delete it."""
        deleted.append(name)
        return f"{name} deleted"

    def make(_: Any) -> Agent:
        return Agent(model=Scripted(shredding), tools=[delete], interventions=[HumanInTheLoop()])

    happened = rehearse(
        strands.agent(make), "Delete a and b", "And again", decisions=[True, False, True, True]
    )

    assert [asked.arguments for asked in happened.asked[:2]] == [{"name": "a"}, {"name": "b"}]
    assert happened.asked[0] == Permission("delete", "Run delete?", arguments={"name": "a"})
    assert deleted[0] == "a"
    assert sorted(deleted[1:]) == ["a", "b"]
    assert happened.state is TaskState.COMPLETED
    first = happened.turns[2].updates
    assert "".join(chunks_of(first)).startswith("\n\nDone: a deleted, CONFIRMATION_FAILED")


def test_an_interrupt_that_reads_like_a_permission_is_one() -> None:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"{amount} paid"

    def approve(event: BeforeToolCallEvent) -> None:
        reason = {"tool": "pay", "title": "Pay?", "effect": "Money is gone.", "read_only": False}
        if not event.interrupt("approval", reason=reason):
            event.cancel_tool = "not allowed"

    def script(messages: Sequence[Any]) -> list[str | Block]:
        return returned(messages) or [call("pay", amount=3)]

    happened = rehearse(
        strands.agent(serving(script, tools=[pay], hooks=[approve])), "Pay", decisions={"pay": False}
    )

    assert happened.asked == (Permission("pay", "Pay?", effect="Money is gone."),)
    assert text_of(happened) == "not allowed"


def test_a_question_is_put_to_the_caller_and_answered_by_the_next_message() -> None:
    def script(messages: Sequence[Any]) -> list[str | Block]:
        return (
            [f"To {results[0]}."]
            if (results := returned(messages))
            else [call("handoff_to_user", message="Where to?")]
        )

    happened = rehearse(strands.agent(serving(script, tools=[handoff_to_user])), "Send it", "Rome")

    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.INPUT_REQUIRED, "Where to?"),
        (TaskState.COMPLETED, ""),
    ]
    assert text_of(happened) == "To Rome."
    assert [message["role"] for message in happened.saved["strands"]["exchanges"][0]] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_the_agents_own_state_goes_with_the_conversation() -> None:
    @tool(context=True)
    def count(tool_context: ToolContext) -> str:
        """Count."""
        number = (tool_context.agent.state.get("number") or 0) + 1
        tool_context.agent.state.set("number", number)
        return str(number)

    def script(messages: Sequence[Any]) -> list[str | Block]:
        return returned(messages) or [call("count")]

    happened = rehearse(strands.agent(serving(script, tools=[count])), "One", "Another")

    assert text_of(happened) == "2"


class Parcel(BaseModel):
    """What is sent."""

    weight: int


def test_a_structured_result_is_json() -> None:
    served = serving(lambda _: [call("Parcel", weight=3)], structured_output_model=Parcel)
    updates = updates_of(strands.agent(served), turn("Weigh it"))

    parts = [part for update in updates if isinstance(update, ArtifactChunk) for part in update.parts]
    assert [part.data for part in parts] == [{"weight": 3}]


@pytest.mark.parametrize(
    ("reason", "state", "said"),
    [
        ("guardrail_intervened", TaskState.REJECTED, "The agent's rules do not allow this."),
        ("content_filtered", TaskState.REJECTED, "The model refused to answer."),
        (
            "max_tokens",
            TaskState.FAILED,
            "The answer was cut short: it had reached the model's greatest length.",
        ),
    ],
)
def test_an_answer_that_is_none_is_said_to_be_none(reason: str, state: TaskState, said: str) -> None:
    served = strands.agent(lambda _: Agent(model=Scripted(lambda _: ["No"], stop_reason=reason)))
    happened = rehearse(served, "Go")

    assert (happened.state, happened.text) == (state, said)
    assert happened.saved["strands"]["exchanges"] == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModelThrottledException("secret"), "The model is busy. Please try again later."),
        (LookupError("secret"), "There is no such thing."),
    ],
)
def test_what_is_expected_to_go_wrong_is_told_without_its_text(error: Exception, said: str) -> None:
    def script(_: Sequence[Any]) -> list[str | Block]:
        raise error

    served = strands.agent(
        serving(script, retry_strategy=None), failures={LookupError: "There is no such thing."}
    )
    happened = rehearse(served, "Go")

    assert (happened.state, happened.text) == (TaskState.FAILED, said)


def test_a_conversation_that_is_too_long_loses_its_older_half() -> None:
    def script(messages: Sequence[Any]) -> list[str | Block]:
        if len(messages) > 4:
            raise ContextWindowOverflowException("secret")
        return echo(messages)

    served = strands.agent(lambda _: Agent(Scripted(script), conversation_manager=NullConversationManager()))
    happened = rehearse(served, "one", "two", "three", "four")

    assert [told.state for told in happened.turns] == [
        TaskState.COMPLETED,
        TaskState.COMPLETED,
        TaskState.FAILED,
        TaskState.COMPLETED,
    ]
    assert text_of(happened) == "I heard two and four"


def test_a_run_that_reaches_its_limit_ends_the_turn() -> None:
    @tool
    def again() -> str:
        """Again."""
        return "more"

    served = strands.agent(serving(lambda _: [call("again")], tools=[again]), limits={"turns": 2})

    assert rehearse(served, "Go").text == "The agent gave up after too many steps."


def test_an_answer_that_no_model_gave_is_given_at_once() -> None:
    def deny(event: BeforeInvocationEvent) -> None:
        event.cancel = "Not today."

    happened = rehearse(strands.agent(serving(hooks=[deny])), "Go")

    assert (happened.state, text_of(happened)) == (TaskState.COMPLETED, "Not today.")


def test_anything_else_rises() -> None:
    def script(_: Sequence[Any]) -> list[str | Block]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        updates_of(strands.agent(serving(script)), turn("Go"))


def test_a_cancelled_turn_cancels_the_run_and_tells_its_threads() -> None:
    work = Endless()
    noticed = threading.Event()

    @tool(context=True)
    async def labour(tool_context: ToolContext) -> str:
        """Work."""
        threading.Thread(target=lambda: tool_context.cancel_signal.wait(30) and noticed.set()).start()
        return await work.work()

    asyncio.run(cancelled_once(work, strands.agent(serving(lambda _: [call("labour")], tools=[labour]))))

    assert work.cleaned
    assert noticed.wait(30)


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    assert two_conversations(strands.agent(serving())) == (
        "I heard alice-1 and alice-2",
        "I heard bob-1 and bob-2",
    )


def test_one_agent_serves_many_callers_one_after_the_other() -> None:
    served = Agent(model=Scripted(echo))

    assert two_conversations(strands.agent(served)) == (
        "I heard alice-1 and alice-2",
        "I heard bob-1 and bob-2",
    )
    assert served.messages == []


def test_an_agent_that_others_use_is_free_again_after_a_turn_that_was_cancelled() -> None:
    work = Endless()

    @tool
    async def labour() -> str:
        """Work."""
        return await work.work()

    def script(messages: Sequence[Any]) -> list[str | Block]:
        return [call("labour")] if said_by_callers(messages)[-1] == "Work!" else echo(messages)

    served = strands.agent(Agent(model=Scripted(script), tools=[labour]))

    async def one_after_the_other() -> list[Any]:
        await cancelled_once(work, served)
        return await heard_from(served, turn("Hello"))

    assert "".join(chunks_of(asyncio.run(one_after_the_other()))) == "I heard Hello"
