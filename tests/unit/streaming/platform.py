"""Lambda's side of the Runtime API, played on loopback by the test itself, which sees every byte."""

import json
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Self

PATIENCE = 5
"""Seconds after which a byte that does not come fails the test."""


class Platform:
    """One listening socket and the connection that the loop opens to it."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._connection: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()
        self._listener.close()

    @property
    def connection(self) -> socket.socket:
        """The loop's connection; waits for it at first."""
        if self._connection is None:
            self._connection, _ = self._listener.accept()
            self._connection.settimeout(PATIENCE)
        return self._connection

    def hang_up(self) -> None:
        """Cut the connection without a word."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def read_until(self, end: bytes) -> bytes:
        """Read exactly up to and including `end`."""
        read = b""
        while not read.endswith(end):
            byte = self.connection.recv(1)
            if not byte:
                raise AssertionError(f"the connection ended after {read!r}")
            read += byte
        return read

    def read_head(self) -> tuple[str, dict[str, str]]:
        """Read a request line and its headers (names in lower case)."""
        first, *fields = self.read_until(b"\r\n\r\n").decode().strip().split("\r\n")
        pairs = (field.split(": ", 1) for field in fields)
        return first, {name.lower(): value for name, value in pairs}

    def read_request(self) -> tuple[str, dict[str, str], bytes]:
        """Read a whole request that has a Content-Length."""
        line, headers = self.read_head()
        body = b""
        while len(body) < int(headers.get("content-length", "0")):
            body += self.connection.recv(65536)
        return line, headers, body

    def reply(self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Answer the request read last."""
        fields = {**(headers or {}), "Content-Length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.connection.sendall(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)

    def accept_failure(self) -> tuple[str, dict[str, str], dict[str, object]]:
        """Take an error that is posted; return its path, headers and JSON."""
        line, headers, body = self.read_request()
        self.reply(202)
        described: dict[str, object] = json.loads(body)
        return line, headers, described
