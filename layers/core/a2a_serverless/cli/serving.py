"""`a2a-serverless serve`: the local stack, in place of this process or, for programs, below it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from a2a_serverless.cli.checkout import checkout, local_stack

STACK = ("-m", "infra.local")


def serve_stack(arguments: Sequence[str], *, as_json: bool) -> int:
    """Run the local stack with these arguments until it ends; returns its exit status.

    Raises:
        Failure: there is no checkout, or the stack's needs are not installed.
    """
    environment = local_stack(checkout())
    command = [sys.executable, *STACK, *arguments]
    if not as_json:
        _become(command, environment)
    return _below(command, environment)


def _become(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Go on as the stack, so that signals, exit status and terminal are its own."""
    sys.stdout.flush()
    os.execve(command[0], [*command], environment)  # noqa: S606  our own program


def _below(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run it below this process; where it is ready is said as JSON, everything else on standard error."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as stack:  # noqa: S603  as above
        # A Ctrl-C at the terminal reaches the stack by itself; a SIGTERM is handed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: stack.terminate())
        said: dict[str, str] = {}
        for line in stack.stdout or ():
            word, _, place = line.strip().partition(" ")
            if word in ("ready", "aws") and "aws" not in said:
                said[word] = place
                if word == "aws":
                    print(json.dumps({"url": said.get("ready"), "aws": place}), flush=True)
            else:
                print(line, end="", file=sys.stderr, flush=True)
        return stack.wait()
