"""One answer of a model on Amazon Bedrock, as it streams in, and the message that it makes in the end.

botocore blocks, so it reads in a thread of its own; a turn that is cancelled shuts the connection, and the
thread ends. Knows the events of ConverseStream, and nothing of tools or turns.
"""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from botocore.exceptions import ClientError, EventStreamError, ReadTimeoutError
from urllib3.exceptions import HTTPError

from a2a_serverless.frameworks.runs import (
    BUSY,
    TOO_LONG,
    NotDoneError,
)

Event = Mapping[str, Any]

BROKEN_OFF = "The connection to the model broke off. Please try again."

THROTTLED = frozenset(
    {
        "ThrottlingException",
        "ServiceUnavailableException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "throttlingException",
        "serviceUnavailableException",
    }
)
"""Codes of errors that go away: those of the call begin with a capital, those in a stream do not."""

OVERLONG = (
    "Input is too long",
    "exceed context limit",
    "too many total text bytes",
    "prompt is too long",
    "maximum context length",
)
"""What models say of a conversation that is too long for them; there is no code for it."""


class ConverseClient(Protocol):
    """What is asked of a botocore client of `bedrock-runtime`; may be used from several threads."""

    def converse_stream(self, **request: Any) -> Mapping[str, Any]:  # noqa: ANN401  as botocore has it
        """The answer, whose `stream` is an iterable of events."""


async def streamed(client: ConverseClient, request: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
    """The events of one answer.

    Raises:
        NotDoneError: the model is busy, the conversation too long, or the connection broke off. Other errors
        of AWS rise as they are.
    """
    reader = _Reader(client, request)
    try:
        while (event := await reader.crossing.get()) is not None:
            if isinstance(event, BaseException):
                raise _told(event) from event
            yield event
    finally:
        reader.stop()


class _Reader:
    """Reads in a thread; what it read, and None or an error at the end, crosses over to the event loop."""

    def __init__(self, client: ConverseClient, request: Mapping[str, Any]) -> None:
        self.crossing: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
        self._client, self._request = client, request
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._stream: Any = None
        self._stopped = False
        threading.Thread(target=self._read, name="bedrock", daemon=True).start()

    def stop(self) -> None:
        """Read no more, and wake the thread where it waits for bytes."""
        with self._lock:
            self._stopped, stream = True, self._stream
        if stream is not None:
            with suppress(ValueError, RuntimeError, OSError):  # it has just ended by itself
                stream._raw_stream.shutdown()  # noqa: SLF001  closing would wait for the thread that reads

    def _read(self) -> None:
        last: BaseException | None = None
        try:
            stream = self._client.converse_stream(**self._request)["stream"]
            with self._lock:
                self._stream = stream
            try:
                for event in stream:
                    if self._stopped:
                        return
                    self._cross(event)
            finally:
                with self._lock:
                    self._stream = None
                stream.close()
        except Exception as error:  # noqa: BLE001  it rises where the events are awaited
            last = error
        self._cross(last)

    def _cross(self, what: Event | BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.crossing.put_nowait, what)


def _told(error: BaseException) -> BaseException:
    """What an error is to the caller: a text where there is one, else itself."""
    if isinstance(error, HTTPError | ReadTimeoutError):
        return NotDoneError(BROKEN_OFF)
    if not isinstance(error, ClientError):
        return error
    code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
    if code in THROTTLED:
        return NotDoneError(BUSY)
    if any(words in message for words in OVERLONG):
        return NotDoneError(TOO_LONG)
    return NotDoneError(BROKEN_OFF) if isinstance(error, EventStreamError) else error


class Answer:
    """The message that the events of one answer make.

    Attributes:
        content: its blocks.
        stop_reason: why it ended, "" while it has not.
        usage: the tokens it took, once known.
    """

    def __init__(self) -> None:
        self.content: list[dict[str, Any]] = []
        self.stop_reason = ""
        self.usage: Mapping[str, int] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def take(self, event: Event) -> None:
        """One more event."""
        match event:
            case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": call}}}:
                self._blocks[index] = {"toolUse": {**call, "input": ""}}
            case {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}:
                self._add(self._blocks.setdefault(index, {}), delta)
            case {"contentBlockStop": {"contentBlockIndex": index}}:
                if block := self._blocks.pop(index, None):
                    self.content.append(_whole(block))
            case {"messageStop": {"stopReason": reason}}:
                self.stop_reason = reason
            case {"metadata": {"usage": usage}}:
                self.usage = usage

    @property
    def message(self) -> dict[str, Any]:
        """As it goes back to the model in the next request."""
        return {"role": "assistant", "content": self.content}

    def _add(self, block: dict[str, Any], delta: Mapping[str, Any]) -> None:
        match delta:
            case {"text": text}:
                block["text"] = block.get("text", "") + text
            case {"toolUse": {"input": piece}}:
                block["toolUse"]["input"] += piece
            case {"reasoningContent": {"redactedContent": content}}:
                thought = block.setdefault("reasoningContent", {})
                thought["redactedContent"] = thought.get("redactedContent", b"") + content
            case {"reasoningContent": pieces}:
                thought = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
                for name, piece in pieces.items():
                    thought[name] = thought.get(name, "") + piece


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    if "toolUse" in block:
        try:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
        except ValueError:
            block["toolUse"]["input"] = {"not JSON": block["toolUse"]["input"]}
    return block
