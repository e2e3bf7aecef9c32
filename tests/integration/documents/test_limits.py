"""What the READMEs say of limits and of the log is what the code does."""

import io
import json
import re
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from a2a_serverless.adapters.log_lines import printed
from a2a_serverless.adapters.powertools_audit import PowertoolsAudit
from a2a_serverless.bindings.content import GET_CONTENT
from a2a_serverless.bindings.http import MAX_BODY
from a2a_serverless.bindings.jsonrpc import MAX_ID
from a2a_serverless.operations.rates import CLASSES
from a2a_serverless.ports import FilePolicy
from a2a_serverless.ports.audit import CLIENT_LEFT, OK, Call
from a2a_serverless.ports.limits import OperationClass, RateLimit
from a2a_serverless.protocol import json_limits, limits, protojson, scalars
from a2a_serverless.protocol.errors import RateLimitedError
from a2a_serverless.settings import Settings
from infra.local.gateway import MAX_HEAD_BYTES
from tests.integration.documents.fenced import example

DOCUMENT = "layers/core/a2a_serverless/bindings/README.md"
ROOT = Path(__file__).parents[3]
NUMBERS = count()
TEXT = (ROOT / DOCUMENT).read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The table below a heading, by its first column."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in section.splitlines()
        if line.startswith("|") and "---" not in line
    ]
    return {name: rest for name, *rest in cells[1:]}


def test_the_limit_that_is_shown_means_what_is_said_of_it() -> None:
    (shown,) = re.findall(r'RateLimits="([^"]+)"', TEXT)
    settings = Settings.from_environment(
        {
            "TASKS_TABLE": "t",
            "CONTENT_BUCKET": "b",
            "TURN_STATE_MACHINE_ARN": "arn",
            "AGENT": "a:b",
            "ANONYMOUS": "allowed",
            "RATE_LIMITS": shown,
        }
    )

    minute = timedelta(minutes=1)
    assert settings.rate_limits == {
        OperationClass.SEND: RateLimit(10, minute, 20),
        OperationClass.READ: RateLimit(100, minute, 100),
    }


def test_every_operation_is_listed_in_its_class() -> None:
    listed = {
        name.strip("`"): set(re.findall(r"\w+", cells[0]))
        for name, cells in rows("How often they may call").items()
    }

    assert listed.keys() == set(OperationClass)
    for method, operations in CLASSES.items():
        assert [name for name, methods in listed.items() if method in methods] == [operations]


def test_a_call_too_many_is_answered_as_is_said() -> None:
    section = TEXT.partition("## How often they may call")[2].partition("\n## ")[0]

    for said in (
        str(RateLimitedError.code),
        f"`{RateLimitedError.reason}`",
        str(int(RateLimitedError.http_status)),
    ):
        assert said in section


@pytest.mark.parametrize(
    ("limit", "numbers"),
    [
        ("body", [MAX_BODY]),
        ("headers, with the address", [MAX_HEAD_BYTES]),
        ("nesting of the JSON", [json_limits.MAX_NESTING, scalars.MAX_DEPTH]),
        ("values of the JSON, members and elements together", [json_limits.MAX_VALUES]),
        ("a number", [protojson.MAX_NUMBER]),
        ("an id of JSON-RPC", [MAX_ID]),
        ("parts of a message", [limits.MAX_PARTS]),
        ("extensions, tasks referred to, media types wanted", [limits.MAX_NAMED]),
        ("`messageId`", [limits.MAX_MESSAGE_ID]),
        ("`metadata`, each", [limits.MAX_METADATA_BYTES]),
        ("a part that is text: `text`, `data`, or `raw` of a type of text", [limits.MAX_TEXT_BYTES]),
        ("a part that is `raw` and no text", [limits.MAX_RAW_BYTES]),
        ("a file that is uploaded", [FilePolicy().upload_bytes]),
    ],
)
def test_a_limit_is_the_number_that_is_said(limit: str, numbers: list[int]) -> None:
    said = rows("How much they may send")[limit][0]

    assert [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", said)] == numbers


def line_of(call: Call) -> dict[str, Any]:
    written = io.StringIO()
    logger = Logger(service=f"documented {next(NUMBERS)}", stream=written, json_serializer=printed)
    PowertoolsAudit(logger).record(call)
    line: dict[str, Any] = json.loads(written.getvalue())
    return line


def test_the_line_that_is_shown_is_one_that_is_written() -> None:
    shown = json.loads(example(DOCUMENT, "jsonl"))
    call = Call(
        binding=shown["binding"],
        operation=shown["operation"],
        outcome=OK,
        http_status=shown["http_status"],
        duration=timedelta(milliseconds=shown["duration_ms"]),
        principal=shown["principal"],
        owner=shown["owner"],
        task=shown["task"],
        context=shown["context"],
        message_id=shown["message_id"],
        request_id=shown["request_id"],
    )

    written = line_of(call)

    varying = {"timestamp", "service", "location"}
    assert {name: shown[name] for name in shown.keys() - varying} == {
        name: written[name] for name in written.keys() - varying
    }


def test_every_member_of_a_line_is_explained_or_shown() -> None:
    whole = Call(
        binding="JSONRPC",
        request_id="r",
        outcome=CLIENT_LEFT,
        http_status=200,
        duration=timedelta(0),
        operation=GET_CONTENT,
        principal="p",
        owner="o",
        credentials=("authorization",),
        tenant="t",
        task="t",
        context="c",
        message_id="m",
        frames=1,
        error_id="e",
    )
    explained = set(re.findall(r"`(\w+)`", " ".join(rows("What is written down"))))
    shown = json.loads(example(DOCUMENT, "jsonl"))

    assert set(line_of(whole)) - {"location"} <= explained | shown.keys()
    assert explained - shown.keys() <= set(line_of(whole))
    assert f"`{GET_CONTENT}`" in TEXT
    assert f"`{CLIENT_LEFT}`" in TEXT
