"""Files of any size, to an agent and from it, piece by piece (never whole in memory).

A download that breaks goes on where it was, if what lies there is still the same. Links may lead elsewhere,
to storage that signed them: credentials do not go along. An upload is the extension for files of this
repository's own deployments.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from mimetypes import guess_type
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urljoin

import httpx

from a2a_serverless.client.answers import read
from a2a_serverless.client.breaking import what_broke
from a2a_serverless.client.connection import Connection, media_type, said_by, understood
from a2a_serverless.client.failures import (
    ClientError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
)
from a2a_serverless.client.options import origin_of
from a2a_serverless.client.refusals import retry_after
from a2a_serverless.client.wire import Answered, Asked, HttpJson
from a2a_serverless.protocol.files import CreateFileResponse
from a2a_serverless.protocol.objects import Part

MOST_REDIRECTS = 5
PIECE = 256 * 1024
SECONDS_TO_SEND = 60.0
"""For one piece of an upload."""

FILES = "urn:a2a-serverless:files:v1"
"""The extension by which an agent announces that it takes uploads."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file that was fetched: where it lies, how many bytes it has, their SHA-256, and its media type."""

    path: Path
    byte_size: int
    sha256: str
    media_type: str | None


@dataclass(slots=True)
class _Sink:
    """A file being written beside its final place, which it takes when it is whole."""

    path: Path
    written: int = 0
    etag: str | None = None
    media_type: str | None = None

    @property
    def beside(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    def __enter__(self) -> Self:
        self.restart()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.beside.unlink(missing_ok=True)

    def restart(self) -> None:
        self.beside.write_bytes(b"")
        self.written = 0

    def write(self, piece: bytes) -> None:
        with self.beside.open("ab") as file:
            file.write(piece)
        self.written += len(piece)

    def finish(self) -> Downloaded:
        with self.beside.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.beside.replace(self.path)
        return Downloaded(self.path, self.written, digest, self.media_type)


async def download(
    connection: Connection, part: Part, path: Path, trusted: Collection[str], most: int | None
) -> Downloaded:
    """Write what a part holds, or what lies at its address, to a file. See `Client.download`."""
    with _Sink(path) as sink:
        if part.url is None:
            sink.write(_held(part))
            sink.media_type = part.media_type
            return sink.finish()
        await connection.persistently(
            partial(_fetch, connection, part.url, sink, trusted, most), repeatable=True
        )
        sink.media_type = part.media_type or sink.media_type
        return await asyncio.to_thread(sink.finish)


def _held(part: Part) -> bytes:
    if part.raw is not None:
        return part.raw
    return (part.text if part.text is not None else json.dumps(part.data)).encode()


async def _fetch(
    connection: Connection, url: str, sink: _Sink, trusted: Collection[str], most: int | None
) -> None:
    """Fetch what is still missing."""
    for _ in range(MOST_REDIRECTS + 1):
        origin = origin_of(url)
        if origin is None:
            raise UnexpectedAnswerError("the part's address is neither http nor https")
        shown = connection
        if origin not in trusted:  # what is said to the agent is nobody else's business
            told = replace(connection.options, headers={}, extensions=())
            shown = Connection(connection.http, told, None)
        async with shown.open(Asked("GET", url, _range(sink))) as response:
            leads_to = response.headers.get("location") if response.is_redirect else None
            if leads_to is None:
                await _take(shown, response, sink, most, own=origin in trusted)
                return
        leads_to = urljoin(url, leads_to)
        if url.startswith("https:") and not leads_to.startswith("https:"):
            raise UnexpectedAnswerError("the part's address leads to where there is no TLS")
        url = leads_to
    raise UnexpectedAnswerError("the part's address leads to another too often")


def _range(sink: _Sink) -> dict[str, str]:
    if sink.written == 0 or sink.etag is None:
        return {}
    return {"Range": f"bytes={sink.written}-", "If-Range": sink.etag}


async def _take(
    connection: Connection, response: httpx.Response, sink: _Sink, most: int | None, *, own: bool
) -> None:
    goes_on = response.status_code == HTTPStatus.PARTIAL_CONTENT and response.headers.get(
        "content-range", ""
    ).startswith(f"bytes {sink.written}-")
    if not goes_on and response.status_code != HTTPStatus.OK:
        await _refused(connection, response, own=own)
    if not goes_on:
        sink.restart()
    etag = response.headers.get("etag")
    sink.etag = etag if etag and not etag.startswith("W/") else None
    sink.media_type = media_type(response) or None
    async for piece in connection.pieces(response):
        if most is not None and sink.written + len(piece) > most:
            raise UnexpectedAnswerError(f"the file has more than {most} bytes")
        sink.write(piece)


async def _refused(connection: Connection, response: httpx.Response, *, own: bool) -> None:
    """Raise what an answer says that is not the file; only an agent's own answers are of the protocol."""
    answered = await connection.whole(response, connection.options.limits.answer)
    if own:
        understood(HttpJson(""), Asked("GET", ""), answered)
    raise _by_storage("the file cannot be had", answered)


def _by_storage(what: str, answered: Answered) -> ClientError:
    if answered.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answered.status == HTTPStatus.TOO_MANY_REQUESTS:
        return UnavailableError(answered.status, retry_after(answered.headers))
    return UnexpectedAnswerError(
        f"{what} (status {answered.status})", http_status=answered.status, excerpt=answered.excerpt
    )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A file to upload: what is said of it before its bytes are sent."""

    path: Path
    name: str
    media_type: str
    byte_size: int
    sha256: str

    @classmethod
    def of(cls, path: Path, name: str | None, kind: str | None) -> "Outgoing":
        """The file at a path, under its own name unless it is given another."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        guessed = guess_type(path.name)[0] or "application/octet-stream"
        return cls(path, name or path.name, kind or guessed, path.stat().st_size, digest)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Its bytes."""
        with await asyncio.to_thread(self.path.open, "rb") as file:
            while piece := await asyncio.to_thread(file.read, PIECE):
                yield piece


async def upload(connection: Connection, binding: HttpJson, context_id: str, outgoing: Outgoing) -> Part:
    """Put a file among those of a conversation; gives the part that names it. See `Client.upload`."""
    asked = binding.ask_for_file(
        context_id,
        {
            "name": outgoing.name,
            "mediaType": outgoing.media_type,
            "byteSize": outgoing.byte_size,
            "sha256": outgoing.sha256,
        },
    )

    async def create() -> CreateFileResponse:
        async with connection.open(asked) as response:
            answered = await connection.whole(response, connection.options.limits.answer)
        return read(CreateFileResponse, understood(binding, asked, answered))

    made = await connection.persistently(create, repeatable=True)
    where = made.upload
    if origin_of(where.url) is None:
        raise UnexpectedAnswerError("the upload's address is neither http nor https")
    if asked.url.startswith("https:") and not where.url.startswith("https:"):
        raise UnexpectedAnswerError("the upload's address is where there is no TLS")
    await connection.persistently(
        partial(_send, connection, where.method, where.url, where.headers, outgoing), repeatable=True
    )
    return made.part


async def _send(
    connection: Connection, verb: str, url: str, headers: Mapping[str, str], outgoing: Outgoing
) -> None:
    """Send the bytes to where they were asked for, as it was said and without credentials."""
    timeouts = connection.options.timeouts
    patience = httpx.Timeout(timeouts.first_byte, connect=timeouts.connect, write=SECONDS_TO_SEND, pool=None)
    request = connection.http.build_request(
        verb, url, headers=dict(headers), content=outgoing.pieces(), timeout=patience
    )
    try:
        response = await connection.http.send(request)
    except httpx.TransportError as error:
        raise UnreachableError(f"the upload broke off: {what_broke(error)}", request_sent=True) from error
    if not response.is_success:
        answered = Answered(response.status_code, media_type(response), response.content, said_by(response))
        raise _by_storage("the upload was refused", answered)
