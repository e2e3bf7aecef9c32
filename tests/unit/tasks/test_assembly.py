"""Artifacts put together from chunks (specification 4.2.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_serverless.tasks.content import LoggedArtifact, LoggedPart
from a2a_serverless.tasks.fold import LoggedTask, fold
from a2a_serverless.tasks.log import ArtifactUpdated
from tests.unit.tasks.logs import chunk, event, received


def assembled(*updates: ArtifactUpdated) -> tuple[LoggedArtifact, ...]:
    log = [event(position, entry) for position, entry in enumerate((received("m"), *updates), 1)]
    return fold(LoggedTask(task_id="t"), log).artifacts


def texts(artifact: LoggedArtifact) -> list[str | None]:
    return [part.text for part in artifact.parts]


def test_text_that_was_streamed_is_one_part() -> None:
    pieces = [
        chunk("a", "Hel"),
        *(chunk("a", text, append=True, joins=True) for text in ("lo, ", "wor", "ld")),
    ]

    assert [texts(artifact) for artifact in assembled(*pieces)] == [["Hello, world"]]


def test_appended_parts_keep_their_boundaries() -> None:
    (artifact,) = assembled(chunk("a", "one"), chunk("a", "two", append=True))

    assert texts(artifact) == ["one", "two"]


def test_appending_to_an_unknown_artifact_creates_it() -> None:
    assert [texts(artifact) for artifact in assembled(chunk("a", "late", append=True, joins=True))] == [
        ["late"]
    ]


def test_a_chunk_that_does_not_append_replaces_the_artifact() -> None:
    (artifact,) = assembled(chunk("a", "old", name="Old"), chunk("a", "new"))

    assert (texts(artifact), artifact.name) == (["new"], None)


def test_a_later_chunk_may_describe_the_artifact() -> None:
    (artifact,) = assembled(chunk("a", "x"), chunk("a", "y", append=True, name="Report", metadata={"k": 1}))

    assert (artifact.name, artifact.metadata) == ("Report", {"k": 1})


@pytest.mark.parametrize(
    "before",
    [
        LoggedPart(data={"k": 1}),
        LoggedPart(text="x", media_type="text/markdown"),
        LoggedPart(text="x", filename="f"),
    ],
)
def test_text_never_joins_a_part_of_another_kind(before: LoggedPart) -> None:
    first = ArtifactUpdated(turn=1, artifact=LoggedArtifact(artifact_id="a", parts=(before,)))
    (artifact,) = assembled(first, chunk("a", "more", append=True, joins=True))

    assert [part.text for part in artifact.parts] == [before.text, "more"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.text(min_size=1), st.booleans()), min_size=1, max_size=30)
)
def test_no_character_of_any_chunk_is_lost_or_moved(pieces: list[tuple[str, str, bool]]) -> None:
    made = assembled(*(chunk(name, text, append=True, joins=joins) for name, text, joins in pieces))

    for artifact in made:
        expected = "".join(text for name, text, _ in pieces if name == artifact.artifact_id)
        assert "".join(text or "" for text in texts(artifact)) == expected
