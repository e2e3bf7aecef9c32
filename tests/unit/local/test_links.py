"""What the local stack takes by a link to an object: what was signed, until it expires, and nothing else."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from urllib.parse import urlsplit

import pytest
from botocore.session import get_session

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.s3_uploads import S3Uploads
from a2a_serverless.ports.uploads import FileToCome
from infra.local.aws_calls import call_of, signer
from infra.local.grants import Call
from infra.local.links import refused
from infra.local.wire import Request

HELLO = b"hello"
DIGEST = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
SECRETS = {"turn-local": "secret"}
LASTS = timedelta(minutes=15)


@cache
def uploads(secret: str) -> S3Uploads:
    """Who makes links, with a secret."""
    session = get_session()
    session.set_credentials("turn-local", secret)
    session.set_config_variable("region", "eu-west-1")
    session.get_component("config_store").set_config_variable("endpoint_url", "http://127.0.0.1:7001")
    return S3Uploads(AwsClients(session).s3(), "bucket")


def link(sha256: str | None = None, *, secret: str = SECRETS["turn-local"]) -> Request:
    """A request that uploads five bytes of text, as it was offered."""
    offer = uploads(secret).offer("up/a b:c", FileToCome("text/plain", 5, sha256), LASTS)
    target = urlsplit(offer.url)
    headers = (("Host", target.netloc), *offer.headers.items())
    return Request(offer.method, f"{target.path}?{target.query}", headers, HELLO, "127.0.0.1")


def changed(request: Request, headers: Mapping[str, str], body: bytes = HELLO, **other: str) -> Request:
    kept = {name: value for name, value in request.headers if name not in headers}
    given = {name: value for name, value in headers.items() if value}
    return Request(
        other.get("method", request.method),
        other.get("target", request.target),
        (*kept.items(), *given.items()),
        body,
        "127.0.0.1",
    )


def code(request: Request, at: datetime | None = None) -> str | None:
    answer = refused(request, SECRETS, at or datetime.now(UTC))
    if answer is None:
        return None
    return str(bytes(answer.body).partition(b"<Code>")[2].partition(b"<")[0], "ascii")  # type: ignore[arg-type]


@pytest.mark.parametrize("sha256", [None, DIGEST])
def test_what_was_offered_is_taken(sha256: str | None) -> None:
    assert code(link(sha256)) is None


@pytest.mark.parametrize(
    ("headers", "refusal"),
    [
        ({"Content-Length": "6"}, "SignatureDoesNotMatch"),
        ({"Content-Length": ""}, "SignatureDoesNotMatch"),
        ({"Content-Type": "text/html"}, "SignatureDoesNotMatch"),
        ({"Content-Type": ""}, "SignatureDoesNotMatch"),
        ({"Host": "elsewhere"}, "SignatureDoesNotMatch"),
        ({"x-amz-acl": "public-read"}, "AccessDenied"),
        ({"Accept": "anything"}, None),
    ],
)
def test_headers_are_held_to_what_was_signed(headers: dict[str, str], refusal: str | None) -> None:
    assert code(changed(link(), headers)) == refusal


def test_method_and_address_are_held_to_what_was_signed() -> None:
    request = link()

    assert code(changed(request, {}, method="GET")) == "SignatureDoesNotMatch"
    assert code(changed(request, {}, target=request.target.replace("/up/", "/down/"))) == (
        "SignatureDoesNotMatch"
    )
    longer = request.target.replace("X-Amz-Expires=900", "X-Amz-Expires=90000")
    assert code(changed(request, {}, target=longer)) == "SignatureDoesNotMatch"


def test_bytes_are_held_to_the_digest_that_was_signed() -> None:
    assert code(changed(link(DIGEST), {}, body=b"world")) == "BadDigest"
    assert code(changed(link(DIGEST), {"x-amz-checksum-sha256": ""})) == "SignatureDoesNotMatch"


def test_a_link_ends() -> None:
    request = link()
    now = datetime.now(UTC)

    assert code(request, now + LASTS - timedelta(seconds=5)) is None
    assert code(request, now + LASTS + timedelta(seconds=1)) == "AccessDenied"


def test_a_link_made_with_another_secret_is_none() -> None:
    assert code(link(secret="guessed")) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("target", ["/bucket/key", "/bucket/key?x-id=GetObject"])
def test_what_is_no_link_is_not_looked_at(target: str) -> None:
    assert code(Request("GET", target, (), b"", "")) is None


def test_a_link_takes_no_credential_besides() -> None:
    assert code(changed(link(), {"Authorization": "Bearer a-callers-own"})) == "InvalidArgument"


def test_a_link_that_lacks_something_is_refused() -> None:
    assert code(Request("GET", "/bucket/key?X-Amz-Signature=0", (), b"", "")) == (
        "AuthorizationQueryParametersError"
    )


def test_a_link_may_do_what_its_maker_may() -> None:
    request = link()

    assert signer(request) == ("turn-local", "s3")
    assert call_of(request, "s3") == Call("s3:PutObject", ("arn:aws:s3:::bucket/up/a b:c",))
