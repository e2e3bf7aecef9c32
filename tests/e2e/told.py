"""An agent that says who called."""

import json
from collections.abc import AsyncIterator

from a2a_serverless.agent import AgentProfile, AgentSkill, Completed, Turn, Update

profile = AgentProfile(
    name="Told",
    description="Says what it was told of its caller.",
    skills=(AgentSkill(id="told", name="Told", description="Says who called.", tags=("test",)),),
)


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """The caller, as JSON."""
    yield Completed(json.dumps(dict(turn.caller), sort_keys=True))
