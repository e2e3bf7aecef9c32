"""Files of another agent's artifacts as this agent's own: links into its deployment lead callers nowhere.

Who may read an artifact there is the agent that called, not whoever called that. So the file is fetched,
to disk and not to memory, and told as an artifact of one file. Links to elsewhere stay links.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from a2a_serverless.agent import ArtifactChunk, ArtifactFile, Update
from a2a_serverless.client.agent_client import Client
from a2a_serverless.client.options import origin_of

MOST_BYTES = 400 * 1024 * 1024
"""Of one file: a function's disk has 512 MB unless it is given more."""


async def mirrored(client: Client, update: Update) -> AsyncGenerator[Update]:
    """The update, or the file in its place.

    Raises:
        ClientError, A2AError: the file cannot be had.
    """
    if not isinstance(update, ArtifactChunk) or update.append or len(update.parts) != 1:
        yield update
        return
    (part,) = update.parts
    if part.url is None or origin_of(part.url) not in client.origins:
        yield update
        return
    with await asyncio.to_thread(tempfile.TemporaryDirectory) as folder:
        got = await client.download(part, Path(folder) / "file", most=MOST_BYTES)
        yield ArtifactFile(
            update.artifact_id,
            got.path,
            media_type=part.media_type or got.media_type or "application/octet-stream",
            filename=part.filename,
            name=update.name,
            description=update.description,
            metadata=update.metadata,
        )
