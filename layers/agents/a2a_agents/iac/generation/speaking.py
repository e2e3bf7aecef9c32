"""An agent as a model: whatever a bridge made of a framework's agent can write templates, tools or not.

The agent is told the whole conversation as one message, and to write the calls of tools as fenced JSON in its
answer. It keeps no state of its own between answers, gets no files, and is allowed nothing.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

from a2a_agents.iac.generation.model import Call, Delta, ModelError, Piece, Said, Tokens, Tool
from a2a_serverless.agent import (
    Agent,
    ArtifactChunk,
    AuthRequired,
    Failed,
    InputRequired,
    Message,
    Part,
    Permission,
    Rejected,
    Turn,
    Usage,
)
from a2a_serverless.protocol.objects import Role

TOOLS = """\
To call a tool, write a fenced block, and nothing after the last one:
```tool
{{"name": "write_file", "arguments": {{"name": "template.yaml", "content": "…"}}}}
```
The tools:
{tools}
"""

FENCED = re.compile(r"^```tool[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)

SECONDS = 120.0


class _Host:
    """A host that has time, and allows nothing."""

    def remaining_seconds(self) -> float:
        return SECONDS

    async def checkpoint(self, resume_after: float) -> None:
        if resume_after > 0:
            raise ModelError("the agent wants to wait", passing=True)

    async def ask_permission(self, permission: Permission) -> bool:  # noqa: ARG002  whatever it is
        return False


class SpeakingModel:
    """A model that speaks through an agent."""

    def __init__(self, agent: object, name: str) -> None:
        self._agent = cast("Agent", agent)
        self.name = name

    async def answer(
        self, instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], *, most_tokens: int
    ) -> AsyncGenerator[Piece, None]:
        """See `Model.answer`."""
        text = ""
        async with aclosing(self._updates(_prompt(instructions, conversation, tools, most_tokens))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    text += piece
                else:
                    yield piece
        said = FENCED.sub("", text).strip()
        if said:
            yield Delta(said + "\n")
        for number, found in enumerate(FENCED.findall(text)):
            yield _call(found, f"call-{len(conversation)}-{number}")

    async def _updates(self, prompt: str) -> AsyncGenerator[str | Tokens, None]:
        message = Message(message_id="prompt", role=Role.USER, parts=(Part(text=prompt),))
        turn = Turn(message=message, task_id="writing", context_id="writing", host=_Host())
        async for update in self._agent(turn):
            match update:
                case ArtifactChunk():
                    yield (update.text or "") + "".join(part.text or "" for part in update.parts)
                case Usage():
                    yield Tokens(update.input_tokens, update.output_tokens)
                case Failed() | Rejected() | InputRequired() | AuthRequired():
                    raise ModelError(f"{type(update).__name__.lower()} {update.text}"[:300])
                case _:
                    pass


def _call(text: str, call_id: str) -> Call:
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    name = told.get("name") if isinstance(told, Mapping) else None
    arguments: Any = told.get("arguments") if isinstance(told, Mapping) else None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        # A call of a tool that there is not: the model is told so.
        return Call(call_id=call_id, name="(unreadable)", arguments={})
    return Call(call_id=call_id, name=name, arguments=arguments)


def _prompt(instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], most: int) -> str:
    listed = "\n".join(f"- {tool.name}: {tool.description} {json.dumps(tool.schema)}" for tool in tools)
    told = [instructions, TOOLS.format(tools=listed), f"Answer with at most {most} tokens.", "", "So far:"]
    for said in conversation:
        if said.text:
            told.append(f"[{said.role}] {said.text}")
        told += [f"[{said.role} calls {call.name}] {json.dumps(call.arguments)}" for call in said.calls]
        told += [f"[result{' (failed)' if result.failed else ''}] {result.text}" for result in said.results]
    return "\n".join(told)
