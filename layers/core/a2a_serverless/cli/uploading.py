"""Files on their way to an agent: uploaded to the conversation, then named by the message."""

import mimetypes
from pathlib import Path

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.client import Client
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.objects import Part

UNKNOWN = "application/octet-stream"


def media_type_of(file: Path) -> str:
    """The media type that its name tells."""
    return mimetypes.guess_type(file.name)[0] or UNKNOWN


def takes_files(client: Client) -> bool:
    """Whether the agent's card says that files can be uploaded."""
    return any(each.uri == Extension.FILES.uri for each in client.card.capabilities.extensions)


async def upload(client: Client, context_id: str, file: Path) -> Part:
    """Upload a file to a conversation; gives the part by which a message names it.

    Raises:
        Failure: the file cannot be read, or the agent takes none. Else as `Client.upload`.
    """
    if not takes_files(client):
        raise Failure(Exit.FAILED, f"{client.card.name} takes no uploads: its card does not announce them")
    try:
        return await client.upload(context_id, file, media_type=media_type_of(file))
    except OSError as error:
        raise Failure(Exit.NOTHING, f"{file} cannot be read: {error.strerror or error}") from error
