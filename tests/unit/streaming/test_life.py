"""An environment from its start to its end: failed starts, snapshots, traces (AWS: runtime API)."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import snapshot_restore_py

from a2a_runtime.loop import main
from tests.unit.streaming.platform import PATIENCE, Platform

NEXT = "GET /2018-06-01/runtime/invocation/next HTTP/1.1"
RESTORE = "GET /2018-06-01/runtime/restore/next HTTP/1.1"
INVOCATION = {"Lambda-Runtime-Aws-Request-Id": "request-1", "Lambda-Runtime-Deadline-Ms": "1"}

Live = Callable[..., "Life"]


class Life:
    """The loop's `main` in a thread."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.status: int | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.status = main(self.environ)

    def end(self) -> int | None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.status


@pytest.fixture
def living(platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    lives: list[Life] = []
    monkeypatch.setattr(sys, "path", [*sys.path])

    def start(source: str, name: str, **environ: str) -> Life:
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        given = {
            "AWS_LAMBDA_RUNTIME_API": platform.address,
            "LAMBDA_TASK_ROOT": str(tmp_path),
            "_HANDLER": f"{name}.handler",
        }
        lives.append(Life({**given, **environ}))
        return lives[-1]

    yield start
    platform.hang_up()
    for life in lives:
        life.end()


@pytest.fixture(autouse=True)
def no_hooks_stay() -> Iterator[None]:
    """Hooks are kept by the process; a test must leave none."""
    yield
    snapshot_restore_py._before_snapshot_registry.clear()
    snapshot_restore_py._after_restore_registry.clear()


def test_a_start_that_fails_is_told_before_anything_is_asked_for(platform: Platform, living: Live) -> None:
    life = living("raise KeyError('TASKS_TABLE')", "life_broken")
    line, headers, described = platform.accept_failure()

    assert line == "POST /2018-06-01/runtime/init/error HTTP/1.1"
    assert headers["lambda-runtime-function-error-type"] == "KeyError"
    assert described["errorMessage"] == "'TASKS_TABLE'"
    assert life.end() == 1


def test_an_invocation_is_taken_answered_and_followed_by_the_next(platform: Platform, living: Live) -> None:
    life = living("def handler(event, context): return event", "life_echo")
    for number in range(2):
        assert platform.read_request()[0] == NEXT
        platform.reply(200, {**INVOCATION, "Lambda-Runtime-Trace-Id": f"Root={number}"}, b"%d" % number)
        _, _, answer = platform.read_request()
        platform.reply(202)
        assert answer == b"%d" % number
        assert life.environ["_X_AMZN_TRACE_ID"] == f"Root={number}"


def test_the_end_of_the_platform_is_the_end_of_the_process(platform: Platform, living: Live) -> None:
    life = living("def handler(event, context): return event", "life_end")
    platform.read_request()
    platform.hang_up()

    assert life.end() == 0


SNAPSHOTS = """
from snapshot_restore_py import register_after_restore, register_before_snapshot

HAPPENED = []

@register_before_snapshot
def first_registered():
    HAPPENED.append("before: first registered")

@register_before_snapshot
def last_registered():
    HAPPENED.append("before: last registered")

register_after_restore(HAPPENED.append, "after: first registered")
register_after_restore(HAPPENED.append, "after: last registered")

def handler(event, context):
    return HAPPENED
"""


def test_a_snapshot_is_taken_after_the_start_and_between_its_hooks(platform: Platform, living: Live) -> None:
    living(SNAPSHOTS, "life_snapshots", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")

    assert platform.read_request()[0] == RESTORE
    platform.reply(200)
    assert platform.read_request()[0] == NEXT
    platform.reply(200, INVOCATION, b"{}")
    _, _, answer = platform.read_request()
    platform.reply(202)
    assert json.loads(answer) == [
        "before: last registered",
        "before: first registered",
        "after: first registered",
        "after: last registered",
    ]


@pytest.mark.parametrize(
    ("hook", "path", "status"),
    [("register_before_snapshot", "init/error", 64), ("register_after_restore", "restore/error", 65)],
)
def test_a_hook_that_raises_ends_the_process_and_is_told(
    platform: Platform, living: Live, hook: str, path: str, status: int
) -> None:
    source = f"import snapshot_restore_py\nsnapshot_restore_py.{hook}(int, 'x')\nhandler = print\n"
    life = living(source, f"life_{hook}", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
    if path.startswith("restore"):
        assert platform.read_request()[0] == RESTORE
        platform.reply(200)
    line, _, described = platform.accept_failure()

    assert line == f"POST /2018-06-01/runtime/{path} HTTP/1.1"
    assert described["errorType"] == "ValueError"
    assert life.end() == status
