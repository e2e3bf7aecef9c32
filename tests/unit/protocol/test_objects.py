"""Messages, parts, artifacts, tasks and the frames that carry them (specification 4.1, 4.2)."""

from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from a2a_serverless.protocol.errors import InvalidParamsError
from a2a_serverless.protocol.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_serverless.protocol.objects import Artifact, Message, Part, Role, Task, TaskState, TaskStatus
from a2a_serverless.protocol.scalars import Text

WORKING = TaskStatus(state=TaskState.WORKING)


class StoredPart(Part):
    """A part whose content lies elsewhere, as a room with a store would declare it."""

    alternatives: ClassVar[tuple[str, ...]] = (*Part.alternatives, "key")

    key: Text | None = None


@pytest.mark.parametrize(
    ("part", "which", "printed"),
    [
        (Part(text="hi"), "text", {"text": "hi"}),
        (Part(text=""), "text", {"text": ""}),
        (Part(raw=b""), "raw", {"raw": ""}),
        (Part(url="https://example.com"), "url", {"url": "https://example.com"}),
        (Part(data={"k": 1}), "data", {"data": {"k": 1}}),
        (Part(data=None), "data", {"data": None}),
        (
            Part(data=False, media_type="application/json"),
            "data",
            {"data": False, "mediaType": "application/json"},
        ),
    ],
)
def test_a_part_has_one_content_which_may_be_empty_or_null(
    part: Part, which: str, printed: dict[str, Any]
) -> None:
    assert part.which() == which
    assert part.to_dict() == printed
    assert Part.from_json(part.to_json()) == part


@pytest.mark.parametrize(
    "value", [{}, {"text": None}, {"text": "a", "url": "b"}, {"text": "a", "data": None}]
)
def test_a_part_without_content_or_with_two_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        Message.from_dict({"messageId": "m", "role": "ROLE_USER", "parts": [value]})

    (violation,) = refused.value.violations
    assert violation.field == "parts[0]"
    assert violation.description == "must have exactly one of text, raw, url, data"


def test_a_null_content_beside_a_real_one_is_absent() -> None:
    assert Part.from_dict({"text": "a", "raw": None, "url": None}) == Part(text="a")


def test_a_part_may_be_given_another_alternative_and_is_printed_as_what_it_is() -> None:
    message = Message(message_id="m", role=Role.AGENT, parts=(StoredPart(key="k"), StoredPart(data=None)))

    assert message.parts[0].which() == "key"
    assert message.to_dict()["parts"] == [{"key": "k"}, {"data": None}]
    with pytest.raises(ValidationError):
        StoredPart(key="k", text="both")


@pytest.mark.parametrize("parts", [(), None])
def test_messages_and_artifacts_have_at_least_one_part(parts: tuple[Part, ...] | None) -> None:
    for our, names in ((Message, {"messageId": "m", "role": "ROLE_AGENT"}), (Artifact, {"artifactId": "a"})):
        with pytest.raises(InvalidParamsError) as refused:
            our.from_dict({**names, "parts": parts})
        assert [violation.field for violation in refused.value.violations] == ["parts"]


def test_a_required_id_that_is_empty_is_missing() -> None:
    with pytest.raises(InvalidParamsError) as refused:
        Task.from_dict({"id": "", "status": {"state": "TASK_STATE_WORKING"}})

    assert [(each.field, each.description) for each in refused.value.violations] == [("id", "is required")]


def test_what_is_unset_or_empty_is_not_printed() -> None:
    assert Task(id="t", status=WORKING).to_dict() == {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}


def test_an_artifact_update_says_append_and_last_chunk_only_when_true() -> None:
    artifact = Artifact(artifact_id="a", parts=(Part(text="x"),))
    update = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact)

    assert update.to_dict().keys() == {"taskId", "contextId", "artifact"}
    assert update.model_copy(update={"append": True, "last_chunk": True}).to_dict() == {
        **update.to_dict(),
        "append": True,
        "lastChunk": True,
    }


def test_a_frame_carries_exactly_one_payload() -> None:
    event = TaskStatusUpdateEvent(task_id="t", context_id="c", status=WORKING)
    frame = StreamResponse(status_update=event)

    assert frame.which() == "status_update"
    assert frame.to_dict() == {"statusUpdate": event.to_dict()}
    for wrong in ({}, {"status_update": event, "task": Task(id="t", status=WORKING)}):
        with pytest.raises(ValidationError):
            StreamResponse(**wrong)
