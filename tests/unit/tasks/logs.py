"""Logs for tests: legal ones made by hypothesis, and builders for single events."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from a2a_serverless.protocol.objects import Message, Part, Role, TaskState
from a2a_serverless.tasks.content import LoggedArtifact, LoggedPart, LoggedStatus, logged, logged_message
from a2a_serverless.tasks.lifecycle import TERMINAL
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    Entry,
    LoggedEvent,
    MessageReceived,
    StatusChanged,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
    Voided,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
EXPIRES = 2_000_000_000


def at(seconds: int) -> datetime:
    return NOON + timedelta(seconds=seconds)


def event(position: int, entry: Entry) -> LoggedEvent:
    return LoggedEvent(position=position, writer=f"w{position}", expires=EXPIRES, entry=entry)


def received(message_id: str, text: str = "hi", second: int = 0, **more: Any) -> MessageReceived:
    message = Message(message_id=message_id, role=Role.USER, parts=(Part(text=text),))
    kept = logged_message(message, [logged(part) for part in message.parts])
    return MessageReceived(message=kept, context_id="c", received_at=at(second), **more)


def status(state: TaskState, second: int = 0, text: str | None = None) -> LoggedStatus:
    if text is None:
        return LoggedStatus(state=state, timestamp=at(second))
    message = Message(message_id=f"a-{second}", role=Role.AGENT, parts=(Part(text=text),))
    kept = logged_message(message, [logged(part) for part in message.parts])
    return LoggedStatus(state=state, timestamp=at(second), message=kept)


def chunk(
    artifact_id: str, text: str, *, turn: int = 1, append: bool = False, joins: bool = False, **more: Any
) -> ArtifactUpdated:
    artifact = LoggedArtifact(artifact_id=artifact_id, parts=(LoggedPart(text=text),), **more)
    return ArtifactUpdated(turn=turn, artifact=artifact, append=append, joins=joins)


@st.composite
def legal_logs(draw: st.DrawFn) -> list[LoggedEvent]:
    """Logs as the flows write them: starts, progress, chunks and checkpoints, with voids in between."""
    entries: list[Entry] = []
    second = 0
    for number in range(draw(st.integers(1, 3))):
        entries += [Voided()] * draw(st.integers(0, 1))
        turn = len(entries) + 1
        entries.append(received(f"m{number}", draw(st.text(min_size=1, max_size=5)), second))
        for segment in range(1, draw(st.integers(1, 2)) + 1):
            if segment > 1:
                wakes_at = draw(st.none() | st.just(at(second)))
                entries.append(
                    TurnCheckpointed(turn=turn, segment=segment - 1, state=f"s{turn}", wakes_at=wakes_at)
                )
            entries.append(TurnStarted(turn=turn, segment=segment, status=status(TaskState.WORKING, second)))
            for _ in range(draw(st.integers(0, 4))):
                second += 1
                entries.append(draw(_progress(turn, second)))
        state = draw(st.sampled_from([*TERMINAL, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED]))
        asks = draw(st.none() | st.just("id")) if state is TaskState.INPUT_REQUIRED else None
        kept = draw(st.none() | st.just("k"))
        entries.append(TurnSettled(turn=turn, status=status(state, second, "why"), state=kept, asks=asks))
        if state in TERMINAL:
            break
    return [event(position, entry) for position, entry in enumerate(entries, 1)]


def _progress(turn: int, second: int) -> st.SearchStrategy[Entry]:
    changed = st.just(StatusChanged(turn=turn, status=status(TaskState.WORKING, second, "…")))
    chunks = st.builds(
        lambda artifact_id, text, append, joins: chunk(
            artifact_id, text, turn=turn, append=append, joins=joins and append
        ),
        st.sampled_from(["a", "b"]),
        st.text(min_size=1, max_size=5),
        st.booleans(),
        st.booleans(),
    )
    aside = StatusChanged(turn=turn, status=status(TaskState.WORKING, second), metadata={"urn:x": {"a": 1}})
    return st.one_of(changed, chunks, st.just(aside))
