"""The agent that conformance kits talk to: how the message id, or else the text, begins says what it does.

The official kit sends its triggers as message ids, newer kits as the first words of the text.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from a2a_serverless.agent import (
    AgentProfile,
    AgentSkill,
    ArtifactChunk,
    AuthRequired,
    Completed,
    Failed,
    InputRequired,
    Message,
    Part,
    Permission,
    Rejected,
    Thinking,
    ToolCall,
    Turn,
    Update,
    Usage,
    Working,
)
from a2a_serverless.protocol.objects import Role

profile = AgentProfile(
    name="Conformance Agent",
    description="Does what conformance kits ask for.",
    skills=(
        AgentSkill(
            id="conformance",
            name="Conformance",
            description="Answers the triggers of conformance kits.",
            tags=("test",),
        ),
    ),
    input_modes=("*/*",),
    output_modes=("*/*",),
)

FILE = {"filename": "output.txt", "media_type": "text/plain"}

Script = Callable[[Turn], AsyncIterator[Update]]


async def complete(_: Turn) -> AsyncIterator[Update]:
    """COMPLETED with a word."""
    yield Completed("Hello from TCK")


async def ask(_: Turn) -> AsyncIterator[Update]:
    """INPUT_REQUIRED, every time."""
    yield InputRequired("Please go on.")


async def ask_until_done(turn: Turn) -> AsyncIterator[Update]:
    """INPUT_REQUIRED until a turn says "done"."""
    if "done" in text_of(turn.message).lower():
        yield Completed("Done.")
    else:
        yield InputRequired("Say done when you are.")


async def ask_for_authorisation(_: Turn) -> AsyncIterator[Update]:
    """AUTH_REQUIRED."""
    yield AuthRequired("Please authorise this elsewhere.")


async def reject(_: Turn) -> AsyncIterator[Update]:
    """REJECTED."""
    yield Rejected("rejected")


async def fail(_: Turn) -> AsyncIterator[Update]:
    """FAILED with a message."""
    yield Failed("The task failed, as asked.")


def deliver(*parts: Part) -> Script:
    """One artifact of these parts, then COMPLETED."""

    async def script(_: Turn) -> AsyncIterator[Update]:
        yield ArtifactChunk("artifact", parts=parts, last_chunk=True)

    return script


def stream(text: str) -> Script:
    """WORKING, an artifact of text, COMPLETED."""

    async def script(_: Turn) -> AsyncIterator[Update]:
        yield Working()
        yield ArtifactChunk("artifact", text, last_chunk=True)

    return script


async def stream_chunks(_: Turn) -> AsyncIterator[Update]:
    """WORKING, an artifact in three chunks, COMPLETED."""
    yield Working()
    for chunk in ("chunk one, ", "chunk two, "):
        yield ArtifactChunk("artifact", parts=[Part(text=chunk)])
    yield ArtifactChunk("artifact", parts=[Part(text="chunk three")], last_chunk=True)


def wait(seconds: float, text: str, *, artifact: bool = False) -> Script:
    """WORKING for so long, then COMPLETED."""

    async def script(_: Turn) -> AsyncIterator[Update]:
        yield Working()
        await asyncio.sleep(seconds)
        if artifact:
            yield ArtifactChunk("artifact", "Finished at last", last_chunk=True)
        yield Completed(text)

    return script


async def ask_permission(turn: Turn) -> AsyncIterator[Update]:
    """INPUT_REQUIRED with a question, then what it was answered."""
    allowed = await turn.ask_permission(Permission("delete", "Delete it", target="it", arguments={"id": 7}))
    yield Completed("Deleted.") if allowed else Rejected("Not deleted.")


async def use_tools(_: Turn) -> AsyncIterator[Update]:
    """What extensions tell of, then COMPLETED."""
    yield Working("Searching")
    yield ToolCall("1", "search", {"query": "shoes"})
    yield Thinking("Shoes are nice.")
    yield Usage(10, 2)
    yield Completed("Found.")


SCRIPTS: dict[str, Script] = {
    "permission": ask_permission,
    "tools": use_tools,
    "tck-complete-task": complete,
    "tck-input-required": ask,
    "tck-artifact-text": deliver(Part(text="Generated text content")),
    "tck-artifact-file": deliver(Part(raw=b"Generated file content", **FILE)),
    "tck-artifact-file-url": deliver(Part(url="https://example.com/output.txt", **FILE)),
    "tck-artifact-data": deliver(Part(data={"key": "value", "count": 42})),
    "tck-stream-001": stream("Stream hello from TCK"),
    "tck-stream-002": complete,
    "tck-stream-003": stream("Stream task lifecycle"),
    "tck-stream-ordering-001": stream("Ordered output"),
    "tck-stream-artifact-text": stream("Streamed text content"),
    "tck-stream-artifact-file": deliver(Part(raw=b"Streamed file content", **FILE)),
    "tck-stream-artifact-chunked": stream_chunks,
    "tck-stream-basic": stream("Streamed text content"),
    "tck-stream-chunked": stream_chunks,
    "tck-reject-task": reject,
    "tck-auth-required": ask_for_authorisation,
    "tck-delayed-complete": wait(2, "Done after delay"),
    "tck-long-running": wait(5, "Done at last", artifact=True),
    "tck-multi-turn": ask_until_done,
    "tck-cancel": wait(600, "Nobody canceled this."),
    "tck-task-failure": fail,
    "test-resubscribe-message-id": wait(4, "Done after a while"),
}


def text_of(message: Message) -> str:
    """The text of the first part."""
    return message.parts[0].text or ""


def trigger_of(message: Message, known: dict[str, Script]) -> str | None:
    """The longest trigger that begins the message id, or else the text."""
    for said in (message.message_id, text_of(message)):
        matching = [trigger for trigger in known if said.startswith(trigger)]
        if matching:
            return max(matching, key=len)
    return None


async def agent(turn: Turn) -> AsyncIterator[Update]:
    """Do what the trigger says; without one, complete. What has no text goes on with what was said first."""
    goes_on = turn.history and not text_of(turn.message)
    trigger = trigger_of(turn.history[0] if goes_on else turn.message, SCRIPTS)
    async for update in SCRIPTS.get(trigger or "", complete)(turn):
        yield update


def answer(message: Message) -> Message | None:
    """A direct reply to the one trigger that wants no task."""
    if not any(said.startswith("tck-message-response") for said in (message.message_id, text_of(message))):
        return None
    return Message(
        message_id=f"{message.message_id}-reply",
        role=Role.AGENT,
        parts=(Part(text="Direct message response"),),
    )
