"""What a deployer writes against: the turn an agent is given, and the updates it yields.

An agent is an async generator function taking a `Turn`. Each thing it yields happens to the task, in order;
falling off the end completes it. This module is the one public API of the package and imports nothing of
AWS, so that an agent runs and is tested anywhere.

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working("Looking up the order")
        yield ArtifactChunk("report", "Everything is fine.")
"""

from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from a2a_serverless.protocol.card import AgentProvider, AgentSkill
from a2a_serverless.protocol.objects import Artifact, Message, Part

__all__ = [
    "Agent",
    "AgentProfile",
    "AgentProvider",
    "AgentSkill",
    "Artifact",
    "ArtifactChunk",
    "AuthRequired",
    "CardAdditions",
    "Completed",
    "ExtendedCard",
    "Failed",
    "InputRequired",
    "Message",
    "Part",
    "Rejected",
    "Turn",
    "Update",
    "Working",
]


@dataclass(frozen=True)
class Working:
    """Progress: the task is (still) being worked on. Text, or parts, or neither."""

    text: str | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class ArtifactChunk:
    """An artifact, or a piece of one: the pieces of one `artifact_id` in one turn are put together in order.

    Give `text`, or `parts` (which keep their boundaries), or both. Text pieces flow together: they are
    gathered for a few milliseconds and shown as one part. `append=False` starts the artifact anew,
    `append=True` adds to one of an earlier turn; by default the first piece of a turn starts it and later
    ones add. `last_chunk=True` says that the artifact is whole: only then is it announced to webhooks.

    Artifact ids are 1 to 128 characters of `[A-Za-z0-9_.:-]`.
    """

    artifact_id: str
    text: str | None = None
    parts: Sequence[Part] = ()
    name: str | None = None
    description: str | None = None
    media_type: str | None = None
    metadata: Mapping[str, Any] | None = None
    append: bool | None = None
    last_chunk: bool = False


@dataclass(frozen=True)
class InputRequired:
    """A question. The turn ends; the caller's answer starts the next one with `Turn.state` as it was left."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class AuthRequired:
    """The caller must authorise something elsewhere; the text says what (specification 7.6.1)."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Completed:
    """The task is done, with something to say about it. Results belong in artifacts, not here."""

    text: str | None = None
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Failed:
    """The task cannot be done; the text is shown to the caller."""

    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Rejected:
    """The agent will not do the task; the text is shown to the caller."""

    text: str
    parts: Sequence[Part] = ()


Outcome = InputRequired | AuthRequired | Completed | Failed | Rejected
"""Updates that end the turn; whatever an agent would yield after one is never asked for."""

Update = Working | ArtifactChunk | Outcome


class Host(Protocol):
    """What a turn asks of whoever runs it."""

    def remaining_seconds(self) -> float:
        """Seconds left before this invocation must have ended."""

    async def checkpoint(self, resume_after: float) -> None:
        """See `Turn.checkpoint`."""


@dataclass
class Turn:
    """One turn of a task, as given to the agent.

    Attributes:
        message: the message that started the turn; its raw content arrives as bytes.
        task_id, context_id: which task, in which conversation.
        history: earlier messages of the task, oldest first, without `message`.
        artifacts: what earlier turns produced.
        state: anything JSON can hold, kept in the conversation from turn to turn; change it in place.
        caller: verified claims about who sent the message.
        accepted_output_modes: media types the caller would like.
        segment: 1, and one more after every checkpoint that ended an invocation.
    """

    message: Message
    task_id: str
    context_id: str
    host: Host
    history: Sequence[Message] = ()
    artifacts: Sequence[Artifact] = ()
    state: MutableMapping[str, Any] = field(default_factory=dict)
    caller: Mapping[str, str] = field(default_factory=dict)
    accepted_output_modes: Sequence[str] = ()
    segment: int = 1

    def remaining_seconds(self) -> float:
        """Seconds until this invocation is cut off; a longer turn calls `checkpoint` on the way."""
        return self.host.remaining_seconds()

    async def checkpoint(self, resume_after: float = 0.0) -> None:
        """A place to go on from. Returns at once while there is time left.

        When time runs short, or `resume_after` asks to be woken in so many seconds, `state` is saved, this
        invocation ends here, and the agent is called again from its beginning with that state. Nothing is
        paid for in between, and a turn may go on for days.
        """
        await self.host.checkpoint(resume_after)


Agent = Callable[[Turn], AsyncIterator[Update]]
"""The function a deployer writes."""


@dataclass(frozen=True)
class AgentProfile:
    """What the agent says about itself; becomes the card (specification 4.4). Light: API functions load it.

    `input_modes` and `output_modes` are media types; a message with a part of another type is refused
    before the agent sees it. `*/*` takes everything.
    """

    name: str
    description: str
    skills: Sequence[AgentSkill]
    version: str = "1.0.0"
    input_modes: Sequence[str] = ("text/plain",)
    output_modes: Sequence[str] = ("text/plain",)
    provider: AgentProvider | None = None
    documentation_url: str | None = None
    icon_url: str | None = None


@dataclass(frozen=True)
class CardAdditions:
    """What the card of one caller says beyond the public one (specification 3.1.11, 13.3).

    `skills` are added; one under the id of a public skill is shown in its place. What else is given is said
    instead of what the profile says. Nothing here is a secret: it is shown to whoever may call.
    """

    skills: Sequence[AgentSkill] = ()
    description: str | None = None
    version: str | None = None
    documentation_url: str | None = None


ExtendedCard = Callable[[Mapping[str, str]], AgentProfile | CardAdditions | None]
"""What a deployer may write beside the profile: the card of one caller, by the caller's verified claims.

A profile is said instead of the public one as a whole, additions beside it; None is for callers who have no
card of their own. Light, like the profile: API functions load it, and it is called for every request.
"""
