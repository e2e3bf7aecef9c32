"""`python -m tests.e2e.browser [BROWSER]`: a page of another origin in a real browser and the local stack.

No test, since not every machine has a browser: `apt-get install chromium` or firefox-esr brings one. The page
streams over both bindings, leaves in the middle, goes on by `Last-Event-ID`, once more as an EventSource, and
reads what goes wrong; then it tells us what it saw. Ends with 1 if anything is not as it must be.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.e2e.stack import PATIENCE, running

PAGE = Path(__file__).with_suffix(".html")
EXPECTED = {"no such task": [404, True], "another verb": [405, True], "too long, by the gateway": [413, True]}
"""Status of what goes wrong, and whether its body is there to be read."""


class Origin(BaseHTTPRequestHandler):
    """Where the page comes from, and tells what it saw."""

    reports: SimpleQueue[str] = SimpleQueue()

    def do_GET(self) -> None:
        """Serve the page."""
        content = PAGE.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Take the report."""
        self.reports.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def origin() -> Iterator[int]:
    """A server on a port of its own, which makes its pages another origin than the stack's."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Origin) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def seen_by(browser: str) -> Any:
    """What the page saw."""
    with tempfile.TemporaryDirectory() as folder, origin() as port:
        logs, profile = Path(folder, "logs"), Path(folder, "profile")
        logs.mkdir()
        with running(logs, "--agent", "tests.e2e.agents:agent") as stack:
            address = f"http://127.0.0.1:{port}/?api={stack.url}"
            process = subprocess.Popen(
                command(browser, profile, address),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                return json.loads(Origin.reports.get(timeout=PATIENCE))
            finally:
                process.terminate()
                process.wait(PATIENCE)


def command(browser: str, profile: Path, address: str) -> Sequence[str]:
    """How a browser is started without a window and with nothing of its user's."""
    if "firefox" in browser:
        profile.mkdir()
        return (browser, "--headless", "--no-remote", "--profile", str(profile), address)
    return (browser, "--headless", "--no-sandbox", "--no-first-run", f"--user-data-dir={profile}", address)


def faults(seen: Any) -> Iterator[str]:
    """What is not as it must be, one sentence each."""
    if "error" in seen:
        yield seen["error"]
        return
    for binding, followed in seen["bindings"].items():
        yield from (f"{binding}: {fault}" for fault in faults_of(**followed))
    found = {name: [answer["status"], bool(answer["body"])] for name, answer in seen["answers"].items()}
    if found != EXPECTED:
        yield f"the page read {found}"
    if not seen["answers"]["another verb"]["allow"]:
        yield "the page may not read which verbs are allowed"


def faults_of(begun: Any, rest: Any, source: Any) -> Iterator[str]:
    """What is not as it must be over one binding."""
    for answer in (begun, rest):
        if answer["status"] != 200 or answer["headers"]["content-type"] != "text/event-stream":
            yield f"a stream was answered with {answer['status']} {answer['headers']}"
        if None in answer["headers"].values():
            yield f"the page may not read all of {answer['headers']}"
    if rest["events"][0]["id"] != begun["events"][-1]["id"]:
        yield "the stream did not go on where it was left"
    told = [*begun["events"][1:], *rest["events"][1:]]
    updates = [each["data"]["artifactUpdate"] for each in told if "artifactUpdate" in each["data"]]
    text = "".join(part["text"] for update in updates for part in update["artifact"]["parts"])
    if text != "abcdef":
        yield f"the page read {text!r}"
    if source != rest["events"]:
        yield f"an EventSource saw {source}"


def main() -> int:
    """Print what the page saw in short, and what is wrong."""
    seen = seen_by(sys.argv[1] if len(sys.argv) > 1 else "chromium")
    for binding, followed in seen.get("bindings", {}).items():
        counts = {name: len(followed[name]["events"]) for name in ("begun", "rest")}
        print(f"{binding}: {counts} events, {len(followed['source'])} by EventSource")
    print(seen.get("agent", "no page"), "at", seen.get("origin"))
    found = list(faults(seen))
    for fault in found:
        print(f"fault: {fault}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
