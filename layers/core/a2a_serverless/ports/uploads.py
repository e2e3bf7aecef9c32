"""Files that callers upload themselves: offered by an address, found when they are there, kept by copying.

What a caller uploaded may be replaced by the same caller at any time. Whoever needs it to stay what it is
keeps a copy of the version that was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FilePolicy:
    """What this deployment decided about the files of conversations.

    Attributes:
        uploads: whether callers may upload files and name them in messages.
        most: files of one conversation.
        most_bytes: bytes of a file that an agent writes.
        upload_bytes: bytes of a file that a caller uploads.
        upload_time: how long an offered address takes a file.
        handed_over: bytes of files that reach an agent within its message, all together; the rest it opens.
    """

    uploads: bool = True
    most: int = 1000
    most_bytes: int = 1024 * 1024 * 1024
    upload_bytes: int = 25 * 1024 * 1024
    upload_time: timedelta = timedelta(minutes=15)
    handed_over: int = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileToCome:
    """What is to be uploaded: media type, exact size in bytes, SHA-256 in hexadecimal if that is known."""

    media_type: str
    byte_size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """The one request that uploads a file; its headers belong to it as they are. The address is a secret."""

    method: str
    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What lies under a key. `version` tells it from whatever lay or will lie there."""

    media_type: str
    byte_size: int
    version: str


class GoneError(Exception):
    """That version does not lie there: it was replaced, or never was there."""


class Uploads(Protocol):
    """What callers upload, and copies that nobody replaces."""

    def offer(self, key: str, file: FileToCome, lasts: timedelta) -> Offer:
        """A request that stores just such a file under the key, for whoever has it, for so long."""

    def find(self, key: str) -> Uploaded | None:
        """What lies under the key, whole; None when nothing does."""

    def copy(self, key: str, to: str, *, version: str | None = None) -> str:
        """Copy what lies under a key; returns the SHA-256 of its bytes in hexadecimal.

        Raises:
            GoneError: nothing lies there, or another version than is asked for.
        """
