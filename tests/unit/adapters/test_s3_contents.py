"""Content in S3: where links lead on AWS, and how the parts of an upload are put together."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.session import Session
from botocore.stub import Stubber

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.s3_contents import S3Contents
from a2a_serverless.adapters.s3_upload import PART


def contents(region: str = "eu-west-1") -> S3Contents:
    session = Session()
    session.set_credentials("id", "secret", "session")
    session.set_config_variable("region", region)
    return S3Contents(AwsClients(session).s3(), "bucket")


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "me-central-1"])
def test_a_link_leads_to_the_host_of_the_region_and_is_signed_for_it(region: str) -> None:
    link = urlsplit(
        contents(region).link(
            "content/1/a b", lasts=timedelta(minutes=5), media_type="a/b", disposition="attachment"
        )
    )

    asked = {name: value for name, [value] in parse_qs(link.query).items()}
    assert (link.scheme, link.netloc, link.path) == (
        "https",
        f"bucket.s3.{region}.amazonaws.com",
        "/content/1/a%20b",
    )
    assert asked.pop("X-Amz-Signature")
    assert asked.pop("X-Amz-Date")
    assert asked.pop("X-Amz-Credential").endswith(f"/{region}/s3/aws4_request")
    assert asked == {
        "response-content-type": "a/b",
        "response-content-disposition": "attachment",
        "response-cache-control": "private, no-cache",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Expires": "300",
        "X-Amz-SignedHeaders": "host",
        "X-Amz-Security-Token": "session",
    }


def test_the_checksums_of_the_parts_are_told_when_they_are_put_together() -> None:
    stored = contents()
    place = {"Bucket": "bucket", "Key": "k"}
    of_parts = [{"ETag": '"1"', "ChecksumCRC32": "a"}, {"ETag": '"2"', "ChecksumCRC32": "b"}]
    with Stubber(stored.client) as s3:
        s3.add_response(
            "create_multipart_upload", {"UploadId": "u"}, {**place, "ContentType": "a/b", **checksums()}
        )
        for number, answer in enumerate(of_parts, start=1):
            body = bytearray(PART if number == 1 else 1)
            asked = {**place, "UploadId": "u", "PartNumber": number, "Body": body, **checksums()}
            s3.add_response("upload_part", answer, asked)
        parts = [{"PartNumber": n, **answer} for n, answer in enumerate(of_parts, start=1)]
        s3.add_response(
            "complete_multipart_upload",
            {},
            {**place, "UploadId": "u", "MultipartUpload": {"Parts": parts}},
        )
        upload = stored.upload("k", "a/b")

        upload.write(bytes(PART + 1))
        upload.finish()

        s3.assert_no_pending_responses()


def checksums() -> dict[str, Any]:
    """What the SDK adds by itself."""
    return {"ChecksumAlgorithm": "CRC32"}


def test_what_cannot_be_given_back_now_is_left_to_the_lifecycle() -> None:
    stored = contents()
    with Stubber(stored.client) as s3:
        s3.add_response("create_multipart_upload", {"UploadId": "u"})
        s3.add_response("upload_part", {"ETag": '"1"'})
        s3.add_client_error("abort_multipart_upload", "SlowDown", http_status_code=503)
        upload = stored.upload("k", "a/b")
        upload.write(bytes(PART + 1))

        upload.abort()

        s3.assert_no_pending_responses()
