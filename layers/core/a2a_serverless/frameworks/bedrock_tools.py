"""Tools for a model on Amazon Bedrock: plain functions, described to the model by their signature.

The framework bridges leave tools to their frameworks; Bedrock has none, so here is as little as a tool
needs. Knows nothing of the API but the shape of a tool's description.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from a2a_serverless.agent import Permission, Turn


class ToolError(Exception):
    """A tool could not do it; the text is for the model, and may reach the caller."""


class Tool:
    """A function that the model may call; async, or else run in a thread.

    Its parameters are described to the model by their types and defaults, the tool by its docstring. One
    annotated `Turn` is given the turn and is none of the model's. What it returns goes back to the model: a
    text as it is, anything else as JSON. A `ToolError` goes back as an error, other exceptions crash the
    turn.

    `permission` makes, of what the model wants to call it with, the permission that the caller is asked for
    first. `question` makes of it what to ask the caller instead of calling the function: the answer is the
    result.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        description: str = "",
        permission: Callable[[Mapping[str, Any]], Permission] | None = None,
        question: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.description = description or inspect.getdoc(function) or self.name
        self.permission = permission
        self.question = question
        hints = get_type_hints(function)
        self._turns = [key for key, hint in hints.items() if hint is Turn]
        fields: dict[str, Any] = {
            key: (hints.get(key, Any), ... if given.default is given.empty else given.default)
            for key, given in inspect.signature(function).parameters.items()
            if key not in self._turns
        }
        self._input: type[BaseModel] = create_model(
            self.name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields
        )

    @property
    def specification(self) -> dict[str, Any]:
        """The tool as the API describes one."""
        schema = self._input.model_json_schema()
        return {
            "toolSpec": {
                "name": self.name,
                "description": self.description,
                "inputSchema": {"json": {key: value for key, value in schema.items() if key != "title"}},
            }
        }

    def invalid(self, given: Any) -> str | None:  # noqa: ANN401  whatever a model makes up
        """What is wrong with this input, for the model; None when nothing is."""
        try:
            self._input.model_validate(given)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
        return None

    async def call(self, turn: Turn, given: Mapping[str, Any]) -> Any:  # noqa: ANN401  whatever it returns
        """What the function returns."""
        read = self._input.model_validate(given)
        arguments = {name: getattr(read, name) for name in type(read).model_fields}
        arguments |= dict.fromkeys(self._turns, turn)
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        return await asyncio.to_thread(self.function, **arguments)


def ask_caller() -> Tool:
    """A tool by which the model asks the caller, in words, what it cannot know."""

    def ask(question: str) -> str:
        """Ask the user a question, when something is missing that only the user can know or decide."""
        raise NotImplementedError(question)

    return Tool(ask, name="ask_user", question=lambda given: str(given["question"]))
