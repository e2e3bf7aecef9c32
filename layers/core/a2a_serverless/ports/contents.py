"""Content too big for a log: stored under a key once and never changed, read whole, in part or in pieces.

Whoever writes makes up the key, which ends in something of its own: two writers never share one.
"""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol


class ContentLinks(StrEnum):
    """When stored content is given by a link to where it lies, instead of by our own functions."""

    LARGE = "large"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """What this deployment decided about links to stored content.

    Attributes:
        given: when they are.
        large: bytes above which content is large.
        lasts: for how long a link leads anywhere.
    """

    given: ContentLinks = ContentLinks.LARGE
    large: int = 10 * 1024 * 1024
    lasts: timedelta = timedelta(seconds=300)


@dataclass(frozen=True, slots=True)
class StoredContent:
    """What is known of content without reading it: its size in bytes, and its entity tag where links lead."""

    byte_size: int
    etag: str


class Upload(Protocol):
    """Content on its way, of any length; it is there when `finish` has returned, whole, and nowhere before.

    For one thread at a time.
    """

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Take the next bytes, and hold few of them: what has gathered is on its way when this returns."""

    def finish(self) -> None:
        """Let the content appear under its key."""

    def abort(self) -> None:
        """Leave nothing behind; quiet, whatever has become of it so far. What has appeared stays."""


class Contents(Protocol):
    """Content by key: parts of messages and artifacts, saved state, files."""

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Store the bytes under the key."""

    def get(self, key: str) -> bytes:
        """The bytes under the key; raises KeyError when there are none."""

    def upload(self, key: str, media_type: str) -> Upload:
        """Begin to store what comes in pieces; what is neither finished nor aborted is gone in a day."""

    def describe(self, key: str) -> StoredContent:
        """What is under the key; raises KeyError when there is nothing."""

    def pieces(self, key: str, first: int = 0, last: int | None = None) -> Generator[bytes]:
        """The bytes from `first` to `last`, both included and both there, or to the end; a few at a time.

        Raises KeyError when there are none, at the first piece. Close it when you leave in the middle.
        """

    def link(self, key: str, *, lasts: timedelta, media_type: str, disposition: str) -> str:
        """An address under which anybody may GET the bytes for so long, as this type and disposition."""
