"""Content too big for a log, in one S3 bucket, whose lifecycle deletes it in the end."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    IncompleteReadError,
    ReadTimeoutError,
    ResponseStreamingError,
)

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ATTEMPTS = 3
"""Times an object is asked for whose bytes stop coming: the SDK repeats requests, not broken bodies."""

BROKEN_OFF = (IncompleteReadError, ReadTimeoutError, ResponseStreamingError, ConnectionClosedError)


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

    def _read(self, key: str) -> bytes:
        try:
            return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                raise KeyError(key) from error
            raise
