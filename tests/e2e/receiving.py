"""A receiver of webhooks as a program of its own: says what arrives, and answers as it was told.

Arguments: a port, and JSON of what the first requests to each path are answered with. A status, or "hold":
say nothing until the other side has gone. Whatever comes after those is answered with 204.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAYING = threading.Lock()


def say(**facts: Any) -> None:
    """One line for whoever listens."""
    with SAYING:
        print(json.dumps(facts), flush=True)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    answers: dict[str, list[int | str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        scripted = self.answers.get(self.path)
        answer = scripted.pop(0) if scripted else 204
        headers = {name.lower(): value for name, value in self.headers.items()}
        say(path=self.path, headers=headers, body=body.decode(), answered=answer)
        if isinstance(answer, int):
            self.send_response(answer)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.close_connection = True
        while self.rfile.read1():
            pass
        say(path=self.path, left=True)

    def log_message(self, *_: Any) -> None:
        """What arrives has been said."""


def main(port: str, answers: str) -> None:
    """Receive for ever."""
    Handler.answers = json.loads(answers)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    say(port=server.server_port)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
