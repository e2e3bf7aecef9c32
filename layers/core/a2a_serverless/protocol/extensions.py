"""The extensions that this server speaks beside the specification (4.6): their URIs, and who may see them.

What an extension adds travels in `metadata` under its URI. A client that wants to see it activates the
extension in each request (A2A-Extensions, 3.2.6); nobody else is shown any of it. Knows no shape of what is
said under a URI: that is told in `operations/README.md`.
"""

from enum import StrEnum

MOST_TEXT = 4000
"""Characters of one string that an update says."""

MOST_DEPTH = 32
"""Levels of nesting in what an update says."""

MOST_SAID = 32 * 1024
"""Characters that one update says, about."""

ALLOW, DENY = "allow_once", "deny"
"""What a caller may decide about a permission."""


class Extension(StrEnum):
    """An extension of ours, by the name that settings know it by."""

    TOOLS = "tools"
    USAGE = "usage"
    THINKING = "thinking"
    ARTIFACTS = "artifacts"
    PERMISSIONS = "permissions"
    FILES = "files"

    @property
    def uri(self) -> str:
        """The URI under which it is announced, activated and found in metadata."""
        return f"urn:a2a-serverless:{self.value}:v1"


class PermissionMode(StrEnum):
    """Who decides when an agent asks for permission: its caller, or the deployment for everybody."""

    ASK = "ask"
    ALLOW = "allow"
    DENY = "deny"
