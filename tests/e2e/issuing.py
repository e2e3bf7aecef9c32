"""An issuer of tokens on loopback: its configuration, its keys, and tokens good for an hour from now."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.fakes.issuers import FakeIssuer
from tests.fakes.world import FakeClock


@contextmanager
def issuing() -> Iterator[FakeIssuer]:
    """The issuer, for as long as the block lasts."""
    issuer = FakeIssuer(FakeClock(datetime.now(UTC)))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetches += 1
            configuration = {"issuer": issuer.name, "jwks_uri": f"{issuer.name}/keys"}
            answer = {"keys": issuer.published} if self.path == "/keys" else configuration
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.name = f"http://127.0.0.1:{server.server_port}"
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            serving.join()
