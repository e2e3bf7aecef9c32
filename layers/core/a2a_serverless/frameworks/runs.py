"""One run of a framework as its bridge tells of it: what it starts from, and how it ends.

Also the texts for the ends that are expected: what callers read, whatever the framework's exception says.
Knows no framework.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a_serverless.agent import Permission, Turn, Update
from a2a_serverless.frameworks.messages import Response

TOO_LONG = "The conversation had grown too long for the model and lost its older half. Please say it again."
BUSY = "The model is busy. Please try again later."
TOO_MANY_STEPS = "The agent gave up after too many steps."
REFUSED = "The model refused to answer."
CUT_SHORT = "The answer was cut short: it had reached the model's greatest length."
NOT_ALLOWED = "The agent's rules do not allow this."
TOO_MUCH = "The agent has a question, but too much to remember until it is answered."


class NotDoneError(Exception):
    """The run ended without an answer; the text is for the caller."""


@dataclass(frozen=True)
class Question:
    """Something a run waits for: a decision when it is a permission, else whatever the caller answers.

    `key` tells the questions of one run apart. `data` goes with the text, for programs.
    """

    key: str
    text: str = ""
    data: Any = None
    permission: Permission | None = None


@dataclass(frozen=True)
class Stopped:
    """A run ended with questions. `run` is JSON, all that is needed to go on in another process."""

    run: Any
    questions: Sequence[Question]


@dataclass(frozen=True)
class Over:
    """A run ended with an answer.

    Attributes:
        messages: the conversation as JSON, with what this run added at its end.
        begins: tells of each message whether an exchange begins with it.
        rest: what else the framework wants to find again, as JSON.
    """

    messages: Sequence[Any]
    begins: Callable[[Any], bool]
    rest: Any = None


@dataclass(frozen=True)
class Earlier:
    """What a run starts from: the conversation, or itself where it had stopped, with the answers by key."""

    messages: Sequence[Any] = ()
    rest: Any = None
    stopped: Any = None
    answers: Mapping[str, Any] = field(default_factory=dict)


Step = Update | Stopped | Over
"""What a run yields: what happens, and at its end how it ended."""

Run = Callable[[Turn, Earlier, Response], AsyncGenerator[Step, None]]
"""One run of a framework for one turn."""
