"""A model of Amazon Bedrock, by its Converse API: any model there that takes tools.

AWS's client is synchronous: an answer is read in threads, event by event, and closed when nobody wants more
of it. What AWS says of an error is the operator's business; callers are told what kind it was.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Protocol

from a2a_agents.iac.generation.model import Call, Delta, ModelError, Piece, Said, Tokens, Tool
from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.aws_problems import AWS_ERRORS

PASSING = frozenset(
    {
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelStreamErrorException",
        "ModelTimeoutException",
        "ServiceUnavailableException",
        "ThrottlingException",
    }
)
"""Codes of what may be gone next time."""

WORDS: Mapping[str, str] = {
    "AccessDeniedException": "the deployment may not call it",
    "ResourceNotFoundException": "Amazon Bedrock does not have it here",
    "ThrottlingException": "it is asked too often",
    "ValidationException": "it does not take what it is sent",
}
"""What a code means, for callers."""

EVENTS_WITH_ERRORS: Mapping[str, str] = {
    "internalServerException": "InternalServerException",
    "modelStreamErrorException": "ModelStreamErrorException",
    "serviceUnavailableException": "ServiceUnavailableException",
    "throttlingException": "ThrottlingException",
    "validationException": "ValidationException",
}
"""Errors that come in the middle of an answer."""


class BedrockClient(Protocol):
    """What is used of Bedrock's client."""

    def converse_stream(self, **request: Any) -> Any:  # noqa: ANN401  as AWS has it
        """https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html."""


class BedrockModel:
    """One model, by its id or the ARN of a profile of it."""

    def __init__(self, client: BedrockClient, model_id: str) -> None:
        self._client = client
        self.name = model_id

    async def answer(
        self, instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], *, most_tokens: int
    ) -> AsyncGenerator[Piece, None]:
        """See `Model.answer`."""
        request = {
            "modelId": self.name,
            "system": [{"text": instructions}],
            "messages": [_message(said) for said in conversation],
            "toolConfig": {"tools": [_tool(tool) for tool in tools]},
            "inferenceConfig": {"maxTokens": most_tokens},
        }
        answer = _Answer()
        stream = None
        try:
            response = await asyncio.to_thread(lambda: self._client.converse_stream(**request))
            stream = response["stream"]
            events = iter(stream)
            while (event := await asyncio.to_thread(next, events, None)) is not None:
                for piece in answer.pieces(event):
                    yield piece
        except AWS_ERRORS as error:
            raise _problem(_code(error)) from error
        finally:
            if stream is not None:
                stream.close()
        if answer.cut_short:
            raise ModelError("its answer was longer than it may be")


class _Answer:
    """An answer as its events come: the blocks of text and of calls, one after the other."""

    def __init__(self) -> None:
        self._open: tuple[str, str] | None = None
        self._input = ""
        self.cut_short = False

    def pieces(self, event: Mapping[str, Any]) -> Iterator[Piece]:
        """What an event adds."""
        for name, code in EVENTS_WITH_ERRORS.items():
            if name in event:
                raise _problem(code)
        if "contentBlockStart" in event:
            tool = event["contentBlockStart"].get("start", {}).get("toolUse")
            self._open = (tool["toolUseId"], tool["name"]) if tool else None
            self._input = ""
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        if delta.get("text"):
            yield Delta(delta["text"])
        self._input += delta.get("toolUse", {}).get("input", "")
        if "contentBlockStop" in event and self._open is not None:
            call_id, name = self._open
            self._open = None
            yield Call(call_id=call_id, name=name, arguments=_arguments(self._input))
        if "messageStop" in event:
            self.cut_short = event["messageStop"].get("stopReason") == "max_tokens"
        usage = event.get("metadata", {}).get("usage")
        if usage:
            yield Tokens(usage.get("inputTokens", 0), usage.get("outputTokens", 0))


def _arguments(text: str) -> dict[str, Any]:
    """A call's arguments; of what cannot be read there are none, and the tool says what it misses."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _message(said: Said) -> dict[str, Any]:
    """A message as the API has it: never empty, which it does not take."""
    content: list[dict[str, Any]] = [{"text": said.text}] if said.text.strip() else []
    content += [
        {"toolUse": {"toolUseId": call.call_id, "name": call.name, "input": call.arguments}}
        for call in said.calls
    ]
    content += [
        {
            "toolResult": {
                "toolUseId": result.call_id,
                "content": [{"text": result.text or "(nothing)"}],
                "status": "error" if result.failed else "success",
            }
        }
        for result in said.results
    ]
    return {"role": said.role, "content": content or [{"text": "(nothing)"}]}


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "toolSpec": {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": dict(tool.schema)},
        }
    }


def _code(error: Exception) -> str:
    response = getattr(error, "response", None)
    told = response.get("Error", {}) if isinstance(response, dict) else {}
    return str(told.get("Code", "ServiceUnavailableException"))


def _problem(code: str) -> ModelError:
    return ModelError(WORDS.get(code, "it cannot be reached or is out of order"), passing=code in PASSING)


def bedrock_model(model_id: str) -> BedrockModel:
    """The model of this id, as the deployment's own role reaches it."""
    return BedrockModel(AwsClients().bedrock_runtime(), model_id)
