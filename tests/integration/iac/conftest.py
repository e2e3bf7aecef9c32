"""ROS on this machine, and the skill that talks to it through the official SDK."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from a2a_agents.iac.operations.aliyun_ros import AliyunRos
from a2a_agents.iac.operations.credentials import Credentials
from a2a_agents.iac.operations.ros import Ros
from a2a_agents.iac.operations.work import operate
from a2a_serverless.agent import Turn, Update
from a2a_serverless.agent.rehearsal import Rehearsal, rehearse
from tests.fakes.ros import ACCESS_KEY_ID, ACCESS_KEY_SECRET, FakeRos, serving


async def at_once(_: float) -> None:
    """Wait for nothing."""


@dataclass
class Desk:
    """Somebody who operates stacks through the skill."""

    ros: FakeRos
    endpoint: str
    region: str = ""
    credentials: Credentials = field(default_factory=lambda: Credentials(ACCESS_KEY_ID, ACCESS_KEY_SECRET))
    states: list[str] = field(default_factory=list)
    """What was saved at the beginning of every invocation."""

    async def connect(self) -> Ros:
        """ROS, as the deployment would reach it."""
        return AliyunRos(self.credentials, endpoint=self.endpoint, sleep=at_once)

    def agent(self, turn: Turn) -> AsyncIterator[Update]:
        """The skill."""
        self.states.append(repr(turn.state))
        return operate(turn, self.connect, region=self.region)

    def say(self, *messages: Any, allow: bool | None = True, **rehearsal: Any) -> Rehearsal:
        """A conversation; without `allow` questions for permission stay open."""
        decisions: dict[str, Any] = {} if allow is None else {"decisions": lambda _: allow}
        return rehearse(self.agent, *messages, resume=True, **decisions, **rehearsal)


@pytest.fixture
def ros() -> FakeRos:
    return FakeRos()


@pytest.fixture
def desk(ros: FakeRos) -> Iterator[Desk]:
    with serving(ros) as endpoint:
        yield Desk(ros, endpoint)
