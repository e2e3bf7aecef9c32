"""A receiver of webhooks under fire, as a program of its own: over HTTP, or over HTTPS with a certificate.

Says one line of JSON for every request before it answers it, so that the order of the lines is the order of
events. Hears two words: `forgive`, after which nothing is gone any more, and the end of its input.
"""

import argparse
import contextlib
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.e2e.fire.fates import ARRIVED, GONE, LOST, TAKEN, Chance

RETRY_AFTER = "1"
RESET = struct.pack("ii", 1, 0)


class Target(ThreadingHTTPServer):
    """The receiver. Paths `/gone/N/…` take N events and then answer 410 until they are forgiven."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self, chance: Chance, tls: ssl.SSLContext | None, silence: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.silence = silence
        self._chance, self._tls = chance, tls
        self._lock = threading.Lock()
        self._connections = 0
        self._came: Counter[tuple[str, str]] = Counter()
        self._had: dict[str, set[str]] = {}
        self._forgiving = False

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Hang up on some before they have said anything."""
        self._connections += 1
        if not self._chance.hangs_up(self._connections):
            return True
        hang_up(request)
        with self._lock:
            say(fate="hung up", at=time.time())
        return False

    def get_request(self) -> tuple[Any, Any]:
        """A connection; its TLS is agreed upon by the thread that reads from it."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def judge(self, path: str, headers: dict[str, str], body: str) -> str:
        """Decide what becomes of a request, and say so."""
        event_id = headers["x-a2a-event-id"]
        with self._lock:
            had = self._had.setdefault(path, set())
            fate = self._chance.fate(path, event_id, self._came[path, event_id])
            if fate in ARRIVED and event_id not in had and self._is_gone(path, len(had)):
                fate = GONE
            self._came[path, event_id] += 1
            if fate in ARRIVED:
                had.add(event_id)
            say(fate=fate, at=time.time(), path=path, event_id=event_id, headers=headers, body=body)
        return fate

    def forgive(self) -> None:
        """Take everything from now on."""
        with self._lock:
            self._forgiving = True
            say(forgiving=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that was killed leaves in the middle of anything; all else is worth its words."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def _is_gone(self, path: str, had: int) -> bool:
        first, _, rest = path.removeprefix("/").partition("/")
        return first == "gone" and not self._forgiving and had >= int(rest.partition("/")[0])


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Target

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        fate = self.server.judge(self.path, headers, body.decode())
        self.close_connection = True
        if fate == "silent":
            time.sleep(self.server.silence)
        elif fate in ("reset", LOST):
            hang_up(self.connection)
        else:
            self.send_response(204 if fate == TAKEN else int(fate))
            if fate == "429":
                self.send_header("Retry-After", RETRY_AFTER)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_: Any) -> None:
        """What arrives has been said."""


def hang_up(connection: socket.socket) -> None:
    """End a connection with a RST, whoever still holds it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with contextlib.suppress(OSError):
        os.close(connection.detach())


def say(**facts: Any) -> None:
    """One line for whoever listens."""
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Receive until nobody says anything any more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--silence", type=float, default=0.0)
    parser.add_argument("--certificate")
    given = parser.parse_args()
    tls = None
    if given.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(given.certificate)
    target = Target(Chance(given.seed), tls, given.silence)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    say(port=target.server_port)
    for _ in sys.stdin:
        target.forgive()


if __name__ == "__main__":
    main()
