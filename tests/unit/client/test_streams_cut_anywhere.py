"""Streams cut after any number of bytes, any number of times: everything is told, and told once."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.client import Client, Options, Retries
from a2a_serverless.client.view import TaskView
from a2a_serverless.protocol.card import AgentCard
from a2a_serverless.protocol.events import StreamResponse
from tests.unit.client.agents_on_paper import URL, card, rpc, rpc_error, task
from tests.unit.client.test_client_streams import chunk, status

BEGUN = {"task": task("TASK_STATE_SUBMITTED")}
WORK = [
    BEGUN,
    status("WORKING", "erste Füße"),
    chunk("1 ✓ ", append=False),
    chunk("2 "),
    status("WORKING", "second"),
    chunk("x", append=False, artifact="b"),
    chunk("3 "),
    status("COMPLETED", "done"),
]


class Cut(httpx.AsyncByteStream):
    """Bytes that come in two pieces and may break off."""

    def __init__(self, content: bytes, *, breaks: bool) -> None:
        self.content = content
        self.breaks = breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        middle = len(self.content) // 2
        for piece in (self.content[:middle], self.content[middle:]):
            if piece:
                yield piece
        if self.breaks:
            raise httpx.RemoteProtocolError("gone")


class CutAnywhere(httpx.AsyncBaseTransport):
    """An agent whose task goes on by one event with each event that it sends, cut after so many bytes."""

    def __init__(self, cuts: list[int], *, ids: bool, end: str) -> None:
        self.cuts = cuts
        self.ids = ids
        self.end = end
        self.happened = 1

    def stood(self, place: int) -> dict[str, Any]:
        view, said = TaskView(), []
        for frame in WORK[:place]:
            view.apply(StreamResponse.from_dict(frame))
            message = frame.get("statusUpdate", {}).get("status", {}).get("message")
            said += [message] if message else []
        assert view.task is not None
        return {**view.task.to_dict(), "history": said}

    def event(self, request: httpx.Request, frame: dict[str, Any], number: int) -> bytes:
        reply = {"jsonrpc": "2.0", "id": json.loads(request.content)["id"], "result": frame}
        place = f"id: {number}{self.end}" if self.ids else ""
        return f"{place}data: {json.dumps(reply, ensure_ascii=False)}{self.end}{self.end}".encode()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        method = json.loads(request.content)["method"]
        if method == "GetTask":
            return rpc(request, self.stood(self.happened))
        place = int(request.headers.get("last-event-id", self.happened))
        if not self.ids and method == "SubscribeToTask" and self.happened == len(WORK):
            return rpc_error(request, {"code": -32004, "message": "It has ended"})
        first = BEGUN if method == "SendStreamingMessage" else {"task": self.stood(place)}
        place = 1 if method == "SendStreamingMessage" else place
        events = [
            self.event(request, first, place),
            *(self.event(request, frame, place + n) for n, frame in enumerate(WORK[place:], start=1)),
        ]
        whole = b"".join(events)
        sent = whole[: self.cuts.pop(0)] if self.cuts else whole
        for number in range(len(events)):
            if len(b"".join(events[:number])) < len(sent):
                self.happened = max(self.happened, min(place + number, len(WORK)))
        return httpx.Response(
            200,
            stream=Cut(sent, breaks=len(sent) < len(whole)),
            headers={"Content-Type": "text/event-stream"},
        )


def told(transport: CutAnywhere) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        options = Options(
            transport=transport,
            bindings=("JSONRPC",),
            retries=Retries(attempts=100, first_pause=0, longest_pause=0),
        )
        async with (
            Client(AgentCard.from_dict(card()), options, asked_from=URL) as agent,
            agent.send_streaming_message("Go") as stream,
        ):
            return [event.to_dict() async for event in stream]

    return asyncio.run(run())


CUTS = st.lists(st.integers(0, 2500), max_size=12)
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


@given(cuts=CUTS, end=ENDS)
def test_with_ids_exactly_what_happened_is_told(cuts: list[int], end: str) -> None:
    assert told(CutAnywhere(cuts, ids=True, end=end)) == WORK


@given(cuts=CUTS, end=ENDS)
def test_without_ids_it_is_the_same_but_for_texts_that_were_told_together(cuts: list[int], end: str) -> None:
    events = told(CutAnywhere(cuts, ids=False, end=end))

    said = [
        each["statusUpdate"]["status"]["message"]["messageId"] for each in events if "statusUpdate" in each
    ]
    texts: dict[str, str] = {}
    for each in events:
        if "artifactUpdate" in each:
            artifact = each["artifactUpdate"]["artifact"]
            name = artifact["artifactId"]
            texts[name] = texts.get(name, "") + "".join(part["text"] for part in artifact["parts"])
    assert said == ["m-erste Füße", "m-second", "m-done"]
    assert texts == {"a": "1 ✓ 2 3 ", "b": "x"}
    assert events[0] == BEGUN
