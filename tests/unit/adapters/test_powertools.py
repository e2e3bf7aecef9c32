"""What goes to the function's log: incidents that are found by their id, counters that CloudWatch reads."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from a2a_serverless.adapters.log_lines import printed
from a2a_serverless.adapters.powertools_audit import PowertoolsAudit
from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents
from a2a_serverless.adapters.powertools_metrics import PowertoolsMetrics
from a2a_serverless.ports.audit import Call
from tests.fakes.ports import FakeIdentifiers


def failure() -> ValueError:
    """An error that was raised somewhere."""
    try:
        int("\N{FIRE}")
    except ValueError as error:
        return error
    raise AssertionError


def test_an_incident_is_one_line_found_by_its_id() -> None:
    written = io.StringIO()
    logger = Logger(service="turn", logger_handler=None, stream=written)
    incidents = PowertoolsIncidents(logger, FakeIdentifiers())

    error_id = incidents.report(failure(), task="t-1", turn="3")

    (line,) = written.getvalue().splitlines()
    record = json.loads(line)
    assert record["error_id"] == error_id
    assert record["error_type"] == "ValueError"
    assert record["facts"] == {"task": "t-1", "turn": "3"}
    assert record["level"] == "ERROR"
    assert record["service"] == "turn"
    assert "in failure" in record["exception"]


def test_every_incident_has_an_id_of_its_own() -> None:
    incidents = PowertoolsIncidents(Logger(service="turn", stream=io.StringIO()), FakeIdentifiers())

    assert incidents.report(failure()) != incidents.report(failure())


def call(**more: Any) -> Call:
    return Call(
        binding="JSONRPC",
        request_id="r-1",
        outcome="OK",
        http_status=200,
        duration=timedelta(seconds=1.2345),
        **more,
    )


def audited(made: Call, service: str) -> dict[str, Any]:
    """The line that a call is written down in."""
    written = io.StringIO()
    logger = Logger(service=service, stream=written, json_serializer=printed)

    PowertoolsAudit(logger).record(made)

    (line,) = written.getvalue().splitlines()
    record: dict[str, Any] = json.loads(line)
    return record


def test_a_call_is_one_line_with_what_is_known_of_it() -> None:
    made = call(operation="GetTask", principal="alice", owner="hash", task="t-1", frames=0, error_id="e-1")

    record = audited(made, "audited-1")

    assert record["message"] == "A2A call"
    assert record["level"] == "INFO"
    told = {name: value for name, value in record.items() if name not in ("level", "location", "timestamp")}
    assert told == {
        "message": "A2A call",
        "service": "audited-1",
        "binding": "JSONRPC",
        "request_id": "r-1",
        "outcome": "OK",
        "http_status": 200,
        "duration_ms": 1234,
        "operation": "GetTask",
        "principal": "alice",
        "owner": "hash",
        "task": "t-1",
        "frames": 0,
        "error_id": "e-1",
    }


def test_a_call_by_nobody_we_know_says_where_credentials_were_and_not_which() -> None:
    assert audited(call(credentials=("authorization",)), "audited-2")["credentials"] == ["authorization"]


def test_an_incident_is_written_without_the_credentials_that_its_error_holds() -> None:
    written = io.StringIO()
    logger = Logger(service="redacting", stream=written, json_serializer=printed)
    try:
        raise ValueError("refused: {'Authorization': 'Bearer hunter2-hunter2'}")  # noqa: TRY301
    except ValueError as error:
        PowertoolsIncidents(logger, FakeIdentifiers()).report(error, token="hunter2-hunter2")

    assert "hunter2" not in written.getvalue()
    assert "refused: {'Authorization': [redacted]}" in json.loads(written.getvalue())["exception"]


def counted(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_counter_is_written_at_once_with_its_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = PowertoolsMetrics("jsonrpc")

    metrics.count("TurnSettled", outcome="canceled")
    metrics.count("PositionConflict", 3)

    first, second = counted(capsys)
    (described,) = first["_aws"]["CloudWatchMetrics"]
    assert described["Namespace"] == "a2a_serverless"
    assert described["Metrics"] == [{"Name": "TurnSettled", "Unit": "Count"}]
    assert [sorted(names) for names in described["Dimensions"]] == [["outcome", "service"]]
    assert (first["TurnSettled"], first["outcome"], first["service"]) == ([1.0], "canceled", "jsonrpc")
    assert second["PositionConflict"] == [3.0]
    assert second["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
