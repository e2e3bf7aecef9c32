"""Receivers on the loopback interface that behave as a test says, down to the bytes and the TCP flags."""

import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from threading import Event, Thread

GRACE = 10.0
"""Seconds after which a receiver stops waiting for a client that should long have gone."""

Script = Callable[["Line"], None]
"""What a receiver does with a connection."""


@dataclass
class Line:
    """One connection, seen from the receiver."""

    connection: socket.socket
    closing: Event
    requests: list[bytes]

    def hear(self) -> None:
        """Wait for the whole request, or what there is of it if the client leaves."""
        heard = b""
        while b"\r\n\r\n" not in heard and (more := self.connection.recv(65536)):
            heard += more
        head, _, body = heard.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0
        )
        while len(body) < length and (more := self.connection.recv(65536)):
            heard, body = heard + more, body + more
        self.requests.append(heard)

    def say(self, text: bytes) -> None:
        """Send all of it."""
        self.connection.sendall(text)

    def drip(self, pieces: Iterator[bytes]) -> None:
        """Send a piece every few milliseconds until the client has gone."""
        for piece in pieces:
            self.connection.sendall(piece)
            if self.closing.wait(0.02):
                return

    def until_gone(self) -> None:
        """Keep quiet until the client has gone."""
        while self.connection.recv(65536):
            pass

    def reset(self) -> None:
        """Hang up with a RST instead of a FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


@dataclass
class Receiver:
    """Does `script` with each connection, one after the other, and remembers requests and names asked for."""

    script: Script
    listening: socket.socket
    port: int
    tls: ssl.SSLContext | None = None
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    closing: Event = field(default_factory=Event)

    def serve(self) -> None:
        """Take connections until the listening socket is shut."""
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            if self.closing.is_set():
                connection.close()
                return
            self.connections += 1
            connection.settimeout(GRACE)
            with connection, suppress(OSError):
                self._attend(connection)

    def _attend(self, connection: socket.socket) -> None:
        if self.tls is None:
            self.script(Line(connection, self.closing, self.requests))
            return
        self.tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
        with self.tls.wrap_socket(connection, server_side=True) as secured:
            self.script(Line(secured, self.closing, self.requests))


@contextmanager
def receiving(
    script: Script, *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[Receiver]:
    """A receiver as long as the test looks at it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as listening:
        receiver = Receiver(script, listening, listening.getsockname()[1], tls)
        thread = Thread(target=receiver.serve)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.closing.set()
            with suppress(OSError), socket.create_connection((address, receiver.port), timeout=GRACE):
                pass
            thread.join(GRACE)
            assert not thread.is_alive()


def answering(answer: bytes) -> Script:
    """Hear the request out, give this answer and hang up."""

    def script(line: Line) -> None:
        line.hear()
        line.say(answer)

    return script


def one_by_one(text: bytes) -> Iterator[bytes]:
    """The bytes of the text, each alone, and the last for ever."""
    return chain((text[at : at + 1] for at in range(len(text))), repeat(text[-1:]))
