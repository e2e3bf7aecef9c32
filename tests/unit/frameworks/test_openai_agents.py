"""Agents of OpenAI Agents behind the bridge, on the framework's own scripted model."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import openai
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    ModelBehaviorError,
    ModelRefusalError,
    RunContextWrapper,
    Usage,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses.response_reasoning_item import ResponseReasoningItem, Summary
from pydantic import BaseModel

from a2a_serverless.agent import ArtifactChunk, Part, Permission, Thinking, Turn
from a2a_serverless.agent import Usage as Used
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks import openai_agents
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

Script = Callable[[Sequence[dict[str, Any]]], Any]


def model(script: Script, calls: int = 12) -> ScriptedModel:
    """The framework's own scripted model; what it says is made of the items so far."""

    def respond(call: ModelCall) -> Any:
        said = script(call.input)
        return ModelStep(said, usage=Usage(1, 10, output_tokens=2)) if isinstance(said, list) else said

    return ScriptedModel([ModelStep.respond(respond)] * calls)


def heard(items: Sequence[dict[str, Any]]) -> list[str]:
    contents = [item["content"] for item in items if item.get("role") == "user"]
    return [piece["text"] for content in contents for piece in content if piece["type"] == "input_text"]


def returned(items: Sequence[dict[str, Any]]) -> list[Any]:
    """What tools have returned since the model spoke last."""
    found: list[Any] = []
    for item in reversed(items):
        if item.get("type") != "function_call_output":
            break
        found.insert(0, item["output"])
    return found


def echo(items: Sequence[dict[str, Any]]) -> list[Any]:
    return [assistant_message(f"I heard {' and '.join(heard(items))}")]


def serving(script: Script = echo, **others: Any) -> Agent[Any]:
    return Agent("Scripted", model=model(script), **others)


def call(name: str, arguments: dict[str, Any] | None = None, call_id: str = "call-1") -> Any:
    return function_call(name, arguments or {}, call_id=call_id)


def test_text_streams_as_it_comes_and_is_counted() -> None:
    updates = updates_of(openai_agents.agent(serving()), turn("a cup"))

    assert "".join(chunks_of(updates)) == "I heard a cup"
    assert [update.last_chunk for update in updates if isinstance(update, ArtifactChunk)][-1] is True
    assert [(used.input_tokens, used.output_tokens) for used in usage_of(updates)] == [(10, 2)]
    assert isinstance(usage_of(updates)[0], Used)


def test_a_conversation_goes_on_and_the_instructions_are_the_agents_own() -> None:
    scripted = model(echo)
    happened = rehearse(
        openai_agents.agent(Agent("Scripted", instructions="Be kind.", model=scripted)),
        "a cup",
        "a plate",
        "a bowl",
    )

    assert text_of(happened) == "I heard a cup and a plate and a bowl"
    assert [called.system_instructions for called in scripted.calls] == ["Be kind."] * 3
    assert len(happened.saved["openai_agents"]["exchanges"]) == 3


def test_tools_are_called_and_told_of() -> None:
    @function_tool
    def weigh(item: str) -> str:
        """Weigh it."""
        return f"{item}: 300 g"

    def script(items: Sequence[dict[str, Any]]) -> list[Any]:
        if returned(items):
            return [assistant_message("300 g.")]
        return [assistant_message("I look."), call("weigh", {"item": "cup"})]

    happened = rehearse(openai_agents.agent(serving(script, tools=[weigh])), "How heavy?")

    assert tools_of(happened.updates) == [
        ("call", "weigh", None),
        ("call", "weigh", {"item": "cup"}),
        ("result", "weigh", "cup: 300 g"),
    ]
    assert text_of(happened) == "I look.\n\n300 g."


def test_thoughts_are_told_as_thoughts() -> None:
    thought = ResponseReasoningItem(
        id="r", type="reasoning", summary=[Summary(text="Hm.", type="summary_text")]
    )
    updates = updates_of(
        openai_agents.agent(serving(lambda _: [thought, assistant_message("A cup.")])), turn("What is it?")
    )

    assert [update.text for update in updates if isinstance(update, Thinking)] == ["Hm."]


def test_images_documents_and_json_reach_the_model_and_stay_in_the_conversation() -> None:
    scripted = model(echo)
    sent = (
        Part(data={"order": 1042}),
        Part(raw=PNG * 300, media_type="image/png"),
        Part(raw=b"%PDF", media_type="application/pdf", filename="bill.pdf"),
        Part(raw=b"RIFF", media_type="audio/wav"),
    )
    happened = rehearse(openai_agents.agent(Agent("Scripted", model=scripted)), sent, "And now?")

    given = [called.input[0]["content"] for called in scripted.calls]
    assert [piece["type"] for piece in given[0]] == ["input_text", "input_image", "input_file", "input_audio"]
    assert given[0] == given[1]
    assert len(happened.files) == 1


def test_what_the_agent_cannot_take_is_rejected() -> None:
    happened = rehearse(
        openai_agents.agent(serving()), Part(raw=b"\0", media_type="application/zip", filename="a.zip")
    )

    assert (happened.state, happened.text) == (
        TaskState.REJECTED,
        "The agent cannot take 'a.zip' of type application/zip.",
    )


class Parcel(BaseModel):
    weight: int


def test_a_structured_result_is_json() -> None:
    served = serving(lambda _: [assistant_message('{"weight": 3}')], output_type=Parcel)
    updates = updates_of(openai_agents.agent(served), turn("Weigh it"))

    parts = [part for update in updates if isinstance(update, ArtifactChunk) for part in update.parts]
    assert [part.data for part in parts] == [{"weight": 3}]


def shredder(deleted: list[str]) -> Agent[Any]:
    """An agent that deletes two files, each with approval."""

    @function_tool(needs_approval=True)
    def delete(run: RunContextWrapper[Turn], name: str) -> str:
        """Delete it."""
        deleted.append(f"{name} for {run.context.caller['subject']}")
        return f"{name} deleted"

    def script(items: Sequence[dict[str, Any]]) -> list[Any]:
        if results := returned(items):
            return [assistant_message(f"Done: {', '.join(results)}")]
        both = [call("delete", {"name": name}, f"call-{name}-{len(items)}") for name in "ab"]
        return [assistant_message("I delete both."), *both]

    return serving(script, tools=[delete])


def test_approvals_are_asked_one_by_one_and_the_run_goes_on_where_it_stopped() -> None:
    deleted: list[str] = []
    happened = rehearse(
        openai_agents.agent(lambda _: shredder(deleted)),
        "Delete a and b",
        "And again",
        decisions=[True, False, True, True],
        caller={"subject": "alice"},
    )

    assert happened.asked[:2] == (
        Permission("delete", "Run delete?", arguments={"name": "a"}),
        Permission("delete", "Run delete?", arguments={"name": "b"}),
    )
    assert deleted[0] == "a for alice"
    assert sorted(deleted[1:]) == ["a for alice", "b for alice"]
    assert happened.state is TaskState.COMPLETED
    assert len(happened.saved["openai_agents"]["exchanges"]) == 2
    assert "Done: a deleted, Tool execution was not approved." in "".join(
        chunks_of(happened.turns[2].updates)
    )


def test_what_tools_find_as_their_context_is_never_stored() -> None:
    saved: dict[str, Any] = {}
    served = openai_agents.agent(
        shredder([]), context=lambda _: {"password": "secret", "caller": {"subject": "alice"}}
    )

    with pytest.raises(NotImplementedError):  # this host asks nobody
        updates_of(served, turn("Delete a and b", state=saved))

    assert saved["openai_agents"]["waiting"]
    assert "secret" not in json.dumps(saved)


def api_error(kind: type[openai.APIStatusError], status: int, code: str) -> Exception:
    response = httpx2.Response(status, request=httpx2.Request("POST", "https://example.com"))
    return kind("secret", response=response, body={"code": code})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (api_error(openai.RateLimitError, 429, "rate_limit"), "The model is busy. Please try again later."),
        (api_error(openai.BadRequestError, 400, "context_length_exceeded"), "lost its older half"),
        (ModelRefusalError("secret"), "The model refused to answer."),
        (LookupError("secret"), "There is no such thing."),
    ],
)
def test_what_is_expected_to_go_wrong_is_told_without_its_text(error: Exception, said: str) -> None:
    def script(items: Sequence[dict[str, Any]]) -> Any:
        return error if heard(items)[-1] == "fail" else echo(items)

    served = openai_agents.agent(serving(script), failures={LookupError: "There is no such thing."})
    happened = rehearse(served, "one", "two", "fail", "three")

    assert happened.turns[2].state is TaskState.FAILED
    assert said in happened.turns[2].text
    assert "secret" not in happened.turns[2].text
    assert text_of(happened) == "I heard " + ("two" if "half" in said else "one and two") + " and three"


@pytest.mark.parametrize("error", [ModelBehaviorError("odd"), api_error(openai.BadRequestError, 400, "odd")])
def test_anything_else_rises(error: Exception) -> None:
    with pytest.raises(type(error)):
        updates_of(openai_agents.agent(serving(lambda _: error)), turn("Go"))


def test_too_many_steps_end_the_turn() -> None:
    @function_tool
    def again() -> str:
        """Again."""
        return "more"

    served = serving(lambda items: [call("again", {}, f"call-{len(items)}")], tools=[again])

    assert rehearse(openai_agents.agent(served, max_turns=2), "Go").text == (
        "The agent gave up after too many steps."
    )


def test_guardrails_reject() -> None:
    @input_guardrail
    def before(_: Any, __: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="bad question" in str(given))

    @output_guardrail
    def after(_: Any, __: Any, said: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(None, tripwire_triggered="bad answer" in said)

    served = openai_agents.agent(serving(input_guardrails=[before], output_guardrails=[after]))
    happened = rehearse(served, "bad question", "bad answer", "good")

    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.REJECTED, "The agent's rules do not allow this."),
        (TaskState.REJECTED, "The agent's rules do not allow this."),
        (TaskState.COMPLETED, ""),
    ]


def test_a_cancelled_turn_cancels_the_run() -> None:
    work = Endless()

    @function_tool
    async def labour() -> str:
        """Work."""
        return await work.work()

    served = openai_agents.agent(serving(lambda _: [call("labour")], tools=[labour]))
    asyncio.run(cancelled_once(work, served))

    assert work.cleaned


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    assert two_conversations(openai_agents.agent(serving())) == (
        "I heard alice-1 and alice-2",
        "I heard bob-1 and bob-2",
    )


def test_what_a_tool_returns_may_be_the_answer() -> None:
    @function_tool
    def weigh() -> str:
        """Weigh it."""
        return "300 g"

    served = serving(lambda _: [call("weigh")], tools=[weigh], tool_use_behavior="stop_on_first_tool")

    assert text_of(rehearse(openai_agents.agent(served), "How heavy?")) == "300 g"


def test_a_call_whose_input_is_no_json_is_shown_as_it_is() -> None:
    @function_tool
    def weigh(item: str) -> str:
        """Weigh it."""
        return item

    def script(items: Sequence[dict[str, Any]]) -> list[Any]:
        wrong = function_call("weigh", "a cup", call_id="call-1")
        return [assistant_message("Sorry.")] if returned(items) else [wrong]

    told = tools_of(updates_of(openai_agents.agent(serving(script, tools=[weigh])), turn("How heavy?")))

    assert ("call", "weigh", {"input": "a cup"}) in told


def test_agents_hand_over_to_each_other() -> None:
    other = Agent[Any]("Other", model=model(lambda _: [assistant_message("I am the other.")]))
    first = serving(lambda _: [call("transfer_to_other")], handoffs=[other])

    assert text_of(rehearse(openai_agents.agent(first), "Whom am I speaking to?")) == "I am the other."
