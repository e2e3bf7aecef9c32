"""Models by name, and each way of reaching one: Bedrock, a deployer's own, and any agent there is."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from a2a_agents import echo
from a2a_agents.iac.generation import run
from a2a_agents.iac.generation.bedrock import BedrockModel
from a2a_agents.iac.generation.instructions import TOOLS
from a2a_agents.iac.generation.model import Call, Delta, Model, ModelError, Piece, Result, Said, Tokens
from a2a_agents.iac.generation.models import UnusableModelError, model_named
from a2a_agents.iac.generation.speaking import SpeakingModel
from a2a_serverless.agent import (
    Agent,
    ArtifactChunk,
    Completed,
    Failed,
    InputRequired,
    Part,
    Permission,
    Turn,
    Update,
    Usage,
    Working,
)
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from tests.fakes import bedrock as bedrock_fake
from tests.unit.agents.iac.writers import DONE, GOOD, ScriptedModel, call, writes

MINE = ScriptedModel([writes(), DONE])
NO_MODEL = 7


def made() -> ScriptedModel:
    return ScriptedModel([writes(), DONE])


def pieces_of(model: Model, *conversation: Said) -> list[Piece]:
    async def collected() -> list[Piece]:
        told = conversation or (Said(role="user", text="A VPC"),)
        return [piece async for piece in model.answer("Rules.", told, TOOLS, most_tokens=100)]

    return asyncio.run(collected())


# By name ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bedrock:eu.example.model-v1:0", BedrockModel),
        (f"{__name__}:MINE", ScriptedModel),
        (f"{__name__}:made", ScriptedModel),
        ("a2a_agents.echo:agent", SpeakingModel),
    ],
)
def test_a_model_is_found_by_its_name(name: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")

    model = model_named(name)

    assert isinstance(model, kind)
    assert model.name


@pytest.mark.parametrize(
    "name", ["", "nonsense", "no.such:model", f"{__name__}:missing", f"{__name__}:NO_MODEL"]
)
def test_a_name_that_leads_to_no_model_says_so_without_repeating_it(name: str) -> None:
    with pytest.raises(UnusableModelError) as refused:
        model_named(name)

    assert not name or name not in str(refused.value)


def test_without_a_model_the_skill_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IAC_MODEL", raising=False)

    happened = rehearse(run, "Create a VPC in cn-hangzhou")

    assert happened.state is TaskState.REJECTED
    assert happened.text == "Templates cannot be written here: this deployment has no model configured."


def test_with_a_model_the_skill_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_MODEL", f"{__name__}:made")
    monkeypatch.setenv("IAC_REGION", "cn-hangzhou")
    monkeypatch.delenv("IAC_ROS_CREDENTIALS", raising=False)

    happened = rehearse(run, "Create a VPC")

    assert happened.state is TaskState.COMPLETED
    assert happened.texts["template.yaml"] == GOOD


# Bedrock ----------------------------------------------------------------------------------------------------


def bedrock(
    frames: Sequence[bedrock_fake.Frame], *conversation: Said
) -> tuple[list[Piece], bedrock_fake.Bedrock]:
    """What the model says where Bedrock answers so."""
    with bedrock_fake.speaking(lambda _: frames) as endpoint:
        return pieces_of(BedrockModel(endpoint.client(), "eu.example.model-v1:0"), *conversation), endpoint


def test_bedrocks_events_are_text_whole_calls_and_what_it_took() -> None:
    written = bedrock_fake.call("write_file", "t1", name="a.yaml", content="x")

    pieces, endpoint = bedrock(bedrock_fake.answer("Writing.", written))

    assert pieces == [
        Delta("Writing."),
        Call(call_id="t1", name="write_file", arguments={"name": "a.yaml", "content": "x"}),
        Tokens(10, 2),
    ]
    assert endpoint.models == ["eu.example.model-v1:0"]


def test_bedrock_is_sent_the_whole_conversation_and_the_tools() -> None:
    conversation = [
        Said(role="user", text="A VPC"),
        Said(role="assistant", text=" ", calls=[call("read_file", "t1", name="a")]),
        Said(role="user", results=[Result(call_id="t1", text="", failed=True)]),
        Said(role="assistant"),
        Said(role="user", text="Go on"),
    ]

    _, endpoint = bedrock(bedrock_fake.text("Done."), *conversation)

    (asked,) = endpoint.requests
    assert asked["system"] == [{"text": "Rules."}]
    assert asked["inferenceConfig"] == {"maxTokens": 100}
    assert asked["messages"] == [
        {"role": "user", "content": [{"text": "A VPC"}]},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "read_file", "input": {"name": "a"}}}],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t1", "content": [{"text": "(nothing)"}], "status": "error"}}
            ],
        },
        {"role": "assistant", "content": [{"text": "(nothing)"}]},
        {"role": "user", "content": [{"text": "Go on"}]},
    ]
    told = [one["toolSpec"]["name"] for one in asked["toolConfig"]["tools"]]
    assert told == ["write_file", "edit_file", "read_file", "validate_template", "ask_user"]


@pytest.mark.parametrize(
    ("frames", "words", "passing"),
    [
        ([bedrock_fake.Refused("AccessDeniedException", "arn:aws:iam::1:role/x", 403)],
         "the deployment may not call it", False),
        ([bedrock_fake.Refused("ValidationException", "prompt is too long")],
         "there is more to read than it can", False),
        ([bedrock_fake.Refused("SomethingElse", "arn:aws:iam::1:role/x")],
         "it cannot be reached or is out of order", False),
        ([bedrock_fake.Refused("ThrottlingException", status=429)], "it is busy", True),
        ([*bedrock_fake.text("a")[:2], bedrock_fake.Refused("ThrottlingException")], "it is busy", True),
        ([*bedrock_fake.text("a")[:2], bedrock_fake.CUT], "the connection broke off", True),
        ([*bedrock_fake.text("a")[:2], bedrock_fake.CLOSED], "its answer had no proper end", False),
        (bedrock_fake.text("a", stop="max_tokens"), "its answer was longer than it may be", False),
        (bedrock_fake.text("a", stop="content_filtered"), "its answer had no proper end", False),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told_as_what_it_means(
    frames: Sequence[bedrock_fake.Frame], words: str, *, passing: bool
) -> None:
    with pytest.raises(ModelError) as failed:
        bedrock(frames)

    assert (str(failed.value), failed.value.passing) == (words, passing)


def test_who_is_not_there_may_be_next_time() -> None:
    nobody = bedrock_fake.Bedrock(lambda _: (), port=9)

    with pytest.raises(ModelError) as failed:
        pieces_of(BedrockModel(nobody.client(), "m"))

    assert failed.value.passing


# Any agent --------------------------------------------------------------------------------------------------


def plays(*updates: Update) -> Agent:
    async def agent(_: Turn) -> AsyncIterator[Update]:
        for update in updates:
            yield update

    return agent


CALLING = """I write it.

```tool
{"name": "write_file", "arguments": {"name": "template.yaml", "content": "a"}}
```
```tool
{"name": 7}
```
"""


def test_an_agent_calls_tools_by_writing_so() -> None:
    agent = plays(
        Working("thinking"),
        ArtifactChunk("response", CALLING[:30]),
        ArtifactChunk("response", parts=[Part(text=CALLING[30:])]),
        Usage(3, 2, "m"),
        Completed(),
    )

    assert pieces_of(SpeakingModel(agent, "mine")) == [
        Tokens(3, 2),
        Delta("I write it.\n"),
        Call(call_id="call-1-0", name="write_file", arguments={"name": "template.yaml", "content": "a"}),
        Call(call_id="call-1-1", name="(unreadable)"),
    ]


def test_an_agent_is_told_the_conversation_and_the_tools() -> None:
    conversation = (
        Said(role="user", text="A VPC"),
        Said(role="assistant", calls=[call("read_file", "t1", name="a.yaml")]),
        Said(role="user", results=[Result(call_id="t1", text="There is none.", failed=True)]),
    )

    told, *_ = pieces_of(SpeakingModel(echo.agent, "echo"), *conversation)

    assert isinstance(told, Delta)
    for line in (
        "Rules.",
        "- ask_user: ",
        "[user] A VPC",
        '[assistant calls read_file] {"name": "a.yaml"}',
        "[result (failed)] There is none.",
    ):
        assert line in told.text


@pytest.mark.parametrize("outcome", [Failed("out of order"), InputRequired("Which one?")])
def test_an_agent_that_does_not_answer_gives_no_answer(outcome: Update) -> None:
    with pytest.raises(ModelError, match=r"out of order|Which one"):
        pieces_of(SpeakingModel(plays(outcome), "mine"))


def asking(ask: Callable[[Turn], Any]) -> Agent:
    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield ArtifactChunk("response", f"{turn.remaining_seconds() > 0} {await ask(turn)}")

    return agent


def test_an_agent_within_another_is_allowed_nothing_and_does_not_wait() -> None:
    allowed = asking(lambda turn: turn.ask_permission(Permission("shell", "Run it?")))
    passing = asking(lambda turn: turn.checkpoint())
    waiting = asking(lambda turn: turn.checkpoint(resume_after=5))

    assert pieces_of(SpeakingModel(allowed, "mine")) == [Delta("True False\n")]
    assert pieces_of(SpeakingModel(passing, "mine")) == [Delta("True None\n")]
    with pytest.raises(ModelError):
        pieces_of(SpeakingModel(waiting, "mine"))
