"""What a log adds up to."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.protocol.objects import TaskState
from a2a_serverless.tasks.fold import LoggedTask, fold, later
from a2a_serverless.tasks.lifecycle import TRANSITIONS
from a2a_serverless.tasks.log import (
    SCHEMA_VERSION,
    ArtifactUpdated,
    Entry,
    LoggedEvent,
    MessageReceived,
    StatusChanged,
    TurnCheckpointed,
    TurnSettled,
    TurnStarted,
    UnreadableEntryError,
    Voided,
    entry_body,
    read_entry,
)
from tests.unit.tasks.logs import at, chunk, event, legal_logs, received, status

EMPTY = LoggedTask(task_id="t")


def folded(*entries: Entry) -> LoggedTask:
    return fold(EMPTY, [event(position, entry) for position, entry in enumerate(entries, 1)])


@given(legal_logs(), st.data())
def test_folding_in_two_steps_through_a_stored_snapshot_is_folding_at_once(
    log: list[LoggedEvent], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    snapshot = LoggedTask.model_validate(json.loads(fold(EMPTY, log[:cut]).to_json()))

    assert fold(snapshot, log[cut:]) == fold(EMPTY, log)


@given(legal_logs())
def test_every_entry_survives_being_stored(log: list[LoggedEvent]) -> None:
    for each in log:
        assert read_entry(each.entry.kind, SCHEMA_VERSION, entry_body(each.entry)) == each.entry


@given(legal_logs())
def test_nothing_that_was_said_or_made_is_lost(log: list[LoggedEvent]) -> None:
    task = fold(EMPTY, log)
    sent = [each.entry.message.message_id for each in log if isinstance(each.entry, MessageReceived)]
    made = {each.entry.artifact.artifact_id for each in log if isinstance(each.entry, ArtifactUpdated)}

    assert [turn.message_id for turn in task.turns] == sent
    assert {artifact.artifact_id for artifact in task.artifacts} == made
    assert all(artifact.parts for artifact in task.artifacts)
    assert task.position == len(log)


@given(legal_logs())
def test_the_times_of_a_fold_never_go_back_and_its_states_follow_the_table(log: list[LoggedEvent]) -> None:
    before = EMPTY
    for each in log:
        after = fold(before, [each])
        if before.status and after.status and before.status.state is not after.status.state:
            assert after.status.state in TRANSITIONS[before.status.state]
        before = after


def test_a_message_opens_a_turn_named_by_its_position() -> None:
    task = folded(Voided(), received("m1"))

    assert (task.open_turn, task.current.state, task.context_id) == (2, TaskState.SUBMITTED, "c")
    assert task.has("m1", 2)
    assert not task.has("m1", 3), "an id may be used again where nothing is deduplicated"
    assert not task.over(2)
    assert task.over(1), "position 1 holds no message: a turn of that name can never begin"
    assert not task.over(3), "position 3 is empty: a turn of that name may still begin"


def test_a_log_of_voids_is_a_task_that_does_not_exist() -> None:
    task = folded(Voided())

    assert not task.exists
    with pytest.raises(LookupError):
        _ = task.current


def test_an_answer_moves_the_question_into_the_history_and_the_task_on() -> None:
    asks = TurnSettled(turn=1, status=status(TaskState.INPUT_REQUIRED, 1, "Which?"), state="saved")
    waiting = folded(received("m1"), asks)
    assert waiting.waiting
    assert [message.message_id for message in waiting.history] == ["m1"]

    answered = fold(waiting, [event(3, received("m2", second=2))])

    assert [message.message_id for message in answered.history] == ["m1", "a-1", "m2"]
    assert (answered.current.state, answered.open_turn) == (TaskState.WORKING, 3)
    assert (answered.settled_turn, answered.settled_state) == (1, "saved")


def test_a_status_is_never_older_than_the_one_before() -> None:
    before = status(TaskState.INPUT_REQUIRED, 10)

    assert later(before, at(5)) == at(10)
    assert later(before, at(11)) == at(11)
    assert later(None, at(5)) == at(5)


def test_segments_and_checkpoints_of_the_latest_turn_are_counted() -> None:
    started = TurnStarted(turn=1, segment=1, status=status(TaskState.WORKING))
    saved = TurnCheckpointed(turn=1, segment=1, state="key")
    task = folded(received("m1"), started, chunk("a", "x"), saved)

    assert (task.segments, task.checkpoints, task.state, task.turn_artifacts) == (1, 1, "key", ("a",))


def test_events_with_a_hole_between_them_are_no_log() -> None:
    with pytest.raises(ValueError, match="position 3 does not follow 1"):
        fold(EMPTY, [event(1, received("m1")), event(3, Voided())])


def test_an_entry_from_the_future_is_not_guessed_at() -> None:
    with pytest.raises(UnreadableEntryError):
        read_entry("message", SCHEMA_VERSION + 1, "{}")
    with pytest.raises(UnreadableEntryError):
        read_entry("telepathy", SCHEMA_VERSION, "{}")


FROZEN = json.loads(Path(__file__).with_name("log_of_schema_1.json").read_text())
"""A log as schema version 1 wrote it. It is never edited: whatever the code becomes, this must still fold."""


def test_a_log_written_by_schema_version_1_still_folds() -> None:
    log = [
        LoggedEvent(position, "w", 2_000_000_000, read_entry(each["kind"], 1, json.dumps(each["body"])))
        for position, each in enumerate(FROZEN, 1)
    ]

    task = fold(EMPTY, log)

    assert task.current.state is TaskState.INPUT_REQUIRED
    assert task.record_of(1).claims == {"name": "alice"}
    (report,) = task.artifacts
    assert (report.name, [part.which() for part in report.parts]) == ("Report", ["text", "stored"])
    assert report.parts[0].text == "Hello"
    assert (task.settled_state, task.waiting, task.position) == ("k2", True, 10)


def test_what_is_only_told_beside_the_task_leaves_it_as_it_was() -> None:
    said = folded(
        received("m"),
        TurnStarted(turn=1, segment=1, status=status(TaskState.WORKING)),
        StatusChanged(turn=1, status=status(TaskState.WORKING, 1, "on it")),
    )
    aside = StatusChanged(turn=1, status=status(TaskState.WORKING, 2), metadata={"urn:x": {}})

    assert fold(said, [event(4, aside)]) == said.model_copy(update={"position": 4})


def test_a_question_for_permission_is_what_the_next_message_answers() -> None:
    asked = folded(
        received("m"),
        TurnStarted(turn=1, segment=1, status=status(TaskState.WORKING)),
        TurnSettled(turn=1, status=status(TaskState.INPUT_REQUIRED, 1, "may I?"), asks="id"),
        Voided(),
    )
    answered = fold(asked, [event(5, received("m2", second=2))])
    settled = TurnSettled(turn=5, status=status(TaskState.INPUT_REQUIRED, 3, "which one?"))
    after = fold(answered, [event(6, settled)])
    later_on = fold(after, [event(7, received("m3", second=4))])

    told = [(task.asked, task.answers) for task in (asked, answered, after, later_on)]
    assert told == [("id", None), (None, "id"), (None, "id"), (None, None)]
