"""What a shell is offered to complete a word with. Quick, and silent about whatever is wrong."""

from collections.abc import Iterable

import typer

from a2a_serverless.cli.checkout import found_checkout
from a2a_serverless.cli.configuration import configured
from a2a_serverless.cli.exits import Failure

STATES = (
    *("submitted", "working", "completed", "failed"),
    *("canceled", "input-required", "rejected", "auth-required"),
)
"""The states of a task, as they may be typed."""


def functions(incomplete: str) -> list[str]:
    """The functions of the checkout."""
    root = found_checkout()
    found = root.glob("functions/*/app.py") if root is not None else ()
    return _beginning(incomplete, (file.parent.name for file in found))


def events(context: typer.Context, incomplete: str) -> list[str]:
    """The example events of the function that was typed, or all of them."""
    root = found_checkout()
    function = context.params.get("function") or "*"
    found = root.glob(f"events/{function}.*.json") if root is not None else ()
    return _beginning(incomplete, (file.name for file in found))


def states(incomplete: str) -> list[str]:
    """The states of a task."""
    return _beginning(incomplete, STATES)


def route_names(context: typer.Context, incomplete: str) -> list[str]:
    """The names of the routes that are configured."""
    try:
        found = [str(route.values["name"]) for route in configured(context.params.get("config")).routes]
    except Failure:
        return []
    return _beginning(incomplete, found)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
