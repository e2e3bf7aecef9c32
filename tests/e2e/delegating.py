"""An agent that delegates everything to the one at DELEGATE_TO; whatever is thought about, it sleeps over."""

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from a2a_serverless.agent import AgentProfile, AgentSkill, Turn, Update
from a2a_serverless.client import Bearer, Options
from a2a_serverless.client.remote_agent import RemoteAgent

profile = AgentProfile(
    name="Delegate",
    description="Has another agent do whatever it is asked.",
    skills=(AgentSkill(id="delegate", name="Delegate", description="Delegates.", tags=("test",)),),
    input_modes=("*/*",),
    output_modes=("*/*",),
)

PATIENT = RemoteAgent(
    url=lambda: os.environ["DELEGATE_TO"],
    name="workshop",
    options=lambda: Options(auth=Bearer(os.environ["DELEGATE_TOKEN"])),
)
IMPATIENT = replace(PATIENT, patience=0.5, pauses=(1.0,))


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Delegate it."""
    thinks = (turn.message.parts[0].text or "").startswith("think")
    async with aclosing((IMPATIENT if thinks else PATIENT).delegate(turn)) as updates:
        async for update in updates:
            yield update
