"""What goes to the function's log: incidents that are found by their id, counters that CloudWatch reads."""

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from a2a_serverless.adapters.powertools_incidents import PowertoolsIncidents
from a2a_serverless.adapters.powertools_metrics import PowertoolsMetrics
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
