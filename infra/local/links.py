"""Links to objects, as S3 holds them to what was signed: moto takes whatever comes.

A presigned request is good until it expires, for the method, the address and the headers that it was signed
with, and for bytes of the digest that it names if it names one. Pure; knows no storage.
https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote
from xml.sax.saxutils import escape

from infra.local.wire import Request, Response

ALGORITHM: Final = "AWS4-HMAC-SHA256"
SIGNATURE: Final = "X-Amz-Signature"
CHECKSUM: Final = "x-amz-checksum-sha256"
NEEDED: Final = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    SIGNATURE,
)


def refused(request: Request, secrets: Mapping[str, str], now: datetime) -> Response | None:
    """Return what S3 answers to a link that does not hold; None for one that does, and for what is no link.

    `secrets` has the secrets of access keys; of links made with another one no signature is checked.
    """
    path, _, query = request.target.partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if SIGNATURE not in given:
        return None
    if (fault := _fault(request, given)) is not None:
        return _error(HTTPStatus.BAD_REQUEST, *fault)
    begun = datetime.strptime(given["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if now >= begun + timedelta(seconds=int(given["X-Amz-Expires"])):
        return _error(HTTPStatus.FORBIDDEN, "AccessDenied", "Request has expired")
    signed = given["X-Amz-SignedHeaders"].split(";")
    if unsigned := sorted({name.lower() for name, _ in request.headers if _binds(name)} - set(signed)):
        text = f"There were headers present in the request which were not signed: {unsigned[0]}"
        return _error(HTTPStatus.FORBIDDEN, "AccessDenied", text)
    secret = secrets.get(given["X-Amz-Credential"].partition("/")[0])
    if secret is not None and given[SIGNATURE] != _signature(request, path, given, signed, secret):
        return _error(
            HTTPStatus.FORBIDDEN, "SignatureDoesNotMatch", "The request is not the one that was signed"
        )
    return _other_bytes(request)


def _fault(request: Request, given: Mapping[str, str]) -> tuple[str, str] | None:
    """What keeps it from being a link at all."""
    if request.header("authorization"):
        return "InvalidArgument", "Only one auth mechanism allowed"
    missing = next((name for name in NEEDED if name not in given), None)
    return ("AuthorizationQueryParametersError", f"no {missing}") if missing else None


def _binds(name: str) -> bool:
    """Whether S3 acts upon a header so that nobody may add it to a link."""
    return name.lower().startswith("x-amz-")


def _other_bytes(request: Request) -> Response | None:
    wanted = request.header(CHECKSUM)
    if not wanted or wanted == base64.b64encode(hashlib.sha256(request.body).digest()).decode():
        return None
    text = "The SHA256 you specified did not match the calculated checksum."
    return _error(HTTPStatus.BAD_REQUEST, "BadDigest", text)


def _signature(request: Request, path: str, given: Mapping[str, str], signed: list[str], secret: str) -> str:
    """Sign the request as its maker did."""
    query = "&".join(
        f"{_coded(name)}={_coded(value)}" for name, value in sorted(given.items()) if name != SIGNATURE
    )
    headers = "".join(f"{name}:{' '.join(request.header(name).split())}\n" for name in signed)
    canonical = "\n".join((request.method, path, query, headers, ";".join(signed), "UNSIGNED-PAYLOAD"))
    scope = given["X-Amz-Credential"].partition("/")[2]
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    text = "\n".join((ALGORITHM, given["X-Amz-Date"], scope, digest))
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _coded(text: str) -> str:
    return quote(text, safe="-_.~")


def _error(status: HTTPStatus, code: str, message: str) -> Response:
    body = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return Response(status, (("Content-Type", "application/xml"),), body.encode())
