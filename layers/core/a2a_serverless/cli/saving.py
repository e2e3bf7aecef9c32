"""Artifacts on disk: a file for each part, under names that lead nowhere else, and nothing overwritten."""

import hashlib
import json
import mimetypes
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from a2a_serverless.cli.connecting import Agent
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import shown
from a2a_serverless.client import Client
from a2a_serverless.client.connection import http_client
from a2a_serverless.client.options import origin_of
from a2a_serverless.protocol.objects import Artifact, Part

UNSAFE = re.compile(r"[^A-Za-z0-9._ ()+-]+")
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that mean something else to Windows."""

MOST_NAME = 120
MOST_REDIRECTS = 3
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md", "application/json": ".json", "text/html": ".html"}


async def save(agent: Agent, client: Client, artifacts: Sequence[Artifact], directory: Path) -> list[Path]:
    """Write what the artifacts hold; gives the files.

    Raises:
        Failure: something cannot be written or fetched; what was saved before stays.
    """
    saved: list[Path] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  nothing else goes on meanwhile
        for artifact in artifacts:
            for number, part in enumerate(artifact.parts, 1):
                name = safe_name(artifact, part, number if len(artifact.parts) > 1 else 0)
                saved.append(await _written(agent, client, part, directory, name))
    except OSError as error:
        where = getattr(error, "filename", None) or directory
        raise Failure(Exit.FAILED, f"{where} cannot be written: {error.strerror or error}") from error
    return saved


def safe_name(artifact: Artifact, part: Part, number: int = 0) -> str:
    """A name for a file with this part: its own where it has one, else the artifact's, and no way out."""
    given = (part.filename or "").replace("\\", "/").rpartition("/")[2]
    name = given or f"{artifact.artifact_id}{f'-{number}' if number else ''}{_suffix(part)}"
    name = UNSAFE.sub("_", name).strip(" .")[:MOST_NAME] or "artifact"
    return f"_{name}" if RESERVED.fullmatch(name) else name


def _suffix(part: Part) -> str:
    if part.which() == "data":
        return ".json"
    kind = (part.media_type or ("text/plain" if part.text is not None else "")).partition(";")[0].strip()
    return SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ""


async def _written(agent: Agent, client: Client, part: Part, directory: Path, name: str) -> Path:
    path = free(directory / name)
    if part.url is not None:
        await _download(agent, client, part, path)
        return path
    if part.which() == "data":
        content = json.dumps(part.data, indent=2, ensure_ascii=False).encode() + b"\n"
    else:
        content = part.raw if part.raw is not None else (part.text or "").encode()
    with path.open("xb") as file:
        file.write(content)
    return path


def free(path: Path) -> Path:
    """The path, or with a number the first one like it that nothing is at."""
    found, number = path, 1
    while found.exists() or found.is_symlink():
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found


async def _download(agent: Agent, client: Client, part: Part, path: Path) -> None:
    """Fetch what lies at a part's address, and compare it with what is said of it."""
    digest, size = hashlib.sha256(), 0
    partial = path.with_name(f"{path.name}.part")
    try:
        with partial.open("xb") as file:
            async for piece in fetched(agent, client, str(part.url)):
                file.write(piece)
                digest.update(piece)
                size += len(piece)
        said = part.metadata
        if said.get("byteSize") not in (None, size) or said.get("sha256") not in (None, digest.hexdigest()):
            raise Failure(Exit.FAILED, f"{shown(path.name)} is not what its artifact says: other bytes came")
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


async def fetched(agent: Agent, client: Client, url: str) -> AsyncIterator[bytes]:
    """What lies at an address: with credentials where it is the agent's own, and else without.

    Raises:
        Failure: it is out of reach, or an address that is not followed.
    """
    own = origin_of(client.chosen.interface.url)
    async with http_client(agent.options) as http:
        for _ in range(MOST_REDIRECTS + 1):
            _may_be_fetched(url, client.chosen.interface.url)
            auth = agent.options.auth if origin_of(url) == own else None
            try:
                async with http.stream("GET", url, auth=auth) as answer:
                    if answer.has_redirect_location:
                        url = urljoin(url, answer.headers["location"])
                        continue
                    if not answer.is_success:
                        raise Failure(
                            Exit.FAILED, f"a file of an artifact is not given: status {answer.status_code}"
                        )
                    async for piece in answer.aiter_bytes():
                        yield piece
                    return
            except httpx.TransportError as error:
                raise Failure(Exit.UNREACHABLE, "a file of an artifact is out of reach") from error
    raise Failure(Exit.FAILED, "a file of an artifact leads on too often")


def _may_be_fetched(url: str, agent: str) -> None:
    """Refuse what an agent could have fetched from this machine's own network, unless it is there itself."""
    if origin_of(url) == origin_of(agent) or url.startswith("https://"):
        return
    here = urlsplit(url).scheme == "http" and urlsplit(url).hostname in LOOPBACK
    if not (here and urlsplit(agent).hostname in LOOPBACK):
        raise Failure(
            Exit.FAILED, "a file of an artifact has an address that is not fetched: it is no https one"
        )
