"""Answering a call that takes long: nothing at first, then white space, which JSON may begin with.

A quick answer, or a refusal, keeps its true status. Once a call has waited `PATIENT` seconds its headers go
out, and from then on a space at least every 4 seconds tells client and gateway that the connection lives:
the official client gives up after 5 seconds of silence.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from http import HTTPStatus

from a2a_serverless.bindings.http import HttpResponse, StreamedResponse
from a2a_serverless.operations.follow import awaited
from a2a_serverless.ports import Clock
from a2a_serverless.protocol.protojson import ProtoModel

PATIENT = timedelta(seconds=3)
"""How long a call may take before its headers go out."""

SILENCE = timedelta(seconds=2.9)
"""How long nothing is sent after that before a space is due; looking in vain takes a second at most."""

SPACE = b" "

Steps = Generator[None, None, ProtoModel | None]
"""An operation under way: its result in the end, a pause each time it has looked for it in vain."""

Printed = Callable[[ProtoModel | None], HttpResponse]


def at_length(steps: Steps, printed: Printed) -> HttpResponse:
    """The answer, however long it takes."""
    return printed(awaited(steps))


def patiently(
    clock: Clock,
    steps: Steps,
    printed: Printed,
    *,
    asked_at: datetime,
    headers: Mapping[str, str],
    broken: Callable[[Exception], bytes],
) -> HttpResponse | StreamedResponse:
    """The answer if it comes soon, otherwise one that has begun and is yet to come.

    `asked_at` is when the request reached the gateway: the client's own patience began then, and a function
    that had to be started first has used up some of it. Whatever that was, a refusal still keeps its
    status. `headers` are those of every successful answer. What goes wrong after they left becomes a body
    made by `broken`, which may raise instead.
    """
    headers_leave_at = min(asked_at, clock.now()) + PATIENT
    waiting = True
    while waiting:
        try:
            next(steps)
        except StopIteration as done:
            return printed(done.value)
        waiting = clock.now() < headers_leave_at
    return StreamedResponse(HTTPStatus.OK, headers, _body(clock, steps, printed, broken))


def _body(
    clock: Clock, steps: Steps, printed: Printed, broken: Callable[[Exception], bytes]
) -> Generator[bytes, None, None]:
    with closing(steps):
        yield SPACE
        try:
            result = yield from _waiting(clock, steps)
            body = printed(result).body
        except Exception as error:  # noqa: BLE001  the caller gets an answer whatever it is
            body = broken(error)
        yield body


def _waiting(clock: Clock, steps: Steps) -> Generator[bytes, None, ProtoModel | None]:
    """The result of the operation, and a space whenever one is due meanwhile."""
    sent_at = clock.now()
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: ProtoModel | None = done.value
            return result
        if clock.now() - sent_at >= SILENCE:
            yield SPACE
            sent_at = clock.now()
