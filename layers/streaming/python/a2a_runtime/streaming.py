"""A streamed answer on the wire: HTTP prelude, eight NUL bytes, pieces, and trailers after an error.

Bytes only, no socket (AWS: "Building a custom runtime for AWS Lambda", response streaming,
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html). HTTP/1.1 chunked framing is done here
because trailers are part of it.
"""

import base64
import json
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Final, Protocol, runtime_checkable

from a2a_runtime.failures import Failure, failure_of

PRELUDE_END: Final = b"\0" * 8

MAX_PRELUDE_BYTES: Final = 16 * 1024
"""Largest prelude that Lambda takes."""


@runtime_checkable
class StreamedAnswer(Protocol):
    """What a handler returns to answer piece by piece; any object with these two attributes is one."""

    @property
    def prelude(self) -> Mapping[str, object]:
        """The HTTP answer without its body: `statusCode`, `headers`, `multiValueHeaders`, `cookies`."""

    @property
    def chunks(self) -> Iterable[bytes]:
        """The body: a piece is sent before the next is asked for.

        What can be closed is closed when all of it is out, the end included, or when nobody reads any more.
        """


def prelude_bytes(prelude: Mapping[str, object]) -> bytes:
    """Return the JSON prelude with its end mark; raise ValueError when Lambda would not take it."""
    encoded = json.dumps(prelude, separators=(",", ":")).encode()
    if len(encoded) > MAX_PRELUDE_BYTES:
        raise ValueError(
            f"the prelude of a streamed answer has {len(encoded)} bytes, more than {MAX_PRELUDE_BYTES}"
        )
    return encoded + PRELUDE_END


def chunk(piece: bytes) -> bytes:
    """Frame one piece for `Transfer-Encoding: chunked`."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def trailers(failure: Failure | None) -> bytes:
    """End the chunked body, telling the platform what went wrong if anything did."""
    if failure is None:
        return b"0\r\n\r\n"
    body = base64.b64encode(json.dumps(failure.as_json()).encode())
    return (
        b"0\r\n"
        b"Lambda-Runtime-Function-Error-Type: " + _header_text(failure.error_type) + b"\r\n"
        b"Lambda-Runtime-Function-Error-Body: " + body + b"\r\n\r\n"
    )


def body_frames(answer: StreamedAnswer) -> Generator[bytes]:
    """Yield the whole body of the answer as ready frames, lazily.

    The status is already out when a piece fails, so an error of the handler's iterator becomes trailers and
    is not raised.
    """
    pieces = iter(answer.chunks)
    try:
        yield chunk(prelude_bytes(answer.prelude))
        yield from _rest(pieces)
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def _rest(pieces: Iterator[bytes]) -> Generator[bytes]:
    failure: Failure | None = None
    try:
        # An empty piece would be the chunk that ends the body.
        yield from (chunk(piece) for piece in pieces if piece)
    except Exception as error:  # noqa: BLE001 - whatever the handler's iterator raises is reported in the trailers
        failure = failure_of(error)
    yield trailers(failure)


def _header_text(text: str) -> bytes:
    return text.encode("ascii", "replace").replace(b"\r", b" ").replace(b"\n", b" ")
