"""What is true of both bindings is asked of both: `connect`, `wire` and `idle` are each of them in turn."""

from typing import Any

import pytest

from a2a_serverless.bindings.caller import Admittance
from a2a_serverless.ports import Policy
from tests.unit.bindings.asking import LOCAL
from tests.unit.bindings.wires import STREAMING, Connect, Wire
from tests.unit.operations.world import World


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Makes a client; without `turns` nothing ever happens to a task by itself."""

    def make(
        policy: Policy = STREAMING, admittance: Admittance = LOCAL, *, turns: bool = True, **settled: Any
    ) -> Wire:
        wire = Wire(request.param, World(policy=policy), admittance, settled)
        if turns:
            wire.turns_take(0.1)
        return wire

    return make


@pytest.fixture
def wire(connect: Connect) -> Wire:
    return connect()


@pytest.fixture
def idle(connect: Connect) -> Wire:
    """A deployment whose turns never run."""
    return connect(turns=False)
