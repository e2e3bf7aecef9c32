"""What a caller sent as content blocks of Amazon Bedrock's Converse API, which Strands speaks too.

Which media a model takes is the model's business; what the API has no block for is refused here.
"""

import base64
import re
from collections.abc import Sequence
from typing import Any

from a2a_serverless.frameworks.messages import File

IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
DOCUMENTS = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
VIDEOS = {
    "video/x-flv": "flv",
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/webm": "webm",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
AUDIOS = {
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mpeg": "mp3",
    "audio/mp4": "mp4",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/webm": "webm",
}
FORMATS = {"image": IMAGES, "document": DOCUMENTS, "video": VIDEOS, "audio": AUDIOS}

UNFIT = re.compile(r"[^0-9A-Za-z()\[\]-]+")
"""What the name of a document must not have; it is shown to the model."""


def blocks(pieces: Sequence[str | File]) -> list[dict[str, Any]]:
    """The pieces as content blocks; raises RefusedError for a file that there is no block for.

    The API takes no documents without a text, and no empty one: where there is none the files are named.
    """
    made = [block for number, piece in enumerate(pieces, start=1) if (block := _block(piece, number))]
    if not any("text" in block for block in made):
        named = ", ".join(piece.name for piece in pieces if isinstance(piece, File))
        made.insert(0, {"text": named or "(no text)"})
    return made


def _block(piece: str | File, number: int) -> dict[str, Any] | None:
    if isinstance(piece, str):
        return {"text": piece} if piece.strip() else None
    media_type = piece.media_type.partition(";")[0].strip().lower()
    for kind, formats in FORMATS.items():
        if media_type in formats:
            block = {"format": formats[media_type], "source": {"bytes": piece.content}}
            if kind == "document":
                # Names are told apart by their number: two of one message must differ.
                block["name"] = f"{UNFIT.sub('-', piece.name)[:180].strip('-')} ({number})"
            return {kind: block}
    raise piece.unsupported()


BYTES = "a2a:bytes"


def to_json(value: Any) -> Any:  # noqa: ANN401  blocks, and what they hold
    """Messages as JSON: what the API has as bytes is written in base64."""
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: to_json(each) for key, each in value.items()}
    return [to_json(each) for each in value] if isinstance(value, list) else value


def from_json(value: Any) -> Any:  # noqa: ANN401  as above
    """The messages again."""
    if isinstance(value, dict):
        if set(value) == {BYTES}:
            return base64.b64decode(value[BYTES])
        return {key: from_json(each) for key, each in value.items()}
    return [from_json(each) for each in value] if isinstance(value, list) else value
