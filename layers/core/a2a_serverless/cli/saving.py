"""Artifacts on disk: a file for each part, under names that lead nowhere else, and nothing overwritten."""

import asyncio
import json
import mimetypes
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.output import shown
from a2a_serverless.client import Client
from a2a_serverless.client.options import origin_of
from a2a_serverless.protocol.objects import Artifact, Part

UNSAFE = re.compile(r"[^\w._ ()+-]+")
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names that mean something else to Windows."""

MOST_NAME = 120
"""Bytes of a name, in UTF-8."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SUFFIXES = {"text/plain": ".txt", "text/markdown": ".md", "application/json": ".json", "text/html": ".html"}


async def save(client: Client, artifacts: Sequence[Artifact], directory: Path) -> list[Path]:
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
                saved.append(await _written(client, part, directory, name))
    except OSError as error:
        where = getattr(error, "filename", None) or directory
        raise Failure(Exit.FAILED, f"{where} cannot be written: {error.strerror or error}") from error
    return saved


def safe_name(artifact: Artifact, part: Part, number: int = 0) -> str:
    """A name for a file with this part: its own where it has one, else the artifact's, and no way out."""
    given = (part.filename or "").replace("\\", "/").rpartition("/")[2]
    name = given or f"{artifact.artifact_id}{f'-{number}' if number else ''}{_suffix(part)}"
    name = UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip(" .")
    name = name.encode()[:MOST_NAME].decode(errors="ignore") or "artifact"
    return f"_{name}" if RESERVED.fullmatch(name) else name


def _suffix(part: Part) -> str:
    if part.which() == "data":
        return ".json"
    kind = (part.media_type or ("text/plain" if part.text is not None else "")).partition(";")[0].strip()
    return SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ""


async def _written(client: Client, part: Part, directory: Path, name: str) -> Path:
    path = free(directory / name)
    if part.url is not None:
        await _download(client, part, path)
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
    while any(each.exists() or each.is_symlink() for each in (found, found.with_name(f"{found.name}.part"))):
        number += 1
        found = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return found


async def _download(client: Client, part: Part, path: Path) -> None:
    """Fetch what lies at a part's address, and compare it with what is said of it."""
    _may_be_fetched(str(part.url), client.chosen.interface.url)
    got, said = await client.download(part, path), part.metadata
    if said.get("byteSize") not in (None, got.byte_size) or said.get("sha256") not in (None, got.sha256):
        await asyncio.to_thread(path.unlink)
        raise Failure(Exit.FAILED, f"{shown(path.name)} is not what its artifact says: other bytes came")


def _may_be_fetched(url: str, agent: str) -> None:
    """Refuse what an agent could have fetched from this machine's own network, unless it is there itself."""
    if origin_of(url) == origin_of(agent) or url.startswith("https://"):
        return
    here = urlsplit(url).scheme == "http" and urlsplit(url).hostname in LOOPBACK
    if not (here and urlsplit(agent).hostname in LOOPBACK):
        raise Failure(
            Exit.FAILED, "a file of an artifact has an address that is not fetched: it is no https one"
        )
