"""What a deployer writes against: the turn an agent is given, and the updates it yields.

An agent is an async generator function taking a `Turn`. Each thing it yields happens to the task, in order;
falling off the end completes it. This package is the one public API for agents and imports nothing of
AWS, so that an agent runs and is tested anywhere.

    async def agent(turn: Turn) -> AsyncIterator[Update]:
        yield Working("Looking up the order")
        yield ArtifactChunk("report", "Everything is fine.")
"""

from a2a_serverless.agent.attachments import Attachment
from a2a_serverless.agent.permissions import Permission
from a2a_serverless.agent.profile import AgentProfile, CardAdditions, ExtendedCard
from a2a_serverless.agent.turn import Agent, Host, Turn
from a2a_serverless.agent.updates import (
    ArtifactChunk,
    ArtifactFile,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Outcome,
    Rejected,
    Thinking,
    ToolCall,
    ToolResult,
    Update,
    Usage,
    Working,
)
from a2a_serverless.agent.workspace import MemoryWorkspace, Workspace, WorkspaceFile, WorkspaceFullError
from a2a_serverless.protocol.card import AgentProvider, AgentSkill
from a2a_serverless.protocol.objects import Artifact, Message, Part

__all__ = [
    "Agent",
    "AgentProfile",
    "AgentProvider",
    "AgentSkill",
    "Artifact",
    "ArtifactChunk",
    "ArtifactFile",
    "Attachment",
    "AuthRequired",
    "CardAdditions",
    "Completed",
    "ExtendedCard",
    "Failed",
    "Host",
    "InputRequired",
    "MemoryWorkspace",
    "Message",
    "Outcome",
    "Part",
    "Permission",
    "Rejected",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "Turn",
    "Update",
    "Usage",
    "Working",
    "Workspace",
    "WorkspaceFile",
    "WorkspaceFullError",
]
