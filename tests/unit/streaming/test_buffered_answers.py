"""What the loop sends for one invocation that is answered at once (AWS: Lambda runtime API)."""

import json
from decimal import Decimal
from typing import NoReturn

import pytest

from a2a_runtime.api import MAX_PAYLOAD_BYTES
from tests.unit.streaming.conftest import Serve
from tests.unit.streaming.platform import Platform

RESPONSE = "POST /2018-06-01/runtime/invocation/request-1/response HTTP/1.1"
ERROR = "POST /2018-06-01/runtime/invocation/request-1/error HTTP/1.1"


@pytest.mark.parametrize(
    ("result", "body"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True]}, b'{"a": [1, 2.5, true]}'),
        ("caf\u00e9", '"caf\u00e9"'.encode()),
        ({"n": Decimal("3.14"), "whole": Decimal(3)}, b'{"n": 3.14, "whole": 3}'),
        (b'{"already": "json"}', b'{"already": "json"}'),
    ],
)
def test_a_result_is_posted_as_json(platform: Platform, serving: Serve, result: object, body: bytes) -> None:
    serving(lambda event, context: result)

    line, headers, posted = platform.read_request()
    platform.reply(202)

    assert (line, headers["content-type"], posted) == (RESPONSE, "application/json", body)


def test_the_handler_gets_the_decoded_event(platform: Platform, serving: Serve) -> None:
    serving(lambda event, context: event, b'{"text": "\xc3\xa9"}')

    _, _, posted = platform.read_request()
    platform.reply(202)

    assert json.loads(posted) == {"text": "\u00e9"}


class TurnContinues(Exception):
    """As a state machine would match it."""


def test_an_exception_is_posted_under_its_class_name_with_the_frames_of_the_handler(
    platform: Platform, serving: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    def handler(event: object, context: object) -> NoReturn:
        raise TurnContinues("segment 2")

    thread = serving(handler)
    line, headers, described = platform.accept_failure()
    thread.join()

    assert line == ERROR
    assert headers["lambda-runtime-function-error-type"] == "TurnContinues"
    frames = described.pop("stackTrace")
    assert described == {"errorMessage": "segment 2", "errorType": "TurnContinues", "requestId": "request-1"}
    assert isinstance(frames, list)
    assert len(frames) == 1
    assert "test_buffered_answers.py" in frames[0]
    [event] = capsys.readouterr().out.splitlines()[0:1]
    assert event.startswith("[ERROR] TurnContinues: segment 2")


@pytest.mark.parametrize(
    ("event", "result", "error_type"),
    [
        (b"{", None, "Runtime.UnmarshalError"),
        (b"{}", object(), "Runtime.MarshalError"),
        (b"{}", b" " * (MAX_PAYLOAD_BYTES + 1), "Function.ResponseSizeTooLarge"),
    ],
)
def test_what_lambda_cannot_carry_is_an_error_of_the_runtime(
    platform: Platform, serving: Serve, event: bytes, result: object, error_type: str
) -> None:
    serving(lambda event, context: result, event)

    line, _, described = platform.accept_failure()

    assert (line, described["errorType"]) == (ERROR, error_type)


def test_an_answer_of_exactly_the_limit_is_posted(platform: Platform, serving: Serve) -> None:
    serving(lambda event, context: b" " * MAX_PAYLOAD_BYTES)

    line, _, posted = platform.read_request()
    platform.reply(202)

    assert (line, len(posted)) == (RESPONSE, 6291556)
