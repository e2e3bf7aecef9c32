"""Models by name, and each way of reaching one: Bedrock, a deployer's own, and any agent there is."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

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


class Stream:
    """Events as they come, and whether somebody has closed them."""

    def __init__(self, *events: Mapping[str, Any], error: Exception | None = None) -> None:
        self._events = events
        self._error = error
        self.closed = False

    def __iter__(self) -> Any:
        yield from self._events
        if self._error:
            raise self._error

    def close(self) -> None:
        self.closed = True


class Bedrock:
    """Bedrock's client."""

    def __init__(self, stream: Stream | Exception) -> None:
        self.stream = stream
        self.asked: dict[str, Any] = {}

    def converse_stream(self, **request: Any) -> Any:
        self.asked = request
        if isinstance(self.stream, Exception):
            raise self.stream
        return {"stream": self.stream}


def text(delta: str) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": {"text": delta}}}


def tool_call(name: str, *pieces: str) -> list[dict[str, Any]]:
    return [
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": name}}}},
        *({"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}} for piece in pieces),
        {"contentBlockStop": {}},
    ]


def refused(code: str) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "arn:aws:iam::1:role/x may not"}}, "ConverseStream"
    )


def test_bedrocks_events_are_text_whole_calls_and_what_it_took() -> None:
    stream = Stream(
        {"messageStart": {"role": "assistant"}},
        text("Writ"), text("ing."), {"contentBlockStop": {}},
        *tool_call("write_file", '{"name": "a.y', 'aml", "content": "x"}'),
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 7, "outputTokens": 3}}},
    )  # fmt: skip

    pieces = pieces_of(BedrockModel(Bedrock(stream), "m"))

    assert pieces == [
        Delta("Writ"),
        Delta("ing."),
        Call(call_id="t1", name="write_file", arguments={"name": "a.yaml", "content": "x"}),
        Tokens(7, 3),
    ]
    assert stream.closed


def test_bedrock_is_sent_the_whole_conversation_and_the_tools() -> None:
    client = Bedrock(Stream())
    conversation = [
        Said(role="user", text="A VPC"),
        Said(role="assistant", text=" ", calls=[call("read_file", "t1", name="a")]),
        Said(role="user", results=[Result(call_id="t1", text="", failed=True)]),
        Said(role="assistant"),
    ]

    pieces_of(BedrockModel(client, "m"), *conversation)

    assert client.asked["modelId"] == "m"
    assert client.asked["system"] == [{"text": "Rules."}]
    assert client.asked["inferenceConfig"] == {"maxTokens": 100}
    assert client.asked["messages"] == [
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
    ]
    told = [one["toolSpec"]["name"] for one in client.asked["toolConfig"]["tools"]]
    assert told == ["write_file", "edit_file", "read_file", "validate_template", "ask_user"]


@pytest.mark.parametrize("given", ["{not json", "[]", ""])
def test_arguments_that_cannot_be_read_are_none(given: str) -> None:
    stream = Stream(*tool_call("write_file", given))

    assert pieces_of(BedrockModel(Bedrock(stream), "m")) == [Call(call_id="t1", name="write_file")]


@pytest.mark.parametrize(
    ("error", "words", "passing"),
    [
        (refused("AccessDeniedException"), "the deployment may not call it", False),
        (refused("ThrottlingException"), "it is asked too often", True),
        (refused("SomethingElse"), "it cannot be reached or is out of order", False),
        (EndpointConnectionError(endpoint_url="https://x"), "it cannot be reached or is out of order", True),
    ],
)
def test_what_aws_says_is_told_as_what_it_means(error: Exception, words: str, *, passing: bool) -> None:
    for failing in (error, Stream(text("a"), error=error)):
        with pytest.raises(ModelError) as failed:
            pieces_of(BedrockModel(Bedrock(failing), "m"))

        assert (str(failed.value), failed.value.passing) == (words, passing)


def test_an_error_within_an_answer_is_an_error() -> None:
    stream = Stream(text("a"), {"throttlingException": {"message": "arn:…"}})

    with pytest.raises(ModelError, match="asked too often"):
        pieces_of(BedrockModel(Bedrock(stream), "m"))
    assert stream.closed


def test_an_answer_that_was_cut_short_is_none() -> None:
    with pytest.raises(ModelError, match="longer than it may be"):
        pieces_of(BedrockModel(Bedrock(Stream({"messageStop": {"stopReason": "max_tokens"}})), "m"))


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
