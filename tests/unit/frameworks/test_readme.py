"""The examples of the bridges' page, run as they stand there: taken out of it, with a model that is none."""

import re
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from agents.models.multi_provider import MultiProvider
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage

from a2a_serverless.agent import Agent
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from tests.fakes.bedrock import Bedrock, Frame, answer, call, speaking, text
from tests.integration.infra.declared import ROOT
from tests.unit.frameworks.callers import text_of

PAGE = (ROOT / "layers" / "core" / "a2a_serverless" / "frameworks" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = dict(BLOCKS)


def example(heading: str) -> Agent:
    """The agent of an example."""
    module: dict[str, Any] = {"__name__": "parcels.agent"}
    exec(compile(EXAMPLES[heading], f"README.md, {heading}", "exec"), module)  # noqa: S102  it is our own
    made: Agent = module["agent"]
    return made


def sends(asked: Mapping[str, Any]) -> list[Frame]:
    """A model that sends the cup to Rome, and says what came of it."""
    last = asked["messages"][-1]["content"]
    if results := [block["toolResult"] for block in last if "toolResult" in block]:
        return [*text(results[0]["content"][0]["text"])]
    return [*answer(call("send", item="The cup", to="Rome"))]


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bedrock]:
    """What the environment calls Amazon Bedrock."""
    with speaking(sends) as speaker:
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            monkeypatch.setenv(name, "eu-central-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "none")
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"http://127.0.0.1:{speaker.port}")
        yield speaker


def test_every_bridge_has_an_example_that_fits_on_a_page() -> None:
    headings = {"Strands", "LangGraph", "Pydantic AI", "OpenAI Agents", "Bedrock Converse", "a2a-sdk"}

    assert EXAMPLES.keys() == headings
    assert max(len(code.splitlines()) for code in EXAMPLES.values()) <= 25


def test_the_profile_is_one() -> None:
    (code,) = re.findall(
        r"```python\n(# layers/agents/parcels/profile.py.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    module: dict[str, Any] = {}
    exec(code, module)  # noqa: S102  as above

    assert module["profile"].name == "Parcels"


@pytest.mark.usefixtures("bedrock")
@pytest.mark.parametrize("heading", ["Strands", "Pydantic AI", "Bedrock Converse"])
def test_what_asks_amazon_bedrock_sends_with_permission(heading: str) -> None:
    served = example(heading)
    happened = rehearse(served, "Send the cup to Rome", decisions=[True], caller={"sub": "alice"})

    (asked,) = happened.asked
    assert (asked.tool, asked.arguments) == ("send", {"item": "The cup", "to": "Rome"})
    assert happened.state is TaskState.COMPLETED
    assert text_of(happened).startswith("The cup is on its way to Rome")

    refused = rehearse(served, "Send the cup to Rome", decisions=[False])
    assert "is on its way" not in text_of(refused)


def test_the_graph_asks_before_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("langchain_aws")
    said = FakeMessagesListChatModel(responses=[AIMessage("A cup for Rome.")])
    stand_in.ChatBedrockConverse = lambda **_: said  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "langchain_aws", stand_in)
    happened = rehearse(example("LangGraph"), "Send the cup to Rome", "yes")

    assert happened.turns[0].text == "Shall I send it?"
    assert text_of(happened) == "A cup for Rome.\n\nSent."


def test_the_agent_of_openai_agents_sends_with_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(called: ModelCall) -> Any:
        last = called.input[-1]
        if last.get("type") == "function_call_output":
            return [assistant_message(last["output"])]
        return [function_call("send", {"item": "The cup", "to": "Rome"}, call_id="call-1")]

    scripted = ScriptedModel([ModelStep.respond(say)] * 2)
    monkeypatch.setattr(MultiProvider, "get_model", lambda *_: scripted)
    happened = rehearse(
        example("OpenAI Agents"), "Send the cup to Rome", decisions=[True], caller={"sub": "alice"}
    )

    assert text_of(happened) == "The cup is on its way to Rome, sent by alice."


def test_the_executor_asks_where_to() -> None:
    happened = rehearse(example("a2a-sdk"), "Send the cup", "Rome")

    assert happened.turns[0].text == "Where to?"
    assert happened.texts == {"receipt": "On its way to Rome."}
