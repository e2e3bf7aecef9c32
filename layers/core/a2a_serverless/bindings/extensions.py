"""What the card says of the extensions that this deployment speaks (specification 4.4.4, 4.6).

Each is announced exactly when it is enabled. None is required: who activates none is served all the same, and
is told nothing of what they add.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from a2a_serverless.ports import FilePolicy
from a2a_serverless.protocol.card import AgentExtension
from a2a_serverless.protocol.extensions import (
    ALLOW,
    DENY,
    MOST_DEPTH,
    MOST_SAID,
    MOST_TEXT,
    Extension,
    PermissionMode,
)

FILES_PATH = "/contexts/{contextId}/files"
"""Where files of a conversation are uploaded to, below the address of the interface."""

DESCRIPTIONS: Mapping[Extension, str] = {
    Extension.FILES: "Files of a conversation, uploaded apart from the messages that name them.",
    Extension.PERMISSIONS: "Before it does what needs it, the agent asks for permission.",
    Extension.TOOLS: "What the agent's tools are given and answer, in updates of the status.",
    Extension.USAGE: "Tokens that the answers of the agent's model took, in updates of the status.",
    Extension.THINKING: "What the agent's model thinks on the way, in updates of the status.",
    Extension.ARTIFACTS: "Size, digest, media type and file name of each part of an artifact.",
}

CUT = {"maxTextLength": MOST_TEXT, "maxDepth": MOST_DEPTH, "maxLength": MOST_SAID}

PARAMS: Mapping[Extension, Mapping[str, Any]] = {
    Extension.TOOLS: {"phases": ["started", "input", "completed", "failed"], **CUT},
    Extension.USAGE: {"counts": ["inputTokens", "outputTokens", "totalTokens"]},
    Extension.THINKING: {"maxTextLength": MOST_TEXT},
    Extension.ARTIFACTS: {"members": ["byteSize", "sha256", "mediaType", "filename"]},
}


@lru_cache(maxsize=16)
def announced(
    enabled: frozenset[Extension], permissions: PermissionMode, files: FilePolicy
) -> tuple[AgentExtension, ...]:
    """The extensions as the card has them, in the order of their names."""
    params: dict[Extension, Mapping[str, Any]] = {
        **PARAMS,
        Extension.PERMISSIONS: {"mode": permissions.value, "options": [ALLOW, DENY], "schemaVersion": 1},
        Extension.FILES: {
            "path": FILES_PATH,
            "maxFileBytes": files.upload_bytes,
            "maxFiles": files.most,
            "uploadSeconds": round(files.upload_time.total_seconds()),
        },
    }
    return tuple(
        AgentExtension(
            uri=each.uri,
            description=DESCRIPTIONS[each],
            params=params[each],
        )
        for each in sorted(enabled & DESCRIPTIONS.keys())
    )
