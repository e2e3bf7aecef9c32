"""The small adapters: the clock, identifiers, how clients are made, executions' input, broken-off content."""

import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, IncompleteReadError
from botocore.session import get_session

from a2a_serverless.adapters.aws_clients import AwsClients
from a2a_serverless.adapters.s3_contents import ATTEMPTS, S3Contents
from a2a_serverless.adapters.stepfunctions_executions import execution_input
from a2a_serverless.adapters.system_clock import SystemClock
from a2a_serverless.adapters.uuid_identifiers import UuidIdentifiers
from a2a_serverless.ports import TurnKey
from a2a_serverless.tasks.log import TaskKey


def test_the_clock_tells_the_time_in_utc() -> None:
    clock = SystemClock()

    before = datetime.now(UTC)
    clock.sleep(0.001)
    now = clock.now()

    assert now.tzinfo is UTC
    assert timedelta(milliseconds=1) <= now - before < timedelta(seconds=5)


def test_identifiers_are_fresh_and_fit_everywhere() -> None:
    given = {UuidIdentifiers().new() for _ in range(100)}

    assert len(given) == 100
    assert all(re.fullmatch(r"[0-9a-f-]{36}", identifier) for identifier in given)


def test_clients_give_up_in_time_and_try_again() -> None:
    session = get_session()
    session.set_config_variable("region", "eu-central-1")
    session.set_credentials("testing", "testing")
    clients = AwsClients(session)

    for client in (clients.dynamodb(), clients.s3(), clients.stepfunctions()):
        config: Any = client.meta.config
        assert config.connect_timeout + config.read_timeout <= 21
        assert config.retries == {"mode": "standard", "total_max_attempts": 4}
        assert config.tcp_keepalive


def test_the_input_of_an_execution_is_always_the_same_bytes() -> None:
    turn = TurnKey(TaskKey("acme", "owner", "t-1"), 7)

    assert execution_input(turn) == '{"tenant":"acme","owner":"owner","task":"t-1","turn":7}'


class BreakingOff:
    """A client whose objects break off a number of times before they arrive."""

    def __init__(self, times: int) -> None:
        self.times = times

    def get_object(self, **_: Any) -> Any:
        self.times -= 1
        return {"Body": self if self.times >= 0 else io.BytesIO(b"whole")}

    def read(self) -> bytes:
        raise IncompleteReadError(actual_bytes=2, expected_bytes=5)


def test_content_that_breaks_off_is_asked_for_again() -> None:
    client: Any = BreakingOff(ATTEMPTS - 1)

    assert S3Contents(client, "bucket").get("key") == b"whole"


def test_content_that_always_breaks_off_is_an_error() -> None:
    client: Any = BreakingOff(ATTEMPTS)

    with pytest.raises(IncompleteReadError):
        S3Contents(client, "bucket").get("key")


class Refusing:
    """A client that may not read."""

    def get_object(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": ""}}, "GetObject")


def test_content_that_may_not_be_read_is_not_taken_for_missing() -> None:
    client: Any = Refusing()

    with pytest.raises(ClientError):
        S3Contents(client, "bucket").get("key")
