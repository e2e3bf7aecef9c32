"""What a function answered, as it is told to whoever invoked it alone."""

import pytest

from infra.local.invoking import told

STREAMED = b'{"statusCode": 200, "headers": {"Content-Type": "text/plain"}}' + b"\0" * 8 + b"hello"


@pytest.mark.parametrize(
    ("payload", "failed", "answer"),
    [
        (b'{"a": 1}', False, {"failed": False, "payload": {"a": 1}}),
        (b"null", False, {"failed": False, "payload": None}),
        (b"plain", False, {"failed": False, "payload": "plain"}),
        (b'{"errorType": "X"}', True, {"failed": True, "payload": {"errorType": "X"}}),
        (
            STREAMED,
            False,
            {
                "failed": False,
                "payload": {"statusCode": 200, "headers": {"Content-Type": "text/plain"}, "body": "hello"},
            },
        ),
    ],
)
def test_an_answer_is_told_as_what_it_is(payload: bytes, *, failed: bool, answer: object) -> None:
    assert told(payload, failed=failed) == answer
