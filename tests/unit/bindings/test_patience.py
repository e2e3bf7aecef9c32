"""Answers that take long: nothing for three seconds, then white space, then the JSON (or what went wrong)."""

import json
from collections.abc import Callable, Generator, Iterator
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from a2a_serverless.bindings.failures import AnswerTooLargeError
from a2a_serverless.bindings.http import HttpResponse, StreamedResponse
from a2a_serverless.bindings.patience import Steps, at_length, patiently
from a2a_serverless.protocol.errors import TaskNotFoundError
from a2a_serverless.protocol.protojson import ProtoModel
from a2a_serverless.protocol.requests import GetTaskRequest
from tests.fakes.ports import FakeClock

HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}
RESULT = GetTaskRequest(id="t-1")


class Operation:
    """Takes so many seconds, looking in vain every `tick` of them; then returns, or fails if it is to."""

    def __init__(self, seconds: float, tick: float = 0.16, failure: Exception | None = None) -> None:
        self.clock = FakeClock()
        self.begun = self.asked_at = self.clock.now()
        self.seconds, self.tick, self.failure = seconds, tick, failure
        self.closed = False

    def steps(self) -> Generator[None, None, ProtoModel]:
        try:
            left = self.seconds
            while left > 0:
                self.clock.sleep(min(self.tick, left))
                left -= self.tick
                if left > 0:
                    yield
            if self.failure is not None:
                raise self.failure
            return RESULT
        finally:
            self.closed = True

    def answer(
        self,
        broken: Callable[[Exception], bytes] = lambda error: json.dumps(type(error).__name__).encode(),
        printed: Callable[[ProtoModel | None], HttpResponse] | None = None,
    ) -> HttpResponse | StreamedResponse:
        steps: Steps = self.steps()
        return patiently(
            self.clock, steps, printed or plainly, asked_at=self.asked_at, headers=HEADERS, broken=broken
        )

    def began(self) -> Iterator[bytes]:
        """The body of an answer that has begun and is yet to come."""
        response = self.answer()
        assert isinstance(response, StreamedResponse)
        return response.chunks

    def age(self) -> float:
        return (self.clock.now() - self.begun).total_seconds()


def plainly(result: ProtoModel | None) -> HttpResponse:
    assert result is not None
    return HttpResponse(200, HEADERS, result.to_json().encode())


def too_large(_: ProtoModel | None) -> HttpResponse:
    raise AnswerTooLargeError


@pytest.mark.parametrize("seconds", [0, 0.04, 1, 2.99])
def test_a_quick_answer_is_a_plain_one(seconds: float) -> None:
    operation = Operation(seconds)

    assert operation.answer() == HttpResponse(200, HEADERS, b'{"id":"t-1"}')
    assert operation.age() == pytest.approx(seconds)


@pytest.mark.parametrize("seconds", [0, 1, 2.99])
def test_a_quick_refusal_is_raised_so_that_it_keeps_its_status(seconds: float) -> None:
    operation = Operation(seconds, failure=TaskNotFoundError())

    with pytest.raises(TaskNotFoundError):
        operation.answer()


def test_what_cannot_be_printed_in_time_is_raised_too() -> None:
    with pytest.raises(AnswerTooLargeError):
        Operation(1).answer(printed=too_large)


@pytest.mark.parametrize("tick", [0.16, 0.5, 1.0])
@pytest.mark.parametrize("seconds", [3.5, 7, 40, 300])
def test_a_late_answer_begins_with_white_space_and_is_json_as_a_whole(seconds: float, tick: float) -> None:
    operation = Operation(seconds, tick)

    response = operation.answer()

    if isinstance(response, HttpResponse):  # it came with the last look that began in time
        assert seconds <= 3 + tick
        return
    assert (response.status, response.headers) == (200, HEADERS)
    left: list[tuple[datetime, bytes]] = [(operation.begun, b"")]
    left += [(operation.clock.now(), piece) for piece in response.chunks]
    pieces = [piece for _, piece in left[1:]]
    assert {piece.strip() for piece in pieces[:-1]} == {b""}
    assert json.loads(b"".join(pieces)) == {"id": "t-1"}
    assert max((after - before).total_seconds() for (before, _), (after, _) in pairwise(left)) <= 4.0
    assert (left[1][0] - operation.begun).total_seconds() >= 3.0
    assert len(pieces) <= 2 + seconds / 2.9


def test_a_late_failure_becomes_the_body() -> None:
    operation = Operation(10, failure=OSError("/var/task/secret"))

    body = b"".join(operation.began())

    assert json.loads(body) == "OSError"
    assert operation.closed


def test_a_result_that_cannot_be_printed_any_more_is_a_late_failure() -> None:
    response = Operation(10).answer(printed=too_large)

    assert isinstance(response, StreamedResponse)
    assert json.loads(b"".join(response.chunks)) == "AnswerTooLargeError"


def test_a_late_failure_that_has_no_body_cuts_the_answer_off() -> None:
    def cut_off(error: Exception) -> bytes:
        raise RuntimeError from error

    response = Operation(10, failure=OSError("gone")).answer(broken=cut_off)
    pieces: list[bytes] = []

    assert isinstance(response, StreamedResponse)
    with pytest.raises(RuntimeError):
        pieces.extend(response.chunks)
    assert {piece.strip() for piece in pieces} == {b""}


@pytest.mark.parametrize("read", [1, 2, 5])
def test_a_reader_who_leaves_closes_the_operation(read: int) -> None:
    operation = Operation(300)
    body = operation.began()
    for _ in range(read):
        next(body)
    assert not operation.closed

    body.close()  # type: ignore[attr-defined]

    assert operation.closed


def test_an_answer_that_nobody_begins_to_read_closes_the_operation() -> None:
    operation = Operation(300)

    operation.began().close()  # type: ignore[attr-defined]

    assert operation.closed


def test_an_operation_without_any_pause_is_answered_at_once() -> None:
    operation = Operation(60, tick=60)

    assert isinstance(operation.answer(), HttpResponse)


def test_where_nothing_streams_the_answer_is_waited_for() -> None:
    operation = Operation(300)

    assert at_length(operation.steps(), plainly).body == b'{"id":"t-1"}'
    assert operation.age() == pytest.approx(300)


@pytest.mark.parametrize("late", [1.0, 3.0, 10.0])
def test_a_function_that_had_to_be_started_first_has_used_up_some_of_the_patience(late: float) -> None:
    operation = Operation(20)
    operation.asked_at -= timedelta(seconds=late)

    assert isinstance(operation.answer(), StreamedResponse)
    assert operation.age() <= max(0.0, 3.0 - late) + operation.tick


def test_a_refusal_keeps_its_status_however_late_its_function_was_started() -> None:
    operation = Operation(0, failure=TaskNotFoundError())
    operation.asked_at -= timedelta(seconds=10)

    with pytest.raises(TaskNotFoundError):
        operation.answer()


def test_a_gateway_whose_clock_is_ahead_costs_no_patience() -> None:
    operation = Operation(20)
    operation.asked_at += timedelta(seconds=60)

    assert isinstance(operation.answer(), StreamedResponse)
    assert operation.age() <= 3.0 + operation.tick
