"""One object on its way to S3: in one request when it is short, in parts when it turns out to be long.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html: parts are of 5 MB or more, except the
last, and 10,000 at most. What is neither completed nor aborted is paid for until the bucket's lifecycle takes
it away.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

PART = 8 * 1024 * 1024
"""Bytes of a part, and what is held in memory at most: 10,000 of them make 80 GB."""

CHECKSUM: Final = "CRC32"
"""By which S3 sees that a part has arrived as it was sent."""


class S3Upload:
    """An object that comes in pieces."""

    def __init__(self, client: "S3Client", bucket: str, key: str, media_type: str) -> None:
        self._client = client
        self._place: dict[str, Any] = {"Bucket": bucket, "Key": key}
        self._media_type = media_type
        self._gathered = bytearray()
        self._upload_id = ""
        self._parts: list[Any] = []
        self._over = False

    def write(self, piece: bytes | bytearray | memoryview) -> None:
        """Take the next bytes; a part that is full leaves when there is more."""
        left = memoryview(piece).cast("B")
        while left:
            if len(self._gathered) == PART:
                self._send_part()
            room = PART - len(self._gathered)
            self._gathered += left[:room]
            left = left[room:]

    def finish(self) -> None:
        """Let the object appear."""
        if not self._upload_id:
            self._client.put_object(**self._place, Body=self._taken(), ContentType=self._media_type)
        else:
            self._send_part()
            self._complete()
        self._over = True

    def abort(self) -> None:
        """Give the parts back; what cannot be given back now goes by the bucket's lifecycle."""
        if self._upload_id and not self._over:
            self._over = True
            with suppress(ClientError, BotoCoreError):
                self._client.abort_multipart_upload(**self._place, UploadId=self._upload_id)
        self._gathered = bytearray()

    def _send_part(self) -> None:
        if not self._upload_id:
            begun = self._client.create_multipart_upload(
                **self._place, ContentType=self._media_type, ChecksumAlgorithm=CHECKSUM
            )
            self._upload_id = begun["UploadId"]
        number = len(self._parts) + 1
        sent = self._client.upload_part(
            **self._place,
            UploadId=self._upload_id,
            PartNumber=number,
            Body=self._taken(),
            ChecksumAlgorithm=CHECKSUM,
        )
        # S3 wants to be told the parts' checksums again in the end.
        checksums = {name: value for name, value in sent.items() if name.startswith("Checksum")}
        self._parts.append({"PartNumber": number, "ETag": sent["ETag"], **checksums})

    def _taken(self) -> bytes:
        """What has gathered, which is let go. The SDK takes a bytearray, too; a copy would be 8 MB more."""
        gathered, self._gathered = self._gathered, bytearray()
        return cast("bytes", gathered)

    def _complete(self) -> None:
        """Put the parts together. The SDK repeats this silently, and by then the upload may be over."""
        try:
            self._client.complete_multipart_upload(
                **self._place, UploadId=self._upload_id, MultipartUpload={"Parts": self._parts}
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchUpload":
                raise
            self._client.head_object(**self._place)
