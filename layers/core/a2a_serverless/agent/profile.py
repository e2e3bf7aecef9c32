"""What an agent says about itself; becomes its card. Light: every function of the API loads it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from a2a_serverless.protocol.card import AgentProvider, AgentSkill


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
