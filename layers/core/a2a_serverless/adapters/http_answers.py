"""What an HTTP/1.1 answer says, as far as somebody cares who only wants to know whether a request was taken.

Reads heads whole and bodies to their end, whatever stands in either. Knows no socket and no time limit: the
stream that is read from has both, raises before it ends within a head, and ends by itself within a body.
"""

import io
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

LONGEST_PAUSE = 86_400.0
"""Seconds that a Retry-After asks for at most."""

BODY_LIMIT = 64 * 1024
"""Bytes of a body that are waited for. Nobody wants them; a receiver may finish what it says."""

STATUS_LINE = re.compile(rb"HTTP/1\.[01][ \t]+([1-9][0-9]{2})(?:[ \t].*)?\r?\n")
WITHOUT_BODY = frozenset({HTTPStatus.SWITCHING_PROTOCOLS, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


class NoAnswerError(Exception):
    """What came is no answer; the text says why in a few words."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, and the header fields by lower-case name, the first where there are several."""

    status: int
    fields: Mapping[str, str]

    @property
    def is_interim(self) -> bool:
        """Whether another answer follows (RFC 9110 15.2); none does after an upgrade."""
        return self.status < HTTPStatus.OK and self.status != HTTPStatus.SWITCHING_PROTOCOLS

    def retry_after(self, now: datetime) -> float | None:
        """Seconds to wait before another request, given as a number of them or a date (RFC 9110 10.2.3)."""
        text = self.fields.get("retry-after", "")
        if text.isascii() and text.isdigit():
            return min(float(text), LONGEST_PAUSE)
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        return min(max((moment - now).total_seconds(), 0.0), LONGEST_PAUSE)


def read_answer(reader: io.BufferedIOBase) -> Answer:
    """The head of the answer that is not interim.

    Raises:
        NoAnswerError: it is no HTTP/1 answer.
    """
    answer = _read_head(reader)
    while answer.is_interim:
        answer = _read_head(reader)
    return answer


def skip_body(reader: io.BufferedIOBase, answer: Answer) -> None:
    """Read the body to its end (RFC 9112 6.3), for nobody likes to be hung up on.

    The status stands by then: a body that breaks off or is not of its form takes nothing from it.
    """
    with suppress(OSError, ValueError):
        if answer.status not in WITHOUT_BODY:
            _read_body(reader, answer.fields)


def _read_head(reader: io.BufferedIOBase) -> Answer:
    status_line = STATUS_LINE.fullmatch(reader.readline())
    if status_line is None:
        raise NoAnswerError("not an HTTP answer")
    fields: dict[str, str] = {}
    while line := reader.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    return Answer(int(status_line[1]), fields)


def _read_body(reader: io.BufferedIOBase, fields: Mapping[str, str]) -> None:
    if "transfer-encoding" not in fields:
        reader.read(min(int(fields.get("content-length", BODY_LIMIT)), BODY_LIMIT))
        return
    while size := int(reader.readline().partition(b";")[0], 16):
        reader.read(min(size + len(b"\r\n"), BODY_LIMIT))
