"""Errors of the protocol as they come back: which class an answer means, over either binding.

ErrorInfo's reason decides where there is one, then JSON-RPC's code or the status. Whatever is not known
stays as it was said.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from a2a_serverless.client.failures import UnknownError
from a2a_serverless.protocol.errors import (
    BAD_REQUEST,
    ERROR_INFO,
    RETRY_INFO,
    A2AError,
    FieldViolation,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
)

KINDS: tuple[type[A2AError], ...] = tuple(
    kind for kind in A2AError.__subclasses__() if kind.__module__ == A2AError.__module__
)
OF_CODE: Mapping[int, type[A2AError]] = {kind.code: kind for kind in KINDS}
OF_REASON: Mapping[str, type[A2AError]] = {kind.reason: kind for kind in KINDS}
OF_HTTP_STATUS: Mapping[int | None, type[A2AError]] = {
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    429: RateLimitedError,
}

USUAL_WAIT = 5


def of_jsonrpc(
    error: Mapping[str, Any], http_status: int, headers: Mapping[str, str] | None = None
) -> A2AError:
    """The error that a JSON-RPC error object means (specification 9.5)."""
    code = error.get("code")
    details = _details(error.get("data"))
    kind = OF_CODE.get(code) if isinstance(code, int) else None
    kind = kind or OF_REASON.get(_reason(details)) or OF_HTTP_STATUS.get(http_status)
    if kind is None:
        return UnknownError(
            _text(error),
            code=code if isinstance(code, int) else 0,
            http_status=http_status,
            data=error.get("data"),
            metadata=_metadata(details),
        )
    return _made(kind, _text(error), details, headers or {})


def of_status(
    error: Mapping[str, Any], http_status: int | None, headers: Mapping[str, str] | None = None
) -> A2AError:
    """The error that a google.rpc.Status means (specification 11.6); an empty one is what HTTP alone says."""
    details = _details(error.get("details"))
    kind = OF_REASON.get(_reason(details)) or OF_HTTP_STATUS.get(http_status)
    if kind is None:
        return UnknownError(
            _text(error),
            status=str(error.get("status", "UNKNOWN")),
            http_status=http_status,
            data=error.get("details"),
            metadata=_metadata(details),
        )
    return _made(kind, _text(error), details, headers or {})


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a Retry-After asks for, by number or date (RFC 9110, 10.2.3), if it does."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _made(
    kind: type[A2AError], text: str | None, details: list[Mapping[str, Any]], headers: Mapping[str, str]
) -> A2AError:
    if issubclass(kind, RateLimitedError):
        asked = retry_after(headers)
        seconds = _retry_delay(details) if asked is None else asked
        return kind(text, retry_after=max(1, round(USUAL_WAIT if seconds is None else seconds)))
    metadata = _metadata(details)
    if issubclass(kind, UnauthenticatedError) and "www-authenticate" in headers:
        metadata = {**metadata, "challenge": headers["www-authenticate"]}
    return kind(text, metadata=metadata, violations=list(_violations(details)))


def _details(data: object) -> list[Mapping[str, Any]]:
    listed = data if isinstance(data, list) else [data]
    return [each for each in listed if isinstance(each, Mapping)]


def _of_type(details: list[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((each for each in details if each.get("@type") == name), {})


def _reason(details: list[Mapping[str, Any]]) -> str:
    return str(_of_type(details, ERROR_INFO).get("reason", ""))


def _metadata(details: list[Mapping[str, Any]]) -> dict[str, str]:
    found = _of_type(details, ERROR_INFO).get("metadata")
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def _violations(details: list[Mapping[str, Any]]) -> Iterator[FieldViolation]:
    found = _of_type(details, BAD_REQUEST).get("fieldViolations")
    for each in found if isinstance(found, list) else ():
        if isinstance(each, Mapping):
            yield FieldViolation(str(each.get("field", "")), str(each.get("description", "")))


def _retry_delay(details: list[Mapping[str, Any]]) -> float | None:
    written = str(_of_type(details, RETRY_INFO).get("retryDelay", "")).removesuffix("s")
    try:
        return float(written)
    except ValueError:
        return None


def _text(error: Mapping[str, Any]) -> str | None:
    text = error.get("message")
    return text if isinstance(text, str) and text else None
