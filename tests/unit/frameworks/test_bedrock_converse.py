"""A model on Amazon Bedrock behind the bridge, over the wire: an endpoint that speaks the real encoding."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer
from botocore.exceptions import ClientError

from a2a_serverless.agent import ArtifactChunk, Part, Permission, Thinking, Turn, Usage
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.frameworks.bedrock_converse import Tool, ToolError, agent, ask_caller
from tests.fakes.bedrock import CLOSED, CUT, HANG, Frame, Refused, Script, answer, call, event, speaking, text
from tests.unit.frameworks.callers import (
    PNG,
    chunks_of,
    heard_from,
    text_of,
    tools_of,
    turn,
    two_conversations,
    updates_of,
    usage_of,
)

MODEL = "eu.anthropic.claude-sonnet-5-v1:0"


def heard(asked: Mapping[str, Any]) -> list[str]:
    users = [message["content"] for message in asked["messages"] if message["role"] == "user"]
    return [block["text"] for content in users for block in content if "text" in block]


def returned(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What tools have returned since the model spoke last, and whether they could."""
    results = [block["toolResult"] for block in asked["messages"][-1]["content"] if "toolResult" in block]
    return [(result["content"][0]["text"], result["status"]) for result in results]


def echo(asked: Mapping[str, Any]) -> list[Frame]:
    return [*text("I heard ", " and ".join(heard(asked)))]


def served(script: Script, *messages: Any, decisions: Any = None, **others: Any) -> tuple[Any, Any]:
    """What happened when these were said, and the endpoint that heard it."""
    with speaking(script) as bedrock:
        client = bedrock.client()
        happened = rehearse(agent(MODEL, client=lambda: client, **others), *messages, decisions=decisions)
        client.close()
    return happened, bedrock


def weigh(item: str, unit: str = "g") -> str:
    """Weigh it.

    In a unit of your choice.
    """
    if item == "air":
        raise ToolError("There is nothing there.")
    return f"{item}: 300 {unit}"


def test_the_encoding_is_read_by_the_clients_own_decoder_and_its_checksums_count() -> None:
    written = event({"messageStop": {"stopReason": "end_turn"}})
    buffer = EventStreamBuffer()
    buffer.add_data(written)
    (read,) = list(buffer)
    assert read.headers[":event-type"] == "messageStop"
    assert json.loads(read.payload) == {"stopReason": "end_turn"}

    spoiled = EventStreamBuffer()
    spoiled.add_data(written[:-6] + b"!!" + written[-4:])
    with pytest.raises(ChecksumMismatch):
        list(spoiled)


def test_text_streams_as_it_comes_and_is_counted() -> None:
    happened, bedrock = served(
        echo, "a cup", system="Be kind.", request={"inferenceConfig": {"maxTokens": 99}}
    )

    assert chunks_of(happened.updates) == ["I heard ", "a cup", ""]
    assert [update.last_chunk for update in happened.updates if isinstance(update, ArtifactChunk)][-1] is True
    assert usage_of(happened.updates) == [Usage(10, 2, MODEL)]
    assert bedrock.models == [MODEL]
    assert bedrock.requests == [
        {
            "system": [{"text": "Be kind."}],
            "inferenceConfig": {"maxTokens": 99},
            "messages": [{"role": "user", "content": [{"text": "a cup"}]}],
        }
    ]


def test_a_conversation_goes_on_from_task_to_task() -> None:
    happened, bedrock = served(echo, "a cup", "a plate", "a bowl")

    assert text_of(happened) == "I heard a cup and a plate and a bowl"
    roles = [message["role"] for message in bedrock.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


def test_tools_are_described_called_and_told_of() -> None:
    def script(asked: Mapping[str, Any]) -> list[Frame]:
        if results := returned(asked):
            return [*text(f"Results: {results}")]
        return [*answer("I look.", call("weigh", "a", item="cup"), call("weigh", "b", item="air"))]

    happened, bedrock = served(script, "How heavy?", tools=[weigh])

    assert bedrock.requests[0]["toolConfig"]["tools"] == [
        {
            "toolSpec": {
                "name": "weigh",
                "description": "Weigh it.\n\nIn a unit of your choice.",
                "inputSchema": {
                    "json": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["item"],
                        "properties": {
                            "item": {"type": "string", "title": "Item"},
                            "unit": {"type": "string", "title": "Unit", "default": "g"},
                        },
                    }
                },
            }
        }
    ]
    assert tools_of(happened.updates) == [
        ("call", "weigh", None),
        ("call", "weigh", None),
        ("call", "weigh", {"item": "cup"}),
        ("call", "weigh", {"item": "air"}),
        ("result", "weigh", "cup: 300 g"),
        ("result", "weigh", "There is nothing there."),
    ]
    assert "[('cup: 300 g', 'success'), ('There is nothing there.', 'error')]" in text_of(happened)
    assert text_of(happened).startswith("I look.\n\nResults:")


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (call("weigh", unit="g"), "item: Field required"),
        (call("weigh", item="cup", colour="red"), "colour: Extra inputs are not permitted"),
        (call("paint", item="cup"), "There is no tool paint."),
    ],
)
def test_what_a_model_gets_wrong_it_is_told(called: dict[str, Any], said: str) -> None:
    def script(asked: Mapping[str, Any]) -> list[Frame]:
        return [*(text("Sorry.") if returned(asked) else answer(called))]

    happened, bedrock = served(script, "Go", tools=[weigh])

    assert returned(bedrock.requests[1]) == [(said, "error")]
    assert text_of(happened) == "Sorry."


def test_input_that_is_no_json_is_told_to_the_model() -> None:
    def script(asked: Mapping[str, Any]) -> list[Frame]:
        if returned(asked):
            return [*text("Sorry.")]
        start, opened, begun, _rest, *end = answer(call("weigh", item="cup"))
        return [start, opened, begun, *end]

    happened, bedrock = served(script, "Go", tools=[weigh])

    ((said, status),) = returned(bedrock.requests[1])
    assert (status, "not JSON" in said) == ("error", True)
    assert text_of(happened) == "Sorry."


def test_tools_may_be_async_are_given_the_turn_and_return_json() -> None:
    async def who(turn: Turn, times: int) -> dict[str, Any]:
        """Say who calls."""
        return {"caller": turn.caller["subject"], "times": times}

    def script(asked: Mapping[str, Any]) -> list[Frame]:
        return [*(text(returned(asked)[0][0]) if returned(asked) else answer(call("who", times=2)))]

    with speaking(script) as bedrock:
        client = bedrock.client()
        updates = updates_of(
            agent(MODEL, client=lambda: client, tools=[who]), turn("Who?", caller={"subject": "alice"})
        )
        client.close()

    assert "".join(chunks_of(updates)) == '{"caller": "alice", "times": 2}'
    assert "turn" not in json.dumps(bedrock.requests[0]["toolConfig"])


def test_permissions_and_questions_are_asked_before_anything_is_done() -> None:
    deleted: list[str] = []

    def delete(name: str) -> str:
        """Delete it."""
        deleted.append(name)
        return f"{name} deleted"

    shredder = Tool(delete, permission=lambda given: Permission("delete", f"Delete {given['name']}?"))

    def script(asked: Mapping[str, Any]) -> list[Frame]:
        if results := returned(asked):
            return [*text(str(results))]
        both = [call("delete", name, name=name) for name in "ab"]
        return [*answer("I delete.", *both, call("ask_user", "c", question="And c?"))]

    happened, _ = served(
        script, "Delete", "Better not", tools=[shredder, ask_caller()], decisions=[True, False]
    )

    assert [(told.state, told.text) for told in happened.turns] == [
        (TaskState.INPUT_REQUIRED, "Delete a?"),
        (TaskState.INPUT_REQUIRED, "Delete b?"),
        (TaskState.INPUT_REQUIRED, "And c?"),
        (TaskState.COMPLETED, ""),
    ]
    assert deleted == ["a"]
    results = [("a deleted", "success"), ("The user did not allow this.", "error"), ("Better not", "success")]
    assert text_of(happened) == f"I delete.\n\n{results}"


def test_thoughts_are_told_and_go_back_to_the_model_with_their_signature() -> None:
    secret = base64.b64encode(b"secret").decode()

    def script(asked: Mapping[str, Any]) -> list[Frame]:
        if len(asked["messages"]) > 1:
            return [*text("Still a cup.")]
        redacted = {"reasoningContent": {"redactedContent": secret}}
        return [*answer({"reasoningContent": {"text": "Hm."}}, redacted, "A cup.")]

    happened, bedrock = served(script, "What is it?", "Sure?")

    told = [update.text for update in happened.turns[0].updates if isinstance(update, Thinking)]
    assert told == ["Hm."]
    assert bedrock.requests[1]["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "signed"}}},
        {"reasoningContent": {"redactedContent": secret}},
        {"text": "A cup."},
    ]


def test_images_and_documents_reach_the_model_and_stay_in_the_conversation() -> None:
    photo = PNG * 300
    sent = (
        Part(raw=photo, media_type="image/png"),
        Part(raw=b"%PDF", media_type="application/pdf", filename="bill.pdf"),
    )
    happened, bedrock = served(echo, sent, "And now?")

    given = [asked["messages"][0]["content"] for asked in bedrock.requests]
    assert given[0] == given[1]
    assert given[0][0] == {"text": "file-1, bill.pdf"}
    assert base64.b64decode(given[0][1]["image"]["source"]["bytes"]) == photo
    assert given[0][2]["document"]["name"] == "bill-pdf (2)"
    assert len(happened.files) == 1


def test_what_the_agent_cannot_take_is_rejected() -> None:
    happened, bedrock = served(echo, Part(raw=b"\0", media_type="application/zip", filename="a.zip"))

    assert happened.state is TaskState.REJECTED
    assert bedrock.requests == []


@pytest.mark.parametrize(
    ("frames", "state", "said"),
    [
        (text("No", stop="guardrail_intervened"), TaskState.REJECTED, "The agent's rules do not allow this."),
        (text("No", stop="content_filtered"), TaskState.REJECTED, "The model refused to answer."),
        (text("No", stop="max_tokens"), TaskState.FAILED, "The answer was cut short"),
        (text("No", stop="malformed_tool_use"), TaskState.FAILED, "made no sense"),
        (text("No", stop="model_context_window_exceeded"), TaskState.FAILED, "lost its older half"),
        ([Refused("ThrottlingException", "secret", 429)], TaskState.FAILED, "The model is busy."),
        ([Refused("ServiceUnavailableException", "secret", 503)], TaskState.FAILED, "The model is busy."),
        ([*text("No")[:3], Refused("ThrottlingException", "secret")], TaskState.FAILED, "The model is busy."),
        ([*text("No")[:3], Refused("ModelStreamErrorException", "secret")], TaskState.FAILED, "broke off"),
        (
            [Refused("ValidationException", "Input is too long for requested model.")],
            TaskState.FAILED,
            "half",
        ),
        ([*text("No")[:3], CUT], TaskState.FAILED, "The connection to the model broke off."),
        ([*text("No")[:3], CLOSED], TaskState.FAILED, "The connection to the model broke off."),
    ],
)
def test_an_answer_that_is_none_is_said_to_be_none(frames: list[Frame], state: TaskState, said: str) -> None:
    happened, _ = served(lambda _: frames, "Go")

    assert happened.state is state
    assert said in happened.text
    assert "secret" not in happened.text
    assert happened.saved["bedrock_converse"]["exchanges"] == []


def test_a_guardrail_is_asked_for_by_the_request() -> None:
    guardrail = {"guardrailIdentifier": "g", "guardrailVersion": "1"}
    _, bedrock = served(echo, "Go", request={"guardrailConfig": guardrail})

    assert bedrock.requests[0]["guardrailConfig"] == guardrail


def test_other_errors_of_aws_rise() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        served(lambda _: [Refused("AccessDeniedException", "No.", 403)], "Go")


def test_a_failure_of_a_tool_that_was_declared_is_told_and_another_rises() -> None:
    def fail(how: str) -> str:
        """Fail."""
        raise LookupError("secret") if how == "known" else ZeroDivisionError

    def script(asked: Mapping[str, Any]) -> list[Frame]:
        return [*answer(call("fail", how=heard(asked)[-1]))]

    declared = {LookupError: "There is no such thing."}
    happened, _ = served(script, "known", tools=[fail], failures=declared)
    assert (happened.state, happened.text) == (TaskState.FAILED, "There is no such thing.")

    with pytest.raises(ZeroDivisionError):
        served(script, "unknown", tools=[fail], failures=declared)


def test_too_many_rounds_end_the_turn() -> None:
    happened, bedrock = served(
        lambda _: [*answer(call("weigh", item="cup"))], "Go", tools=[weigh], most_rounds=3
    )

    assert happened.text == "The agent gave up after too many steps."
    assert len(bedrock.requests) == 3


def test_a_cancelled_turn_lets_go_of_the_connection() -> None:
    async def cancelled(bedrock: Any, client: Any) -> None:
        task = asyncio.create_task(heard_from(agent(MODEL, client=lambda: client), turn("Go")))
        await asyncio.to_thread(bedrock.hanging.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The server sees the connection closed, not only read no more.
        assert await asyncio.to_thread(bedrock.let_go.wait, 30)

    with speaking(lambda _: [*text("No")[:3], HANG]) as bedrock:
        client = bedrock.client()
        asyncio.run(cancelled(bedrock, client))
        client.close()


def test_two_callers_at_once_hear_nothing_of_each_other() -> None:
    with speaking(echo) as bedrock:
        client = bedrock.client()
        assert two_conversations(agent(MODEL, client=lambda: client)) == (
            "I heard alice-1 and alice-2",
            "I heard bob-1 and bob-2",
        )
        client.close()


def test_a_client_is_made_once_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with speaking(echo) as bedrock:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", f"http://127.0.0.1:{bedrock.port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
        happened = rehearse(agent(MODEL, region="eu-central-1"), "a cup", "a plate")

    assert text_of(happened) == "I heard a cup and a plate"
