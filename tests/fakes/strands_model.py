"""A model for agents of Strands that says what a script says, in the framework's own stream events."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from strands.models.model import Model

Block = dict[str, Any]
Script = Callable[[Sequence[Any]], Sequence[str | Block]]


class Scripted(Model):
    """A model that says what the script makes of the messages so far: texts, and blocks of other kinds."""

    def __init__(self, script: Script, stop_reason: str | None = None) -> None:
        self._script, self._stop_reason = script, stop_reason
        self.prompts: list[str | None] = []
        self.heard: list[Any] = []

    def update_config(self, **_: Any) -> None:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **_: Any
    ) -> AsyncIterator[Any]:
        self.prompts.append(system_prompt)
        self.heard.append(json.loads(json.dumps(messages, default=bytes.hex)))
        said = self._script(messages)
        yield {"messageStart": {"role": "assistant"}}
        for index, block in enumerate(said):
            if isinstance(block, str):
                yield {"contentBlockStart": {"contentBlockIndex": index, "start": {}}}
                delta: Block = {"text": block}
            elif "toolUse" in block:
                start = {"toolUse": {key: block["toolUse"][key] for key in ("toolUseId", "name")}}
                yield {"contentBlockStart": {"contentBlockIndex": index, "start": start}}
                delta = {"toolUse": {"input": json.dumps(block["toolUse"]["input"])}}
            else:
                yield {"contentBlockStart": {"contentBlockIndex": index, "start": {}}}
                delta = block
            yield {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}
            yield {"contentBlockStop": {"contentBlockIndex": index}}
        calls = any(not isinstance(block, str) and "toolUse" in block for block in said)
        yield {"messageStop": {"stopReason": self._stop_reason or ("tool_use" if calls else "end_turn")}}
        usage = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def call(name: str, call_id: str = "call-1", /, **arguments: Any) -> Block:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
