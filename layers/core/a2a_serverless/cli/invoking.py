"""`a2a-serverless invoke`: one function of a checkout on one event, and which there are."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from a2a_serverless.cli.checkout import checkout, local_stack
from a2a_serverless.cli.exits import Exit, Failure
from a2a_serverless.cli.given import read_given
from a2a_serverless.cli.output import print_json, print_table


def list_functions(function: str | None, *, as_json: bool) -> None:
    """Print the functions there are, or one of them, each with its example events.

    Raises:
        Failure: there is no such function.
    """
    root = checkout()
    found = functions(root)
    if function is not None:
        found = {_known(function, found): found[function]}
    if as_json:
        print_json({"functions": [{"function": name, "events": events} for name, events in found.items()]})
        return
    print_table(
        ["function", "event"], [[name, each] for name, events in found.items() for each in events or [""]]
    )
    print("a2a-serverless invoke FUNCTION -e EVENT")


def functions(root: Path) -> dict[str, list[str]]:
    """The functions of a checkout, each with the names of its example events."""
    names = sorted(place.parent.name for place in (root / "functions").glob("*/app.py"))
    return {name: sorted(file.name for file in (root / "events").glob(f"{name}.*.json")) for name in names}


def invoke_function(function: str, event: str, arguments: Sequence[str], *, as_json: bool) -> int:
    """Print what the function answers; returns the exit status that tells whether it failed.

    Raises:
        Failure: there is no such function or event, or the deployment does not start.
    """
    root = checkout()
    given = _event(root, function, event, functions(root))
    command = [sys.executable, "-m", "infra.local.invoking", function, *arguments]
    ended = subprocess.run(  # noqa: S603  our own program
        command, env=local_stack(root), input=given, stdout=subprocess.PIPE, check=False
    )
    lines = ended.stdout.decode(errors="replace").splitlines()
    if ended.returncode != 0 or not lines:
        raise Failure(Exit.FAILED, f"{function} was not invoked")
    answer: dict[str, Any] = json.loads(lines[-1])
    for line in lines[:-1]:
        print(line, file=sys.stderr)
    if as_json:
        print_json({"function": function, **answer})
    else:
        _show(answer["payload"])
    return Exit.FAILED if answer["failed"] else Exit.DONE


def _known(function: str, found: dict[str, list[str]]) -> str:
    if function not in found:
        raise Failure(Exit.NOTHING, f"there is no function {function}", f"there are {', '.join(found)}")
    return function


def _event(root: Path, function: str, event: str, found: dict[str, list[str]]) -> bytes:
    """The event, which may be named as in events/ from anywhere."""
    events = found[_known(function, found)]
    example = root / "events" / event
    given = example.read_bytes() if event != "-" and not Path(event).exists() and example.is_file() else None
    if given is None:
        if event != "-" and not Path(event).exists():
            raise Failure(
                Exit.NOTHING, f"there is no event {event}", f"of {function} there are {', '.join(events)}"
            )
        given = read_given(event)
    try:
        json.loads(given)
    except ValueError as error:
        raise Failure(Exit.USAGE, f"the event {event} is not JSON") from error
    return given


def _show(payload: Any) -> None:  # noqa: ANN401  whatever a function answers
    """An answer over HTTP as such, with its body as JSON where it is that; anything else as JSON."""
    if not (isinstance(payload, dict) and isinstance(payload.get("statusCode"), int)):
        print(json.dumps(payload, indent=2))
        return
    print(payload["statusCode"])
    for name, value in (payload.get("headers") or {}).items():
        print(f"{name}: {value}")
    body = payload.get("body") or ""
    with suppress(ValueError):
        body = json.dumps(json.loads(body), indent=2)
    if body:
        print(f"\n{body}")
