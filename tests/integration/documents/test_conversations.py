"""The agent that the documentation shows, in a conversation, and the limits that it tells of."""

import re
from pathlib import Path
from typing import Any

from a2a_serverless.adapters.s3_upload import PART
from a2a_serverless.agent import Part
from a2a_serverless.agent.rehearsal import TaskState, rehearse
from a2a_serverless.operations.contexts import ANOTHER_WORKSPACE, MOST_EARLIER
from a2a_serverless.operations.memory import MOST_STATE
from a2a_serverless.ports import FilePolicy
from tests.integration.documents.fenced import examples

DOCUMENT = "layers/core/a2a_serverless/agent/README.md"
TEXT = (Path(__file__).parents[3] / DOCUMENT).read_text(encoding="utf-8")


def shown() -> Any:
    """The agent of the documentation."""
    namespace: dict[str, Any] = {}
    exec(examples(DOCUMENT, "python")[0], namespace)  # noqa: S102  it is ours
    return namespace["agent"]


def test_the_agent_that_is_shown_does_what_it_says() -> None:
    happened = rehearse(
        shown(),
        "hello",
        Part(raw=b"\x89PNG", media_type="image/png", filename="cup.png"),
        Part(url="file:///photo.png", media_type="image/png"),
        files={"photo.png": b"\x89PNG too"},
    )

    assert [turn.state for turn in happened.turns] == [
        TaskState.INPUT_REQUIRED,
        TaskState.COMPLETED,
        TaskState.COMPLETED,
    ]
    assert happened.texts == {"album": "2 so far: album/cup.png, album/photo.png"}
    assert happened.saved == {"pictures": 2}


def test_the_numbers_are_those_that_hold() -> None:
    policy = FilePolicy()
    said = re.sub(r"(?<=\d),(?=\d{3})", "", TEXT)

    assert MOST_EARLIER == 10
    assert "the last ten tasks" in said
    assert MOST_STATE == 1024 * 1024
    assert f"Files of up to {policy.handed_over // 2**20} MiB" in said
    assert f"keeps {policy.most} files, each of up to {policy.most_bytes // 2**30} GiB" in said
    assert f"of which {PART // 2**20} MB are held at most" in said
    assert ANOTHER_WORKSPACE in said
