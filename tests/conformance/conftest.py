"""Every conformance test runs over both bindings: `connect` is its only way to a deployment."""

import pytest

from tests.conformance.wire import Client, Connect, Deployment


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def connect(request: pytest.FixtureRequest) -> Connect:
    def make(deployment: Deployment | None = None) -> Client:
        return Client(request.param, deployment or Deployment())

    return make


@pytest.fixture
def client(connect: Connect) -> Client:
    return connect()
