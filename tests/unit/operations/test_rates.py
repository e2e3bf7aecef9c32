"""What happens around a limit: which operations it counts, and that one which cannot be kept stops nobody."""

from datetime import timedelta
from typing import Any

import pytest

from a2a_serverless.operations.rates import CLASSES, CREATE_FILE, count_call
from a2a_serverless.ports import Policy, Ports
from a2a_serverless.ports.limits import Bucket, OperationClass, RateLimit, UncountedError
from a2a_serverless.protocol.errors import RateLimitedError
from a2a_serverless.protocol.operations import OPERATIONS
from tests.fakes.ports import FakeClock, fake_ports

LIMIT = RateLimit(3, timedelta(seconds=2), 1)


class Silent:
    """A store that cannot be asked."""

    def take(self, bucket: Bucket, limit: RateLimit) -> timedelta | None:
        raise UncountedError


def limited(**more: Any) -> Ports:
    return fake_ports(policy=Policy(rate_limits={OperationClass.READ: LIMIT}), **more)


def call(ports: Ports, method: str = "GetTask", owner: str = "owner") -> None:
    count_call(ports, method, tenant="", owner=owner)


def test_every_operation_belongs_to_a_class() -> None:
    assert set(CLASSES) == {CREATE_FILE, *(operation.method for operation in OPERATIONS)}
    assert set(CLASSES.values()) == set(OperationClass)


def test_a_wait_is_told_in_whole_seconds_and_never_too_short() -> None:
    clock = FakeClock()
    ports = limited(clock=clock)
    call(ports)

    with pytest.raises(RateLimitedError) as refused:
        call(ports)

    assert refused.value.retry_after == 1
    clock.sleep(refused.value.retry_after)
    call(ports)


def test_what_has_no_limit_is_not_counted() -> None:
    ports: Any = limited()

    for _ in range(20):
        call(ports, "SendMessage")

    assert ports.rate_limits.full_at == {}


def test_where_nothing_counts_calls_nothing_is_limited() -> None:
    ports = limited(rate_limits=None)

    for _ in range(20):
        call(ports)


def test_a_refused_call_is_counted_by_class() -> None:
    ports: Any = limited()
    call(ports)

    for _ in range(2):
        with pytest.raises(RateLimitedError):
            call(ports, "ListTasks")

    assert ports.metrics.detailed["CallRateLimited", (("operations", "read"),)] == 2


def test_a_store_that_cannot_be_asked_lets_everybody_through_and_is_heard_of() -> None:
    ports: Any = limited(rate_limits=Silent())

    for _ in range(3):
        call(ports)

    assert ports.metrics.counts["CallUncounted"] == 3
    assert [(type(error), facts) for error, facts in ports.incidents.reported] == [
        (UncountedError, {"operation": "GetTask"})
    ] * 3
