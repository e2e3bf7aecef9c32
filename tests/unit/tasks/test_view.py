"""What callers see of a task (specification 3.1.4 and 3.2.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import (
    ArtifactUpdated,
    Entry,
    LoggedEvent,
    PushKind,
    StatusChanged,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
    Voided,
)
from a2a_serverless.tasks.view import trim_history, visible, without_artifacts
from tests.unit.tasks.logs import chunk, event, legal_logs, received, status


@given(legal_logs(), st.none() | st.integers(0, 5))
def test_a_history_is_cut_to_its_most_recent_messages_and_the_stored_task_is_left_alone(
    log: list[LoggedEvent], length: int | None
) -> None:
    task = fold(LoggedTask(task_id="t"), log)
    before = task.to_json()

    trimmed = trim_history(task, length)

    kept = len(task.history) if length is None else min(length, len(task.history))
    assert trimmed.history == (task.history[-kept:] if kept else ())
    assert task.to_json() == before


def test_artifacts_are_left_out_without_touching_the_stored_task() -> None:
    task = fold(LoggedTask(task_id="t"), [event(1, received("m")), event(2, chunk("a", "x"))])

    assert without_artifacts(task).artifacts == ()
    assert len(task.artifacts) == 1


SETTLED = TurnSettled(turn=1, status=status(TaskState.COMPLETED))
STARTED = TurnStarted(turn=1, segment=1, status=status(TaskState.WORKING))
WHOLE = ArtifactUpdated(turn=1, artifact=chunk("a", "x").artifact, last_chunk=True)


@pytest.mark.parametrize(
    ("entry", "seen_and_pushed"),
    [
        (received("m"), (False, None)),
        (Voided(), (False, None)),
        (TurnCheckpointed(turn=1, segment=1), (False, None)),
        (STARTED, (True, PushKind.STATES)),
        (STARTED.model_copy(update={"segment": 2}), (False, None)),
        (SETTLED, (True, PushKind.STATES)),
        (StatusChanged(turn=1, status=status(TaskState.WORKING)), (True, None)),
        (StatusChanged(turn=1, status=status(TaskState.WORKING, 1, "on it")), (True, PushKind.PROGRESS)),
        (chunk("a", "x"), (True, None)),
        (WHOLE, (True, PushKind.ARTIFACTS)),
        (WHOLE.model_copy(update={"append": True}), (True, PushKind.ARTIFACTS)),
    ],
)
def test_bookkeeping_is_never_shown_and_pieces_are_never_pushed(
    entry: Entry, seen_and_pushed: tuple[bool, PushKind | None]
) -> None:
    assert (visible(entry), event(1, entry).pushes) == seen_and_pushed
