"""The bytes of a part, in pieces, wherever they lie: in itself, in a file, or put away with an artifact."""

import json
from collections.abc import AsyncIterator, Callable

from a2a_serverless.agent.workspace import Workspace
from a2a_serverless.protocol.files import named_file
from a2a_serverless.protocol.objects import Part

ARTIFACT = "artifact:///"
"""How the addresses begin of what is too big to be handed to an agent with the artifact it is of."""

Opens = Callable[[str], AsyncIterator[bytes]]
"""Opens what such an address leads to."""


def nothing_put_away(url: str) -> AsyncIterator[bytes]:
    """Where there is no deployment nothing is too big; raises FileNotFoundError."""
    raise FileNotFoundError(url)


async def opened(part: Part, workspace: Workspace, opens: Opens) -> AsyncIterator[bytes]:
    """See `Turn.open`."""
    if part.url is None:
        content = _held(part)
        if content:
            yield content
        return
    if part.url.startswith(ARTIFACT):
        pieces = opens(part.url)
    else:
        try:
            pieces = workspace.open(named_file(part.url))
        except (LookupError, ValueError):
            raise ValueError(
                "what lies elsewhere is not opened: the part has an address of its own"
            ) from None
    async for piece in pieces:
        yield piece


def _held(part: Part) -> bytes:
    if part.raw is not None:
        return part.raw
    if part.text is not None:
        return part.text.encode()
    return json.dumps(part.data, ensure_ascii=False, separators=(",", ":")).encode()
