"""Uploads into S3: what is signed, and which of S3's answers mean that a file is not there."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody
from botocore.session import Session
from botocore.stub import Stubber

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.s3_uploads import S3Uploads
from a2a_serverless.ports.uploads import FileToCome, GoneError, Uploaded

DIGEST = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
IN_BASE64 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
PLACE = {"Bucket": "bucket", "Key": "uploads/1"}
COPY = {
    "Bucket": "bucket",
    "Key": "content/1",
    "CopySource": {"Bucket": "bucket", "Key": "uploads/1"},
    "ChecksumAlgorithm": "SHA256",
}


@cache
def uploads(region: str = "eu-west-1") -> S3Uploads:
    session = Session()
    session.set_credentials("id", "secret", "session")
    session.set_config_variable("region", region)
    return S3Uploads(AwsClients(session).s3(), "bucket")


@pytest.fixture
def s3() -> Iterator[Stubber]:
    """What S3 answers."""
    with Stubber(uploads().client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "me-central-1"])
@pytest.mark.parametrize("sha256", [None, DIGEST])
def test_size_type_and_digest_are_signed_and_told(region: str, sha256: str | None) -> None:
    offer = uploads(region).offer("up/1", FileToCome("text/plain", 5, sha256), timedelta(minutes=15))

    url = urlsplit(offer.url)
    asked = {name: value for name, [value] in parse_qs(url.query).items()}
    signed = "content-length;content-type;host" + (";x-amz-checksum-sha256" if sha256 else "")
    assert (url.scheme, url.netloc, url.path) == ("https", f"bucket.s3.{region}.amazonaws.com", "/up/1")
    assert (asked["X-Amz-Expires"], asked["X-Amz-SignedHeaders"]) == ("900", signed)
    assert offer.method == "PUT"
    assert offer.headers == {
        "Content-Type": "text/plain",
        "Content-Length": "5",
        **({"x-amz-checksum-sha256": IN_BASE64} if sha256 else {}),
    }


def test_what_lies_there_is_told_with_what_tells_it_from_others(s3: Stubber) -> None:
    at = datetime(2026, 11, 30, 12, 0, 1, tzinfo=UTC)
    found = {"ETag": '"e"', "LastModified": at, "ContentType": "a/b", "ContentLength": 5}
    s3.add_response("head_object", found, PLACE)

    assert uploads().find("uploads/1") == Uploaded("a/b", 5, f'"e"@{at.timestamp():.0f}')


def test_a_copy_is_of_the_version_that_was_asked_for_and_told_by_its_digest(s3: Stubber) -> None:
    s3.add_response(
        "copy_object",
        {"CopyObjectResult": {"ChecksumSHA256": IN_BASE64}},
        {**COPY, "CopySourceIfMatch": '"e"'},
    )

    assert uploads().copy("uploads/1", "content/1", version='"e"@1') == DIGEST


def test_where_no_digest_is_made_the_copy_is_read(s3: Stubber) -> None:
    s3.add_response("copy_object", {"CopyObjectResult": {}}, COPY)
    body = StreamingBody(io.BytesIO(b"hello"), 5)
    s3.add_response("get_object", {"Body": body}, {"Bucket": "bucket", "Key": "content/1"})

    assert uploads().copy("uploads/1", "content/1") == DIGEST


@pytest.mark.parametrize("code", ["404", "NoSuchKey"])
def test_what_is_not_there_is_not_found(s3: Stubber, code: str) -> None:
    s3.add_client_error("head_object", code, http_status_code=404)

    assert uploads().find("uploads/1") is None


@pytest.mark.parametrize("code", ["NoSuchKey", "PreconditionFailed", "404", "412"])
def test_what_is_not_there_any_more_is_gone(s3: Stubber, code: str) -> None:
    s3.add_client_error("copy_object", code)

    with pytest.raises(GoneError):
        uploads().copy("uploads/1", "content/1")


def test_any_other_error_rises(s3: Stubber) -> None:
    for operation in ("head_object", "copy_object"):
        s3.add_client_error(operation, "AccessDenied", http_status_code=403)

    with pytest.raises(ClientError):
        uploads().find("uploads/1")
    with pytest.raises(ClientError):
        uploads().copy("uploads/1", "content/1")
