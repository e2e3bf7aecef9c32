"""Recording what an agent does, in order: text gathered, artifacts put together, fences respected."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.agent import ArtifactChunk, Completed, InputRequired, Working
from a2a_serverless.operations.recorder import FencedError, Recorder
from a2a_serverless.operations.updates import InvalidUpdateError
from a2a_serverless.ports import Policy, TurnKey
from a2a_serverless.protocol.objects import Part, TaskState
from a2a_serverless.tasks.fold import LoggedTask
from a2a_serverless.tasks.log import ArtifactUpdated, LoggedEvent, StatusChanged, TurnStarted, Voided
from tests.unit.operations.world import CALLER, World, plays

KB = 1024


@dataclass
class Desk:
    """A recorder at work on a turn that was begun, with a clock that stands still."""

    policy: Policy = field(default_factory=Policy)
    world: World = field(init=False)
    key: TurnKey = field(init=False)
    recorder: Recorder = field(init=False)
    seconds: float = 100.0

    def __post_init__(self) -> None:
        self.world = World(policy=self.policy)
        self.begin(self.world.send("m").id)

    def begin(self, task_id: str) -> None:
        self.key = self.world.turn(task_id)
        task = self.world.load(task_id)
        self.recorder = Recorder(self.world.ports, self.key, task, "me", lambda: self.seconds)
        status = self.recorder.status(TaskState.WORKING)
        self.recorder.append(TurnStarted(turn=self.key.turn, segment=1, status=status))

    def record(self, *updates: Any) -> None:
        for update in updates:
            self.recorder.record(update)

    def streams(self, *texts: str) -> None:
        self.record(*(ArtifactChunk("a", text) for text in texts))

    def written(self) -> list[str]:
        """What stands in the log after the start: texts of chunks, statuses in brackets."""
        found = []
        for entry in self.world.entries(self.key.task.task_id)[self.key.turn + 1 :]:
            if isinstance(entry, ArtifactUpdated):
                found.append("".join(part.text or "·" for part in entry.artifact.parts))
            elif isinstance(entry, StatusChanged):
                said = entry.status.message.parts[0].text if entry.status.message else ""
                found.append(f"[{said}]")
        return found

    def chunks(self) -> list[ArtifactUpdated]:
        entries = self.world.entries(self.key.task.task_id)
        return [entry for entry in entries if isinstance(entry, ArtifactUpdated)]

    def artifact(self, artifact_id: str = "a") -> list[Part]:
        (made,) = [each for each in self.seen().artifacts if each.artifact_id == artifact_id]
        return list(made.parts)

    def seen(self) -> Any:
        return self.world.get(self.key.task.task_id)


# --- text that streams -------------------------------------------------


def test_streamed_text_reads_as_one_part() -> None:
    desk = Desk()

    desk.streams("Hel", "lo, ", "wor", "ld")
    desk.recorder.flush()

    assert desk.artifact() == [Part(text="Hello, world")]


def test_the_first_piece_goes_out_at_once_and_later_ones_together() -> None:
    desk = Desk()

    desk.streams("Hel")
    assert desk.written() == ["Hel"]
    desk.streams("lo, ", "wor", "ld")
    assert desk.written() == ["Hel"]
    desk.recorder.flush()

    assert desk.written() == ["Hel", "lo, world"]
    assert [(chunk.append, chunk.joins) for chunk in desk.chunks()] == [(False, False), (True, True)]


def test_gathered_text_goes_out_when_it_has_waited_long_enough() -> None:
    desk = Desk(Policy(chunk_delay=0.040))
    assert desk.recorder.flush_in() == math.inf

    desk.streams("a", "b")
    assert desk.recorder.flush_in() == pytest.approx(0.040)
    desk.seconds += 0.030
    desk.streams("c")
    assert desk.recorder.flush_in() == pytest.approx(0.010)
    assert desk.written() == ["a"]
    desk.seconds += 0.011
    assert desk.recorder.flush_in() <= 0
    desk.streams("d")

    assert desk.written() == ["a", "bcd"]
    assert desk.recorder.flush_in() == math.inf


def test_the_delay_counts_from_what_went_out_last() -> None:
    desk = Desk(Policy(chunk_delay=0.040))
    desk.streams("a")
    desk.seconds += 10

    desk.streams("b")

    assert desk.written() == ["a", "b"], "nothing went out for long: no reason to wait"
    desk.streams("c")
    assert desk.recorder.flush_in() == pytest.approx(0.040)


def test_gathered_text_goes_out_when_it_is_big_enough() -> None:
    desk = Desk(Policy(chunk_size=10))

    desk.streams("first", "12345", "6789")
    assert desk.written() == ["first"]
    desk.streams("0")

    assert desk.written() == ["first", "1234567890"]


def test_progress_keeps_its_place_among_the_text() -> None:
    desk = Desk()

    desk.streams("a", "b", "c")
    desk.record(Working("half way"))
    desk.streams("d", "e")
    desk.record(Working())
    desk.recorder.flush()

    assert desk.written() == ["a", "bc", "[half way]", "de", "[]"]
    assert desk.artifact() == [Part(text="abcde")]


def test_the_pieces_of_two_artifacts_keep_their_order_and_their_artifacts() -> None:
    desk = Desk()

    desk.record(*(ArtifactChunk(name, text) for name, text in (*zip("aabbab", "123456", strict=True),)))
    desk.recorder.flush()

    assert desk.written() == ["1", "2", "3", "4", "5", "6"] or desk.written() == [
        "1",
        "3",
        "2",
        "4",
        "5",
        "6",
    ]
    assert desk.artifact("a") == [Part(text="125")]
    assert desk.artifact("b") == [Part(text="346")]


def test_text_of_another_media_type_is_another_part() -> None:
    desk = Desk()

    desk.streams("a", "b")
    desk.record(*(ArtifactChunk("a", text, media_type="text/markdown") for text in ("c", "d")))
    desk.streams("e")
    desk.recorder.flush()

    assert desk.artifact() == [
        Part(text="ab"),
        Part(text="cd", media_type="text/markdown"),
        Part(text="e"),
    ]


def test_parts_keep_their_boundaries_and_their_place() -> None:
    desk = Desk()

    desk.streams("a", "b")
    desk.record(ArtifactChunk("a", "c", parts=[Part(data=1), Part(text="d")]))
    desk.streams("e")
    desk.record(ArtifactChunk("a", parts=[Part(text="f")]))
    desk.recorder.flush()

    assert desk.artifact() == [
        Part(text="ab"),
        Part(text="c"),
        Part(data=1),
        Part(text="de"),
        Part(text="f"),
    ]


def test_a_chunk_that_describes_its_artifact_adds_to_what_is_known() -> None:
    desk = Desk()

    desk.record(ArtifactChunk("a", "x", name="Report"), ArtifactChunk("a", "y", description="long"))
    desk.record(ArtifactChunk("a", "z", metadata={"k": 1}))

    (made,) = desk.seen().artifacts
    assert (made.name, made.description, made.metadata) == ("Report", "long", {"k": 1})
    assert "".join(part.text for part in made.parts) == "xyz"


@pytest.mark.parametrize("empty", [ArtifactChunk("a"), ArtifactChunk("a", ""), ArtifactChunk("a", parts=[])])
def test_an_empty_chunk_is_no_chunk(empty: ArtifactChunk) -> None:
    desk = Desk()

    desk.record(empty)
    assert desk.seen().artifacts == ()
    desk.streams("x")
    desk.record(empty)
    desk.streams("y")
    desk.record(empty)
    desk.recorder.flush()

    assert desk.written() == ["x", "y"]
    assert desk.artifact() == [Part(text="xy")]
    assert all(chunk.artifact.parts for chunk in desk.chunks())


# --- whole, anew, and again -------------------------------------------------


def test_the_last_chunk_goes_out_at_once_and_says_so() -> None:
    desk = Desk()

    desk.streams("a", "b")
    desk.record(ArtifactChunk("a", "c", last_chunk=True))

    assert desk.written() == ["a", "bc"]
    assert [chunk.last_chunk for chunk in desk.chunks()] == [False, True]


def test_an_empty_last_chunk_makes_the_gathered_text_the_last() -> None:
    desk = Desk()

    desk.streams("a", "b")
    desk.record(ArtifactChunk("a", last_chunk=True))

    assert desk.written() == ["a", "b"]
    assert [chunk.last_chunk for chunk in desk.chunks()] == [False, True]


def test_an_artifact_in_one_piece_is_whole() -> None:
    desk = Desk()

    desk.record(ArtifactChunk("a", "all of it", last_chunk=True))

    (chunk,) = desk.chunks()
    assert (chunk.append, chunk.last_chunk) == (False, True)


def test_a_chunk_that_does_not_append_starts_the_artifact_anew() -> None:
    desk = Desk()

    desk.streams("old", " text")
    desk.record(ArtifactChunk("a", "new", append=False))
    desk.streams(" text")
    desk.recorder.flush()

    assert desk.artifact() == [Part(text="new text")]
    assert desk.written() == ["old", " text", "new", " text"]


@pytest.mark.parametrize(
    ("append", "parts"), [(None, ["second"]), (False, ["second"]), (True, ["first", "second"])]
)
def test_an_artifact_of_an_earlier_turn_is_replaced_or_added_to(
    *, append: bool | None, parts: list[str]
) -> None:
    desk = Desk()
    desk.world.agent = plays(ArtifactChunk("a", "first"), InputRequired("?"))
    asked = desk.world.said("m0")
    desk.world.send("m1", task_id=asked.id)
    desk.begin(asked.id)

    desk.record(ArtifactChunk("a", "sec", append=append))
    desk.streams("ond")
    desk.recorder.flush()

    assert desk.artifact() == [Part(text=text) for text in parts]


def test_appending_to_an_artifact_nobody_has_heard_of_creates_it() -> None:
    desk = Desk()

    desk.record(ArtifactChunk("a", "x", append=True), ArtifactChunk("a", parts=[Part(data=1)], append=True))

    assert desk.artifact() == [Part(text="x"), Part(data=1)]
    # Who follows has no artifact to add to; the official SDK takes that for an error of the agent.
    assert [chunk.append for chunk in desk.chunks()] == [False, True]


def test_a_big_piece_is_put_away_where_no_other_writer_puts_anything() -> None:
    desk = Desk()

    desk.record(ArtifactChunk("a", "x" * 65 * KB))

    (key,) = desk.world.contents.stored
    assert key == f"content//{CALLER.owner}/{desk.key.task.task_id}/3/0-me"


# --- what it says -------------------------------------------------


def test_progress_is_a_message_of_the_agent_in_the_tasks_context() -> None:
    desk = Desk()

    desk.record(Working("on it", parts=[Part(data={"percent": 50})]))

    status = desk.seen().status
    assert status.state is TaskState.WORKING
    assert status.message.parts == (Part(text="on it"), Part(data={"percent": 50}))
    assert (status.message.role, status.message.task_id) == ("ROLE_AGENT", desk.key.task.task_id)
    assert status.message.context_id == desk.seen().context_id


def test_a_status_is_never_dated_before_the_one_it_follows() -> None:
    desk = Desk()
    before = desk.recorder.task.current.timestamp
    desk.world.clock.moment -= desk.policy.due_after

    desk.record(Working("clock skew"))

    assert desk.seen().status.timestamp == before


@pytest.mark.parametrize("part", [Part(text="x" * (256 * KB + 1)), Part(raw=b"x" * (256 * KB + 1))])
def test_a_status_of_more_than_256_kb_is_no_status(part: Part) -> None:
    desk = Desk()

    with pytest.raises(InvalidUpdateError, match="256 KB"):
        desk.record(Working(parts=[part]))

    desk.record(Working(parts=[Part(text="x" * 256 * KB)]))
    assert desk.seen().status.message.parts == (Part(text="x" * 256 * KB),)


# --- what no task can hold -------------------------------------------------

GARBAGE = [
    None,
    "text",
    5,
    ...,
    {"artifact_id": "a", "text": "x"},
    Working,
    Completed("an outcome is the host's"),
    Part(text="x"),
    Working(5),  # type: ignore[arg-type]
    Working(b"x"),  # type: ignore[arg-type]
    Working("\ud800"),
    Working(parts=["x"]),  # type: ignore[list-item]
    Working(parts=None),  # type: ignore[arg-type]
    Working(parts=[{"text": "x"}]),  # type: ignore[list-item]
    ArtifactChunk("a", 5),  # type: ignore[arg-type]
    ArtifactChunk("a", b"x"),  # type: ignore[arg-type]
    ArtifactChunk("a", "\ud800"),
    ArtifactChunk("a", parts=["x"]),  # type: ignore[list-item]
    ArtifactChunk("a", parts=None),  # type: ignore[arg-type]
    ArtifactChunk("a", parts=Part(text="x")),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", media_type=5),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", name=5),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", description=b"x"),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", metadata=5),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", metadata={"k": object()}),
    ArtifactChunk("a", "x", metadata={"k": math.nan}),
    ArtifactChunk("a", "x", metadata={5: "k"}),  # type: ignore[dict-item]
    ArtifactChunk("a", "x", append="no"),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", append=[]),  # type: ignore[arg-type]
    ArtifactChunk("a", "x", last_chunk="no"),  # type: ignore[arg-type]
    ArtifactChunk(5, "x"),  # type: ignore[arg-type]
    ArtifactChunk(None, "x"),  # type: ignore[arg-type]
    *(ArtifactChunk(name, "x") for name in ("", " ", ".", "..", "a b", "a/b", "ä", "a\n", "x" * 129)),
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda garbage: repr(garbage)[:60])
@pytest.mark.parametrize("begun", [False, True])
def test_what_no_task_can_hold_is_refused_and_not_written(garbage: Any, *, begun: bool) -> None:
    desk = Desk()
    if begun:
        desk.streams("x", "y")

    with pytest.raises(InvalidUpdateError):
        desk.record(garbage)

    desk.recorder.flush()
    assert desk.written() == (["x", "y"] if begun else [])


@pytest.mark.parametrize("name", ["a", "x" * 128, "A.b_c:d-9", "...", ".a", "..b"])
def test_an_artifact_may_have_any_plain_name(name: str) -> None:
    desk = Desk()

    desk.record(ArtifactChunk(name, "x"))

    assert desk.artifact(name) == [Part(text="x")]


# --- fences -------------------------------------------------


def ended_by_another(desk: Desk) -> None:
    event = LoggedEvent(desk.recorder.position + 1, "another", desk.recorder.task.expires, Voided())
    desk.world.tasks.append(desk.key.task, event)


@pytest.mark.parametrize("update", [Working("x"), ArtifactChunk("a", "x")])
def test_whatever_stands_at_the_next_position_ends_the_turn(update: Any) -> None:
    desk = Desk()
    ended_by_another(desk)

    for _ in range(2):
        with pytest.raises(FencedError):
            desk.record(update)

    assert isinstance(desk.world.entries(desk.key.task.task_id)[-1], Voided)
    assert desk.written() == []


def test_gathered_text_does_not_go_out_once_the_turn_was_ended() -> None:
    desk = Desk()
    desk.streams("a", "b")
    ended_by_another(desk)

    with pytest.raises(FencedError):
        desk.recorder.flush()

    assert desk.written() == ["a"]


def test_a_look_finds_out_that_the_turn_was_ended() -> None:
    desk = Desk()
    desk.streams("a")
    desk.recorder.look_for_others()
    ended_by_another(desk)

    with pytest.raises(FencedError):
        desk.recorder.look_for_others()


def test_a_look_is_due_when_nothing_was_written_or_looked_at_for_long_enough() -> None:
    desk = Desk(Policy(cancel_check=2.0))
    desk.seconds += 1.5
    assert desk.recorder.look_in() == pytest.approx(0.5)

    desk.streams("written")
    assert desk.recorder.look_in() == pytest.approx(2.0)
    desk.record(ArtifactChunk("a", ""))
    desk.seconds += 2.0
    assert desk.recorder.look_in() <= 0
    desk.recorder.look_for_others()

    assert desk.recorder.look_in() == pytest.approx(2.0)


def test_a_write_whose_answer_was_lost_and_that_is_repeated_is_no_fence() -> None:
    desk = Desk()
    key, append = desk.key.task, desk.world.tasks.append
    event = LoggedEvent(3, "me", desk.recorder.task.expires, Voided())
    append(key, event)
    append(key, event)

    assert [type(entry) for entry in desk.world.entries(key.task_id)[2:]] == [Voided]


# --- snapshots -------------------------------------------------


def unaided(desk: Desk) -> LoggedTask:
    """The task folded from its events alone."""
    for place in list(desk.world.table.items):
        if place[0] is LoggedTask:  # type: ignore[index]
            del desk.world.table.items[place]
    return desk.world.load(desk.key.task.task_id)


def test_a_snapshot_is_kept_every_so_many_events_and_changes_nothing() -> None:
    desk = Desk(Policy(snapshot_every=5))

    desk.record(*(Working(str(number)) for number in range(9)))
    desk.record(*(ArtifactChunk("a", text, media_type=kind) for text, kind in zip("xy", "tm", strict=True)))
    desk.recorder.flush()

    kept = sorted(place[1] for place, _ in desk.world.table.all(LoggedTask))
    head = desk.world.tasks.head(desk.key.task)
    assert kept == [5, 10]
    assert head is not None
    assert (head.position, head.snapshot, desk.recorder.snapshot) == (10, 10, 10)
    aided = desk.world.load(desk.key.task.task_id)
    assert aided.position == 13
    assert aided == desk.recorder.task.model_copy(update={"snapshot": 10})
    assert aided == unaided(desk).model_copy(update={"snapshot": 10})


def test_a_recorder_goes_on_counting_from_the_snapshot_it_found() -> None:
    desk = Desk(Policy(snapshot_every=5))
    desk.record(*(Working(str(number)) for number in range(4)))
    assert desk.recorder.snapshot == 5

    again = Recorder(desk.world.ports, desk.key, desk.world.load(desk.key.task.task_id), "me")

    assert again.snapshot == 5


# --- what listings see -------------------------------------------------


def listed_at(desk: Desk) -> Any:
    head = desk.world.tasks.head(desk.key.task)
    assert head is not None
    return head.status_at


def test_a_status_reaches_the_listings_within_a_second_and_not_more_often() -> None:
    desk = Desk()
    desk.recorder.write_head()
    assert desk.recorder.head_in() == math.inf
    before = listed_at(desk)
    desk.world.clock.sleep(5)

    desk.record(Working("one"), Working("two"))

    assert (listed_at(desk), desk.recorder.head_in()) == (before, pytest.approx(1.0))
    desk.seconds += 1.0
    assert desk.recorder.head_in() <= 0
    desk.recorder.write_head()
    assert listed_at(desk) == desk.seen().status.timestamp
    assert desk.recorder.head_in() == math.inf


def test_a_turn_that_goes_on_leaves_it_to_the_sweeper_when_to_look_again() -> None:
    desk = Desk()
    later = desk.world.clock.now() + timedelta(hours=1)
    desk.world.ports.tasks.mark_due(desk.key.task, later)

    desk.record(Working("still here"))
    desk.recorder.write_head()

    head = desk.world.tasks.head(desk.key.task)
    assert head is not None
    assert head.due_at == later
