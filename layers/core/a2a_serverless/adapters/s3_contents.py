"""Content too big for a log, in one S3 bucket, whose lifecycle deletes it in the end."""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    IncompleteReadError,
    ReadTimeoutError,
    ResponseStreamingError,
)

from a2a_serverless.adapters.s3_upload import S3Upload
from a2a_serverless.ports.contents import StoredContent

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ATTEMPTS = 3
"""Times an object is asked for whose bytes stop coming: the SDK repeats requests, not broken bodies."""

PIECE = 256 * 1024
"""Bytes of one piece, at most."""

BROKEN_OFF = (IncompleteReadError, ReadTimeoutError, ResponseStreamingError, ConnectionClosedError)
ABSENT = ("NoSuchKey", "404")
"""What S3 says of a missing object; the answer to a HEAD has no body to say more in."""


@dataclass(frozen=True, slots=True)
class S3Contents:
    """Content by key in a bucket."""

    client: "S3Client"
    bucket: str

    def put(self, key: str, content: bytes, media_type: str) -> None:
        """Store the bytes under the key."""
        self.client.put_object(Bucket=self.bucket, Key=key, Body=content, ContentType=media_type)

    def get(self, key: str) -> bytes:
        """The bytes under the key; raises KeyError when there are none."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._read(key)
            except BROKEN_OFF:
                continue
        return self._read(key)

    def upload(self, key: str, media_type: str) -> S3Upload:
        """Begin to store what comes in pieces, in parts of 8 MB if it is longer than one."""
        return S3Upload(self.client, self.bucket, key, media_type)

    def describe(self, key: str) -> StoredContent:
        """What is under the key; raises KeyError when there is nothing."""
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=key)
        except ClientError as error:
            raise _absent(key, error) from error
        return StoredContent(found["ContentLength"], found["ETag"])

    def pieces(self, key: str, first: int = 0, last: int | None = None) -> Generator[bytes]:
        """The bytes, 256 KB at a time; where they stop coming the rest is asked for, so often as `get` would.

        Raises KeyError when there are none.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for piece in self._opened(key, first, last):
                    first += len(piece)
                    yield piece
            except BROKEN_OFF:
                if attempt == ATTEMPTS:
                    raise
                continue
            return

    def link(self, key: str, *, lasts: timedelta, media_type: str, disposition: str) -> str:
        """An address with a signature in it, of whoever this client signs as; it ends with their session."""
        return self.client.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self.bucket,
                "Key": key,
                "ResponseContentType": media_type,
                "ResponseContentDisposition": disposition,
                "ResponseCacheControl": "private, no-cache",
            },
            ExpiresIn=round(lasts.total_seconds()),
        )

    def _opened(self, key: str, first: int, last: int | None) -> Generator[bytes]:
        asked: dict[str, Any] = {"Bucket": self.bucket, "Key": key}
        if (first, last) != (0, None):
            asked["Range"] = f"bytes={first}-{'' if last is None else last}"
        try:
            body = self.client.get_object(**asked)["Body"]
        except ClientError as error:
            raise _absent(key, error) from error
        try:
            while piece := body.read(PIECE):
                yield piece
        finally:
            body.close()

    def _read(self, key: str) -> bytes:
        try:
            return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        except ClientError as error:
            raise _absent(key, error) from error


def _absent(key: str, error: ClientError) -> Exception:
    """A KeyError if that is what the error says, else the error."""
    return KeyError(key) if error.response["Error"]["Code"] in ABSENT else error
