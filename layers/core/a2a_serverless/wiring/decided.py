"""What the settings decide, in the words of the operations and the bindings."""

from a2a_serverless.agent import AgentProfile
from a2a_serverless.bindings.caller import Admittance, Token
from a2a_serverless.ports import Policy
from a2a_serverless.settings import Settings


def policy(settings: Settings, described: AgentProfile | None = None) -> Policy:
    """What this deployment decided, and what its agent takes."""
    return Policy(
        retention=settings.retention,
        blocking_wait=settings.blocking_wait,
        deduplicate=settings.deduplication,
        streams_per_caller=settings.streams_per_caller,
        capabilities=frozenset({"streaming"} if settings.streaming else ()),
        input_modes=tuple(described.input_modes) if described else (),
    )


def admittance(settings: Settings) -> Admittance:
    """Who is let in, and under which address."""
    return Admittance(
        tokens=tuple(Token(name, sha256) for name, sha256 in settings.bearer_tokens),
        anonymous=settings.anonymous,
        local_principal=settings.local_principal,
        base_url=settings.base_url,
    )
