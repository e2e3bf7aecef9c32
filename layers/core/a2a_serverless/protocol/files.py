"""How a client uploads a file of a conversation and names it in a message: the extension for files.

The specification leaves open where the bytes behind a part's `url` come from. Here a client asks for an
address to upload them to and sends the part that it is given. `file:///<name>` names a file of the message's
own context; there is no other place that such a part could lead to.
"""

import re
from typing import Annotated
from urllib.parse import quote, unquote

from pydantic import AfterValidator, Field

from a2a_serverless.protocol.limits import Id, Tenant
from a2a_serverless.protocol.objects import Part
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.scalars import Int32, RequiredText, Text, Timestamp, refused

SCHEME = "file:///"

MOST_NAME = 512
"""Bytes of a file's name, in UTF-8."""

MEDIA_TYPE = re.compile(
    r"(?=.{3,256}\Z)[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+( *;[\x20-\x7e]*)?"
)
SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class OutsideError(ValueError):
    """A name that leads out of the files it is among."""


def inner(name: str) -> str:
    """The name, if it stays inside.

    Raises:
        OutsideError: it leads out. ValueError: it cannot be stored.
    """
    steps = name.split("/")
    if not name or any(step in ("", ".", "..") for step in steps) or "\\" in name:
        raise OutsideError("a file's name is a relative path without empty, . or .. steps")
    if len(name.encode(errors="replace")) > MOST_NAME or not name.isprintable():
        raise ValueError(f"a file's name is at most {MOST_NAME} bytes of printable characters")
    return name


def file_url(name: str) -> str:
    """The address that names a file in a part."""
    return f"{SCHEME}{quote(name)}"


def named_file(url: str) -> str:
    """The name that an address names.

    Raises:
        LookupError: it is the address of something else. OutsideError: it leads out. ValueError: there can
        be no such file.
    """
    if url[: len(SCHEME)].lower() != SCHEME or "?" in url or "#" in url:
        raise LookupError(url)
    return inner(unquote(url[len(SCHEME) :], errors="strict"))


def _name(text: str) -> str:
    try:
        return inner(text)
    except ValueError as error:
        raise refused(f"must be a relative path: {error}") from None


def _media_type(text: str) -> str:
    if not MEDIA_TYPE.fullmatch(text):
        raise refused("must be a media type such as image/png")
    return text


def _sha256(text: str | None) -> str | None:
    if text is not None and not SHA256.fullmatch(text):
        raise refused("must be 64 hexadecimal digits")
    return text.lower() if text else None


def _not_negative(number: int) -> int:
    if number < 0:
        raise refused("must not be negative")
    return number


class CreateFileRequest(ProtoModel):
    """Ask for an address to upload a file to; `byte_size` is exactly how many bytes it will have."""

    tenant: Tenant = None
    context_id: Id
    name: Annotated[RequiredText, AfterValidator(_name)]
    media_type: Annotated[RequiredText, AfterValidator(_media_type)]
    byte_size: Annotated[Int32, AfterValidator(_not_negative)]
    sha256: Annotated[Text | None, AfterValidator(_sha256)] = None


class FileUpload(ProtoModel):
    """The request that uploads the file, to be sent as it is, without credentials, until `expires_at`."""

    method: Text
    url: Text = Field(repr=False)
    headers: dict[Text, Text]
    expires_at: Timestamp


class CreateFileResponse(ProtoModel):
    """The part that names the file in messages of its context, and how its bytes get there."""

    part: Part
    upload: FileUpload
