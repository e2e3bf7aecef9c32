"""A platform for every test, and a loop that serves one invocation in a thread."""

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from a2a_runtime.api import Invocation, RuntimeApi
from a2a_runtime.loop import serve
from tests.unit.streaming.platform import PATIENCE, Platform

Handler = Callable[[object, object], object]
Serve = Callable[..., threading.Thread]


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform() as played:
        yield played


@pytest.fixture
def serving(platform: Platform) -> Iterator[Serve]:
    """Start `serve` for one invocation of a handler; the thread must have ended when the test does."""
    started: list[tuple[threading.Thread, RuntimeApi]] = []

    def start(
        handler: Handler, event: bytes = b"{}", headers: Mapping[str, str] | None = None
    ) -> threading.Thread:
        api = RuntimeApi(platform.address)
        invocation = Invocation("request-1", event, headers or {})
        thread = threading.Thread(target=serve, args=(api, handler, invocation, {}))
        thread.start()
        started.append((thread, api))
        return thread

    yield start
    for thread, api in started:
        thread.join(PATIENCE)
        assert not thread.is_alive()
        api.close()
