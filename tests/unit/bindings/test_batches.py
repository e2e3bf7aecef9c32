"""A batch of messages: all of it at once, and only what failed comes again."""

import threading
from typing import Any

from a2a_serverless.bindings.batches import all_at_once

PATIENCE = 10


def batch(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": f"id-of-{body}", "body": body} for body in bodies]}


def nobody(error: BaseException, message: str) -> None:
    raise AssertionError(message) from error


def test_ten_messages_are_worked_on_at_once() -> None:
    together = threading.Barrier(10)

    answer = all_at_once(batch(*"0123456789"), lambda _: together.wait(PATIENCE), nobody)

    assert answer == {"batchItemFailures": []}


def test_a_message_that_fails_comes_again_and_its_failure_is_told_while_the_others_are_done_with() -> None:
    done: list[str] = []
    told: list[tuple[str, str]] = []

    def work(body: str) -> None:
        if body == "bad":
            raise LookupError(body)
        done.append(body)

    answer = all_at_once(
        batch("good", "bad", "too"), work, lambda error, message: told.append((repr(error), message))
    )

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-of-bad"}]}
    assert sorted(done) == ["good", "too"]
    assert told == [("LookupError('bad')", "id-of-bad")]


def test_a_batch_of_nothing_is_done_with() -> None:
    assert all_at_once({"Records": []}, nobody_works, nobody) == {"batchItemFailures": []}


def nobody_works(body: str) -> None:
    raise AssertionError(body)
