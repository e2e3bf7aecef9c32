"""Finding the handler, and what `logging` writes."""

import json
import logging
import sys
from pathlib import Path
from typing import TextIO

import pytest

from a2a_runtime.api import Invocation
from a2a_runtime.handler import HandlerUnavailable, extend_search_path, load_handler
from a2a_runtime.logs import RequestLog
from a2a_runtime.loop import name_trace


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    extend_search_path({"LAMBDA_TASK_ROOT": str(tmp_path)})
    return tmp_path


def test_the_handler_is_found_in_the_task_root(folder: Path) -> None:
    (folder / "found_app.py").write_text("def handler(event, context): return event", encoding="utf-8")

    assert load_handler("found_app.handler")("event", None) == "event"


def test_a_module_may_be_named_with_slashes(folder: Path) -> None:
    (folder / "package_of_app").mkdir()
    (folder / "package_of_app" / "inner.py").write_text(
        "def handler(event, context): return 1", encoding="utf-8"
    )

    assert load_handler("package_of_app/inner.handler")({}, None) == 1


@pytest.mark.parametrize(
    ("source", "handler", "error_type", "message"),
    [
        ("", "nodot", "Runtime.MalformedHandlerName", "Bad handler 'nodot'"),
        ("import not_there", "broken_a.handler", "Runtime.ImportModuleError", "No module named 'not_there'"),
        ("def (", "broken_b.handler", "Runtime.UserCodeSyntaxError", "Syntax error in module 'broken_b'"),
        (
            "x = 1",
            "broken_c.handler",
            "Runtime.HandlerNotFound",
            "Handler 'handler' missing on module 'broken_c'",
        ),
        ("raise KeyError('TASKS_TABLE')", "broken_d.handler", "KeyError", "TASKS_TABLE"),
    ],
)
def test_a_handler_that_cannot_be_loaded_says_why_in_awss_words(
    folder: Path, source: str, handler: str, error_type: str, message: str
) -> None:
    (folder / f"{handler.partition('.')[0]}.py").write_text(source, encoding="utf-8")

    with pytest.raises(HandlerUnavailable) as unavailable:
        load_handler(handler)

    assert unavailable.value.failure.error_type == error_type
    assert message in unavailable.value.failure.message


def test_the_trace_of_an_invocation_does_not_outlive_it() -> None:
    environment: dict[str, str] = {}

    name_trace(Invocation("1", b"", {"lambda-runtime-trace-id": "Root=1"}), environment)
    assert environment == {"_X_AMZN_TRACE_ID": "Root=1"}

    name_trace(Invocation("2", b"", {}), environment)
    assert environment == {}


def record(text: str) -> logging.LogRecord:
    made = logging.LogRecord("shop", logging.WARNING, "app.py", 1, text, None, None)
    made.created, made.msecs = 0.007, 7
    return made


def log(stream: TextIO, *, as_json: bool) -> RequestLog:
    made = RequestLog(stream, as_json=as_json)
    made.request_id = "request-1"
    return made


def test_a_log_line_carries_the_request_and_stays_one_event(capsys: pytest.CaptureFixture[str]) -> None:
    log(sys.stdout, as_json=False).emit(record("two\nlines"))

    assert capsys.readouterr().out == "[WARNING]\t1970-01-01T00:00:00.007Z\trequest-1\ttwo\rlines\n"


def test_json_logging_writes_lambdas_fields(capsys: pytest.CaptureFixture[str]) -> None:
    log(sys.stdout, as_json=True).emit(record("text"))

    assert json.loads(capsys.readouterr().out) == {
        "timestamp": "1970-01-01T00:00:00Z",
        "level": "WARNING",
        "message": "text",
        "logger": "shop",
        "requestId": "request-1",
    }
