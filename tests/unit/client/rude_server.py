"""A server that does to its clients what networks and other servers do, byte by byte, by a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

CUT = object()
"""Break the connection here."""
STALL = object()
"""Say nothing more, for as long as the client is there."""

Play = Sequence[Any]
"""Pieces of a body, each sent by itself; at the end it ends properly, unless it was CUT or STALLs."""


@dataclass(frozen=True)
class Heard:
    """A request as it came."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def rpc(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


@dataclass(frozen=True)
class Answer:
    """What to answer: a status, headers, and the play."""

    play: Play
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})


Script = Callable[[Heard], Answer]


@dataclass
class Rude:
    """The server: answers requests by its scripts in turn."""

    scripts: list[Script]
    url: str = ""
    heard: list[Heard] = field(default_factory=list)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.rstrip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            verb, path, _ = first.split()
            self.heard.append(Heard(verb, path, headers, body))
            await self._answer(self.scripts.pop(0)(self.heard[-1]), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            writer.close()

    async def _answer(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = {**answer.headers, "Transfer-Encoding": "chunked", "Connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        writer.write(f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode())
        for piece in answer.play:
            if piece is CUT:
                writer.transport.abort()
                return
            if piece is STALL:
                await reader.read()
                return
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


@asynccontextmanager
async def rude(*scripts: Script) -> AsyncIterator[Rude]:
    """Serve these scripts on a port of this machine."""
    made = Rude(list(scripts))
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
