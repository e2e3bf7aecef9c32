"""An emulator on this machine is reached by its address alone; AWS is reached as its own tools reach it."""

import pytest
from botocore.session import Session

from a2a_serverless.adapters.aws_access import session


@pytest.fixture(autouse=True)
def _signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")


def reached(made: Session) -> tuple[str, str | None, str | None]:
    """Where the session's queues are asked, and as whom in which Region."""
    credentials = made.get_credentials()
    url = made.create_client("sqs").meta.endpoint_url
    return url, credentials.access_key if credentials else None, made.get_config_variable("region")


@pytest.mark.parametrize("address", ["http://127.0.0.1:4566", "http://localhost:4566", "http://[::1]:4566"])
def test_an_emulator_on_this_machine_gets_no_credentials_of_anybody(address: str) -> None:
    assert reached(session(region=None, profile=None, endpoint_url=address)) == (
        address,
        "local",
        "us-east-1",
    )


def test_an_emulators_region_can_be_named() -> None:
    made = session(region="eu-north-1", profile=None, endpoint_url="http://127.0.0.1:4566")

    assert reached(made)[2] == "eu-north-1"


def test_an_address_elsewhere_is_asked_as_who_is_signed_in() -> None:
    made = session(region=None, profile=None, endpoint_url="https://aws.example")

    assert reached(made) == ("https://aws.example", "mine", "eu-west-1")


def test_aws_is_asked_as_who_is_signed_in() -> None:
    assert reached(session(region=None, profile=None, endpoint_url=None)) == (
        "https://sqs.eu-west-1.amazonaws.com",
        "mine",
        "eu-west-1",
    )


def test_a_region_that_is_named_counts_more_than_the_usual_one() -> None:
    assert reached(session(region="eu-north-1", profile=None, endpoint_url=None))[2] == "eu-north-1"
