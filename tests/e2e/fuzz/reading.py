"""Reading an answer off a socket, whose end need not come: a stream's does not."""

import contextlib
import io
import socket
import time

from tests.e2e.attackers import Answer, connection
from tests.e2e.fuzz.judging import Exchange
from tests.e2e.fuzz.requests import Sent
from tests.e2e.stack import PATIENCE

MOMENT = 0.2
"""Seconds for which an open stream is read on."""

EVENT_STREAM = "text/event-stream"


def exchanged(url: str, number: int, sent: Sent) -> Exchange:
    """Send one request and read its answer; of a stream, what comes within a moment."""
    began = time.monotonic()
    answer, whole, seconds = None, False, PATIENCE + 0.0
    with connection(url) as line, line.makefile("rb") as reader:
        with contextlib.suppress(ConnectionError, TimeoutError):
            line.sendall(sent.encoded())
            if sent.raw is not None:
                line.shutdown(socket.SHUT_WR)  # what is no whole request would be waited for
            answer = _head(reader)
            seconds = time.monotonic() - began
        if answer is not None and sent.method != "HEAD":
            body, whole = _body(line, reader, answer)
            answer = Answer(answer.status, answer.headers, body)
    return Exchange(number, sent, answer, seconds, whole)


def _head(reader: io.BufferedReader) -> Answer | None:
    first = reader.readline()
    while first.startswith(b"HTTP/1.1 100"):
        reader.readline()
        first = reader.readline()
    if not first:
        return None
    headers = []
    while (read := reader.readline()) not in (b"\r\n", b""):
        name, _, value = read.decode("latin-1").partition(":")
        headers.append((name.lower(), value.strip()))
    return Answer(int(first.split()[1]), headers, b"")


def _body(line: socket.socket, reader: io.BufferedReader, answer: Answer) -> tuple[bytes, bool]:
    """The body, and whether all of it came."""
    given = dict(answer.headers)
    if given.get("transfer-encoding") != "chunked":
        length = int(given.get("content-length", "0"))
        body = reader.read(length)
        return body, len(body) == length
    pieces: list[bytes] = []
    if given.get("content-type") == EVENT_STREAM:
        line.settimeout(MOMENT)
    with contextlib.suppress(TimeoutError, ConnectionError, ValueError):
        while size := int(reader.readline(), 16):
            pieces.append(reader.read(size))
            reader.readline()
        return b"".join(pieces), True
    return b"".join(pieces), False
