"""Amazon Bedrock on loopback: ConverseStream as it is on the wire, saying what a script says.

The binary event stream is written here anew (prelude, headers, payload, both checksums), so that what a
client reads has gone through its own decoder. A script answers each request with events, with an error before
the stream or in it, with a connection that breaks off, or with one that hangs until the client lets go.
"""

import json
import struct
import threading
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from botocore.config import Config
from botocore.session import Session, get_session

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Refused:
    """An error instead of a stream, or in it."""

    code: str
    message: str = ""
    status: int = 400


CUT = "cut"
"""Breaks the connection off in the middle of an event."""

CLOSED = "closed"
"""Ends the stream in good order, though the answer has no end."""

HANG = "hang"
"""Says nothing more until the client lets go of the connection."""

Frame = Event | Refused | str
Script = Callable[[Mapping[str, Any]], Sequence[Frame]]


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of `application/vnd.amazon.eventstream`."""
    written = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + b"\x07"
        + struct.pack("!H", len(value))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(written) + len(payload), len(written))
    whole = prelude + struct.pack("!I", crc32(prelude)) + written + payload
    return whole + struct.pack("!I", crc32(whole))


def event(frame: Event) -> bytes:
    """One event of an answer."""
    ((name, payload),) = frame.items()
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return message(headers, json.dumps(payload).encode())


def refusal(frame: Refused) -> bytes:
    """An error in a stream: its type begins with a small letter there."""
    kind = frame.code[0].lower() + frame.code[1:]
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return message(headers, json.dumps({"message": frame.message}).encode())


def text(*pieces: str, stop: str = "end_turn", thought: str = "") -> list[Event]:
    """An answer in words."""
    return answer(*([{"reasoningContent": {"text": thought}}] if thought else []), *pieces, stop=stop)


def call(name: str, call_id: str = "call-1", /, **given: Any) -> dict[str, Any]:
    """A block of an answer that calls a tool."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": given}}


def answer(*blocks: str | Mapping[str, Any], stop: str | None = None) -> list[Event]:
    """An answer of these blocks, each in two pieces or more."""
    events: list[Event] = [{"messageStart": {"role": "assistant"}}]
    called = False
    for index, block in enumerate(blocks):
        if isinstance(block, Mapping) and "toolUse" in block:
            called = True
            start = {"toolUseId": block["toolUse"]["toolUseId"], "name": block["toolUse"]["name"]}
            events.append({"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": start}}})
            written = json.dumps(block["toolUse"]["input"])
            deltas: list[Any] = [{"toolUse": {"input": each}} for each in (written[:5], written[5:])]
        elif isinstance(block, Mapping):
            signed = {"reasoningContent": {"signature": "signed"}}
            deltas = [block, *([signed] if "text" in block["reasoningContent"] else [])]
        else:
            deltas = [{"text": block}]
        events += [{"contentBlockDelta": {"contentBlockIndex": index, "delta": each}} for each in deltas]
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    events.append({"messageStop": {"stopReason": stop or ("tool_use" if called else "end_turn")}})
    usage = {"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}
    events.append({"metadata": {"usage": usage, "metrics": {"latencyMs": 5}}})
    return events


@cache
def _session() -> Session:
    """One for all tests: it reads the description of the service once."""
    return get_session()


@dataclass
class Bedrock:
    """The endpoint, and what it was asked."""

    script: Script
    port: int = 0
    requests: list[dict[str, Any]] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    hanging: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def client(self, **config: Any) -> Any:
        """A client of botocore's that asks here."""
        return _session().create_client(
            "bedrock-runtime",
            region_name="eu-west-1",
            endpoint_url=f"http://127.0.0.1:{self.port}",
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=Config(retries={"total_max_attempts": 1}, **config),
        )


class Handler(BaseHTTPRequestHandler):
    """Answers one connection; `bedrock` is whose."""

    protocol_version = "HTTP/1.1"
    bedrock: Bedrock

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  its name there
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bedrock.requests.append(asked)
        self.bedrock.models.append(unquote(self.path.split("/")[2]))
        first, *others = self.bedrock.script(asked)
        if isinstance(first, Refused) and not others:
            self._refuse(first)
        else:
            self._stream([first, *others])

    def _refuse(self, refused: Refused) -> None:
        body = json.dumps({"message": refused.message}).encode()
        self.send_response(refused.status)
        self.send_header("x-amzn-ErrorType", refused.code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, frames: Sequence[Frame]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.amazon.eventstream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for frame in frames:
            if isinstance(frame, str):
                self._end_badly(frame)
                return
            self._chunk(refusal(frame) if isinstance(frame, Refused) else event(frame))
        self.wfile.write(b"0\r\n\r\n")

    def _end_badly(self, how: str) -> None:
        if how == CUT:
            self._chunk(event({"messageStop": {"stopReason": "end_turn"}})[:20])
        if how == HANG:
            self.bedrock.hanging.set()
            self.connection.settimeout(30)
            if self.connection.recv(1) == b"":
                self.bedrock.let_go.set()
        if how == CLOSED:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))


@contextmanager
def speaking(script: Script) -> Iterator[Bedrock]:
    """Serve a script on loopback."""
    bedrock = Bedrock(script)
    handler = type("Bound", (Handler,), {"bedrock": bedrock})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        bedrock.port = server.server_port
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield bedrock
        finally:
            server.shutdown()
