"""A model of Amazon Bedrock, by its Converse API: any model there that takes tools.

The stream itself is read by the bridge. What AWS says of an error is the operator's business; callers are
told what kind it was.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from a2a_agents.iac.generation.model import Call, Delta, ModelError, Piece, Said, Tokens, Tool
from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.aws_problems import AWS_ERRORS
from a2a_serverless.frameworks.bedrock_stream import BROKEN_OFF, Answer, ConverseClient, streamed
from a2a_serverless.frameworks.runs import BUSY, TOO_LONG, NotDoneError

NOT_DONE: Mapping[str, tuple[str, bool]] = {
    BUSY: ("it is busy", True),
    BROKEN_OFF: ("the connection broke off", True),
    TOO_LONG: ("there is more to read than it can", False),
}
"""What the bridge says of an answer that did not come, for callers, and whether it may come next time."""

WORDS: Mapping[str, str] = {
    "AccessDeniedException": "the deployment may not call it",
    "ResourceNotFoundException": "Amazon Bedrock does not have it here",
    "ValidationException": "it does not take what it is sent",
}
"""What a code of AWS's means, for callers."""

STOPS = frozenset({"end_turn", "stop_sequence", "tool_use"})
"""Why an answer ends that is one."""


class BedrockModel:
    """One model, by its id or the ARN of a profile of it."""

    def __init__(self, client: ConverseClient, model_id: str) -> None:
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
        answer = Answer()
        try:
            async with aclosing(streamed(self._client, request)) as events:
                async for event in events:
                    for piece in _pieces(answer, event):
                        yield piece
        except NotDoneError as error:
            text, passing = NOT_DONE.get(str(error), ("it gave none", False))
            raise ModelError(text, passing=passing) from error
        except AWS_ERRORS as error:
            raise _problem(error) from error
        if answer.stop_reason == "max_tokens":
            raise ModelError("its answer was longer than it may be")
        if answer.stop_reason not in STOPS:
            raise ModelError("its answer had no proper end")


def _pieces(answer: Answer, event: Mapping[str, Any]) -> Iterator[Piece]:
    """What an event adds to an answer."""
    whole = len(answer.content)
    answer.take(event)
    if text := event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
        yield Delta(text)
    for block in answer.content[whole:]:
        if call := block.get("toolUse"):
            given = call["input"] if isinstance(call["input"], dict) else {}
            yield Call(call_id=call["toolUseId"], name=call["name"], arguments=given)
    if usage := event.get("metadata", {}).get("usage"):
        yield Tokens(usage.get("inputTokens", 0), usage.get("outputTokens", 0))


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


def _problem(error: Exception) -> ModelError:
    """What an error of AWS's means; one without a code is one of the way there."""
    response = getattr(error, "response", None)
    code = str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
    return ModelError(WORDS.get(code, "it cannot be reached or is out of order"), passing=not code)


def bedrock_model(model_id: str) -> BedrockModel:
    """The model of this id, as the deployment's own role reaches it."""
    return BedrockModel(AwsClients().bedrock_runtime(), model_id)
