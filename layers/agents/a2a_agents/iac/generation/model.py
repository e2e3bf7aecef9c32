"""A model as this skill needs one: it is told things, and says text, calls tools, and what that took.

The conversation is JSON, so that it outlives an invocation. Which model it is, and how it is reached, is the
business of whoever realises `Model`.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field


class Call(BaseModel):
    """A tool that the model calls. `call_id` tells the calls of a conversation apart."""

    call_id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Result(BaseModel):
    """What came of a call."""

    call_id: str
    text: str
    failed: bool = False


class Said(BaseModel):
    """One message of the conversation: the user's text or results of tools, or the model's text and calls."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: list[Call] = Field(default_factory=list)
    results: list[Result] = Field(default_factory=list)


@dataclass(frozen=True)
class Tool:
    """A tool as the model is told of it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Delta:
    """A piece of the model's text."""

    text: str


@dataclass(frozen=True)
class Tokens:
    """What an answer took."""

    input: int
    output: int


Piece = Delta | Call | Tokens
"""What an answer is made of."""


class ModelError(Exception):
    """The model gave no answer; the text may be shown to callers. `passing` says that it may next time."""

    def __init__(self, text: str, *, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


class Model(Protocol):
    """A model with tools."""

    @property
    def name(self) -> str:
        """What it is called, for the record of what it took."""

    def answer(
        self, instructions: str, conversation: Sequence[Said], tools: Sequence[Tool], *, most_tokens: int
    ) -> AsyncGenerator[Piece, None]:
        """Its next message, piece by piece; a call comes whole.

        Raises:
            ModelError: there is none.
        """
