"""Every file of `events/` through the handler of its function: what people see when they try them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.functions.deployment import EVENTS, Deployed, read_event

Outcome = tuple[int, str] | list[str]

OUTCOMES: Mapping[str, Outcome | None] = {
    "card.get.json": (200, '"url":"https://d111111abc.execute-api.eu-west-1.amazonaws.com/prod"'),
    "card.health.json": (200, '{"status":"healthy"}'),
    "card.keys.json": (200, '{"keys":['),
    "card.not-modified.json": (304, ""),
    "card.preflight.json": (204, ""),
    "fanout.batch.json": None,
    "fanout.state.json": None,
    "http_json.cancel-task.json": (404, "TASK_NOT_FOUND"),
    "http_json.create-file.json": (201, '"url":"file:///notes.txt"'),
    "http_json.get-task.json": (404, "TASK_NOT_FOUND"),
    "http_json.list-tasks.json": (200, '"pageSize":10'),
    "http_json.send-message.json": (200, "TASK_STATE_SUBMITTED"),
    "http_json.unknown-path.json": (404, "METHOD_NOT_FOUND"),
    "jsonrpc.cancel-task.json": (200, "TASK_NOT_FOUND"),
    "jsonrpc.get-task.json": (200, "TASK_NOT_FOUND"),
    "jsonrpc.list-tasks.json": (200, '"pageSize":10'),
    "jsonrpc.send-message-base64.json": (200, "TASK_STATE_SUBMITTED"),
    "jsonrpc.send-message.json": (200, "TASK_STATE_SUBMITTED"),
    "jsonrpc.without-version.json": (200, "VERSION_NOT_SUPPORTED"),
    "push.batch.json": ["059f36b4-87a3-44ab-83d2-661975040003"],
    "push.poke.json": [],
    "sweep.fail.json": None,
    "sweep.schedule.json": None,
    "turn.run.json": None,
}
"""What each event gives on a deployment without tasks: status and a piece of the body, the records of a batch
that are to come again, or (None) no answer at all."""


def test_every_event_has_an_outcome() -> None:
    assert OUTCOMES.keys() == {file.name for file in EVENTS}


@pytest.mark.parametrize("file", EVENTS, ids=lambda file: file.stem)
def test_an_event_gives_what_it_is_there_to_show(deployed: Deployed, file: Path) -> None:
    answer: Any = deployed.invoke(file.name.partition(".")[0], read_event(file.name))

    outcome = OUTCOMES[file.name]
    if outcome is None:
        assert answer is None
        return
    if isinstance(outcome, list):
        assert answer == {"batchItemFailures": [{"itemIdentifier": each} for each in outcome]}
        return
    status, piece = outcome
    assert (answer["statusCode"], piece in answer["body"]) == (status, True), answer["body"]
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    assert headers["access-control-allow-origin"] == "*"
