"""SnapStart: the hooks around the moment when Lambda copies a started environment.

Hooks are those a function registered with AWS's `snapshot_restore_py`, which the managed runtime provides; a
function that does not use SnapStart never loads it. AWS:
https://docs.aws.amazon.com/lambda/latest/dg/snapstart-runtime-hooks-python.html.
"""

import importlib
from collections.abc import Callable, Iterable

from a2a_runtime.api import RuntimeApi
from a2a_runtime.failures import failure_of

BEFORE_SNAPSHOT_FAILED = 64
AFTER_RESTORE_FAILED = 65


def pass_through_snapshot(api: RuntimeApi) -> int:
    """Run the hooks before, be copied, run the hooks after; return the status to end with, 0 to go on."""
    try:
        hooks = importlib.import_module("snapshot_restore_py")
    except ImportError:
        api.wait_for_restore()
        return 0
    try:
        _run(reversed(hooks.get_before_snapshot()))
    except Exception as error:  # noqa: BLE001 - a deployer's hook may raise anything; the platform is told
        api.fail_to_start(failure_of(error))
        return BEFORE_SNAPSHOT_FAILED
    api.wait_for_restore()
    try:
        _run(hooks.get_after_restore())
    except Exception as error:  # noqa: BLE001 - as above
        api.fail_to_restore(failure_of(error))
        return AFTER_RESTORE_FAILED
    return 0


def _run(hooks: Iterable[tuple[Callable[..., object], tuple[object, ...], dict[str, object]]]) -> None:
    for hook, arguments, named in hooks:
        hook(*arguments, **named)
