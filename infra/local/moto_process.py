"""The process that is AWS: moto behind our own HTTP loop.

Started by `aws.py` with a listening socket; reads one JSON line from standard input, prints `ready`, and ends
when standard input does, so that it never outlives the stack. Nothing here runs functions.

What differs from `moto_server`, each for a measured reason: DynamoDB is behind one lock and skips Flask,
which costs several times the work itself; state machine tasks reach functions directly; one Region exists,
since looking up all takes a second.
"""

import json
import logging
import os
import socket
import sys
import threading
import warnings

import boto3.session

from infra.local.deployment import REGION
from infra.local.moto_absent import leave_out_absent_services


def main() -> None:
    """Serve until standard input ends."""
    plan = json.loads(sys.stdin.readline())
    threading.Thread(target=leave_with_parent, name="parent", daemon=True).start()
    listener = socket.socket(fileno=plan["listener"])
    os.environ["MOTO_PORT"] = str(listener.getsockname()[1])
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    boto3.session.Session.get_available_regions = lambda *_, **__: [REGION]  # type: ignore[method-assign]
    leave_out_absent_services()
    # After the lines above, because they change what moto's import does.
    from infra.local.moto_server import serve  # noqa: PLC0415

    serve(listener, plan)
    print("ready", flush=True)
    threading.Event().wait()


def leave_with_parent() -> None:
    """End this process when the stack that started it is gone."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
