"""The command: start the stack, say where it is, end it when asked to."""

import contextlib
import signal
import sys
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final

import yaml

from infra.local.aws import ROOT
from infra.local.console import Console
from infra.local.intrinsics import UnresolvableError
from infra.local.options import parse, template_parameters
from infra.local.stack import Stack, StackProblem
from infra.local.template import read_deployment

USAGE: Final = 2
LOOK_UP_SECONDS: Final = 0.2


def main(arguments: Sequence[str]) -> int:
    """Run until a signal ends it; return the exit status."""
    options = parse(arguments)
    console = Console(quiet=options.quiet)
    asked: SimpleQueue[str] = SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.put("stop"))
    signal.signal(signal.SIGHUP, lambda *_: asked.put("restart"))
    try:
        stack = Stack(read_deployment(ROOT, template_parameters(options)), options, console)
    except (StackProblem, UnresolvableError, OSError, yaml.YAMLError) as problem:
        return complain(str(problem))
    try:
        stack.start()
        threading.Thread(target=announce, args=(stack, asked), daemon=True).start()
        return obey(stack, asked, console, quiet=options.quiet)
    finally:
        stack.close()
        console.close()


def announce(stack: Stack, asked: "SimpleQueue[str]") -> None:
    """Ask for the news that the stack is ready, or for the end because it cannot be."""
    try:
        stack.wait_until_ready()
    except StackProblem as problem:
        asked.put(f"problem: {problem}")
    else:
        asked.put("ready")


def obey(stack: Stack, asked: "SimpleQueue[str]", console: Console, *, quiet: bool) -> int:
    """Do what is asked, in order, until the end is."""
    while (wish := next_wish(asked)) != "stop":
        if wish == "ready":
            console.say(f"ready {stack.url}")
            if not quiet:
                # After the line that scripts wait for.
                console.say(f"aws {stack.aws_endpoint}")
        elif wish == "restart":
            stack.restart_functions()
            console.say("function processes are being replaced")
        else:
            return complain(wish.removeprefix("problem: "))
    return 0


def next_wish(asked: "SimpleQueue[str]") -> str:
    """Wait for the next thing asked for.

    Looks up from time to time: a signal that the system hands to another thread does not wake this one, and
    its handler runs only when this one wakes.
    """
    while True:
        with contextlib.suppress(Empty):
            return asked.get(timeout=LOOK_UP_SECONDS)


def complain(problem: str) -> int:
    """Say in one line what is wrong; return the exit status."""
    print(f"error: {problem}", file=sys.stderr)
    return USAGE
