"""Range requests (RFC 9110, 14): which bytes of how many a client wants.

One range of bytes is answered; a request for several, or in other units, is answered with all of it, which
the RFC allows and every client must understand. Knows header values only.
"""

import re

from a2a_serverless.bindings.conditional import matches_strongly
from a2a_serverless.bindings.http import HttpRequest

BYTES = re.compile(r"bytes[ \t]*=[ \t]*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))[ \t]*", re.IGNORECASE)


class UnsatisfiableError(Exception):
    """The range begins behind the end, or is of no bytes."""


def asked_range(request: HttpRequest, etag: str, size: int) -> tuple[int, int] | None:
    """The first and the last byte that are asked for; None for all of them.

    A range of something else than what is here (If-Range) means all of it, too.

    Raises:
        UnsatisfiableError: there are no such bytes.
    """
    found = BYTES.fullmatch((request.header("range") or "").strip())
    if found is None or size == 0:
        return None
    current = request.header("if-range")
    if current is not None and not matches_strongly(current, etag):
        return None
    first, last, suffix = found.groups()
    if suffix is not None:
        begins, ends = size - min(int(suffix), size), size - 1
    else:
        begins, ends = int(first), int(last) if last else size - 1
        if last and ends < begins:
            return None  # no range at all (14.1.1)
    if begins >= size:
        raise UnsatisfiableError
    return begins, min(ends, size - 1)
