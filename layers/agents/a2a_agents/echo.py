"""The smallest useful agent: gives the message back as an artifact. Good for smoke tests and benches."""

from collections.abc import AsyncIterator

from a2a_serverless.agent import AgentProfile, AgentSkill, ArtifactChunk, Turn, Update

profile = AgentProfile(
    name="Echo Agent",
    description="Gives back what it is sent.",
    skills=(
        AgentSkill(
            id="echo",
            name="Echo",
            description="Answers with an artifact that holds the parts of the message.",
            tags=("echo", "test"),
            examples=("Hello",),
        ),
    ),
    input_modes=("*/*",),
    output_modes=("*/*",),
)


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """One artifact, then done."""
    yield ArtifactChunk("echo", parts=turn.message.parts, name="Echo", last_chunk=True)
