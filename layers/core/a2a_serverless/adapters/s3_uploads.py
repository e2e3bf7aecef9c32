"""What callers upload into the bucket: presigned requests, and copies that stay as they are.

A presigned PUT holds its headers to what was signed, `Content-Length` among them, so S3 takes exactly so many
bytes of exactly this type. A checksum among them makes S3 compare the bytes as well.
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

import base64
import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from a2a_serverless.adapters.s3_contents import S3Contents
from a2a_serverless.ports.uploads import FileToCome, GoneError, Offer, Uploaded

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

ABSENT = ("NoSuchKey", "404", "PreconditionFailed", "412")
"""What S3 says of an object that is missing, or another one than is asked for."""


@dataclass(frozen=True, slots=True)
class S3Uploads:
    """Objects of callers in a bucket."""

    client: "S3Client"
    bucket: str

    def offer(self, key: str, file: FileToCome, lasts: timedelta) -> Offer:
        """A request that stores just such a file; it ends with the session of whoever signs it here."""
        headers = {"Content-Type": file.media_type, "Content-Length": str(file.byte_size)}
        asked: dict[str, Any] = {"ContentType": file.media_type, "ContentLength": file.byte_size}
        if file.sha256 is not None:
            digest = base64.b64encode(bytes.fromhex(file.sha256)).decode("ascii")
            headers["x-amz-checksum-sha256"] = asked["ChecksumSHA256"] = digest
        url = self.client.generate_presigned_url(
            "put_object",
            Params={"Bucket": self.bucket, "Key": key, **asked},
            ExpiresIn=round(lasts.total_seconds()),
        )
        return Offer("PUT", url, headers)

    def find(self, key: str) -> Uploaded | None:
        """What lies under the key; None when nothing does."""
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                return None
            raise
        # The same bytes uploaded again are another upload: it may follow on something else.
        version = f"{found['ETag']}@{found['LastModified'].timestamp():.0f}"
        return Uploaded(found["ContentType"], found["ContentLength"], version)

    def copy(self, key: str, to: str, *, version: str | None = None) -> str:
        """Copy an object inside the bucket, S3 making its digest; raises GoneError."""
        asked: dict[str, Any] = {} if version is None else {"CopySourceIfMatch": version.rpartition("@")[0]}
        try:
            copied = self.client.copy_object(
                Bucket=self.bucket,
                Key=to,
                CopySource={"Bucket": self.bucket, "Key": key},
                ChecksumAlgorithm="SHA256",
                **asked,
            )
        except ClientError as error:
            if error.response["Error"]["Code"] in ABSENT:
                raise GoneError(key) from error
            raise
        told = copied["CopyObjectResult"].get("ChecksumSHA256")
        return base64.b64decode(told).hex() if told else self._digest(to)

    def _digest(self, key: str) -> str:
        """The digest of an object by reading it, where the store makes none itself as S3 does."""
        digest = hashlib.sha256()
        for piece in S3Contents(self.client, self.bucket).pieces(key):
            digest.update(piece)
        return digest.hexdigest()
