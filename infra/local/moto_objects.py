"""Objects as S3 copies them: only the version that was asked for, which moto does not look at."""

from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from moto.s3.models import s3_backends

from infra.local.deployment import ACCOUNT
from infra.local.wire import Request, Response

SOURCE: Final = "x-amz-copy-source"
PRECONDITION_FAILED: Final = (
    b"<Error><Code>PreconditionFailed</Code><Message>It is another.</Message></Error>"
)


def refused(request: Request) -> Response | None:
    """Return what S3 answers to a copy of something else than was asked for; None for all the rest."""
    wanted = request.header(f"{SOURCE}-if-match")
    if not wanted:
        return None
    bucket, _, key = unquote(request.header(SOURCE).lstrip("/")).partition("/")
    found = s3_backends[ACCOUNT]["aws"].get_object(bucket, key)
    if found is None or found.etag == wanted:
        return None
    return Response(
        HTTPStatus.PRECONDITION_FAILED, (("Content-Type", "application/xml"),), PRECONDITION_FAILED
    )
