"""Files on their way to an agent: uploaded to the conversation, then named by the message.

Speaks the extension `urn:a2a-serverless:files:v1`: where the card announces it, an address to upload to is
asked for under the agent's own, and the bytes go there without credentials.
"""

import hashlib
import mimetypes
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx

from a2a_serverless.cli.connecting import Agent
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import shown
from a2a_serverless.client import Client
from a2a_serverless.client.connection import Connection, http_client
from a2a_serverless.client.wire import HttpJson
from a2a_serverless.protocol.extensions import Extension
from a2a_serverless.protocol.files import CreateFileRequest, CreateFileResponse
from a2a_serverless.protocol.objects import Part
from a2a_serverless.protocol.operations import Operation

PATH = "/contexts/{contextId}/files"
PIECE = 256 * 1024
UNKNOWN = "application/octet-stream"


def media_type_of(file: Path) -> str:
    """The media type that its name tells."""
    return mimetypes.guess_type(file.name)[0] or UNKNOWN


def takes_files(client: Client) -> bool:
    """Whether the agent's card says that files can be uploaded."""
    return any(each.uri == Extension.FILES.uri for each in client.card.capabilities.extensions)


async def upload(agent: Agent, client: Client, context_id: str, file: Path) -> Part:
    """Upload a file to a conversation; gives the part by which a message names it.

    Raises:
        Failure: the file cannot be read, or is not taken.
    """
    if not takes_files(client):
        raise Failure(Exit.FAILED, f"{client.card.name} takes no uploads: its card does not announce them")
    size, digest = _measured(file)
    asked = {"name": file.name, "mediaType": media_type_of(file), "byteSize": size, "sha256": digest}
    interface = client.chosen.interface
    operation = Operation(
        method="CreateFile",
        verbs=("POST",),
        path=PATH.replace("{contextId}", quote(context_id, safe="")),
        request=CreateFileRequest,
        response=CreateFileResponse,
    )
    async with http_client(agent.options) as http:
        connection = Connection(http, agent.options, agent.options.auth)
        answer = await connection.call(HttpJson(interface.url, interface.tenant), operation, asked)
        created = CreateFileResponse.from_dict(answer)
        agent.tell(f"uploading {file.name}, {size:,} bytes")
        sent = await _sent(http, created, file)
    if not sent.is_success:
        raise Failure(
            Exit.FAILED, f"{shown(file.name)} was not taken: the storage answered {sent.status_code}"
        )
    return created.part


async def _sent(http: httpx.AsyncClient, created: CreateFileResponse, file: Path) -> httpx.Response:
    to = created.upload
    try:
        return await http.request(
            to.method, to.url, headers=dict(to.headers), content=_pieces(file), timeout=None
        )
    except httpx.TransportError as error:
        raise Failure(Exit.UNREACHABLE, f"{shown(file.name)} was not taken: the connection broke") from error


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as content:
        while piece := content.read(PIECE):
            yield piece


def _measured(file: Path) -> tuple[int, str]:
    try:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        return file.stat().st_size, digest
    except OSError as error:
        raise Failure(Exit.NOTHING, f"{file} cannot be read: {error.strerror or error}") from error
