"""Secrets Manager and the parameter store as the local stack runs them, and clients of both."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.session import Session, get_session

from a2a_serverless.adapters.aws_clients import AwsClients
from infra.local.deployment import REGION
from tests.integration.ports.backends import moto


@pytest.fixture(scope="package")
def session() -> Iterator[Session]:
    with moto() as started:
        session = get_session()
        session.set_credentials("testing", "testing")
        session.set_config_variable("region", REGION)
        endpoint = started.dynamodb.meta.endpoint_url
        session.get_component("config_store").set_config_variable("endpoint_url", endpoint)
        yield session


@pytest.fixture(scope="package")
def clients(session: Session) -> AwsClients:
    return AwsClients(session)


@pytest.fixture(scope="package")
def secrets(clients: AwsClients) -> Any:
    return clients.secretsmanager()


@pytest.fixture(scope="package")
def parameters(clients: AwsClients) -> Any:
    return clients.ssm()
