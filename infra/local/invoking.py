"""`python -m infra.local.invoking FUNCTION`: one event through one function of a deployment made for it.

The event comes from standard input. Everything else of the deployment is there too: what the function writes
it finds, and a turn that it starts runs. Prints one JSON object: what was answered, or how it failed.
"""

import http.client
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from infra.local.aws import ROOT
from infra.local.command import complain
from infra.local.console import Console
from infra.local.deployment import Deployment
from infra.local.gateway import MalformedAnswer, split_prelude
from infra.local.intrinsics import UnresolvableError
from infra.local.options import Options, parse, template_parameters
from infra.local.stack import Stack, StackProblem
from infra.local.template import read_deployment

NO_PORT: Final = ("--port", "0")


def main(arguments: Sequence[str]) -> int:
    """Invoke the function with what stands on standard input; further arguments are the local stack's."""
    name, *others = arguments
    options = parse([*NO_PORT, *others])
    console = Console(quiet=options.quiet)
    try:
        deployment = read_deployment(ROOT, template_parameters(options))
        print(json.dumps(invoke(deployment, options, console, name, sys.stdin.buffer.read())))
    except (StackProblem, UnresolvableError, OSError, yaml.YAMLError) as problem:
        return complain(str(problem))
    finally:
        console.close()
    return 0


def invoke(
    deployment: Deployment, options: Options, console: Console, name: str, event: bytes
) -> dict[str, Any]:
    """What the function whose folder has this name answers to an event.

    Raises:
        StackProblem: there is no such function, or the deployment does not start.
    """
    known = {function.folder.name: function.name for function in deployment.functions.values()}
    if name not in known:
        raise StackProblem(f"there is no function {name}; there are {', '.join(sorted(known))}")
    stack = Stack(deployment, options, console)
    try:
        stack.start()
        stack.wait_until_ready()
        payload, failed = asked(stack.lambda_endpoint, known[name], event)
        return told(payload, failed=failed)
    finally:
        stack.close()


def asked(endpoint: str, function: str, event: bytes) -> tuple[bytes, bool]:
    """The payload that Lambda's Invoke answers, and whether it is an error."""
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    try:
        connection.request("POST", f"/2015-03-31/functions/{function}/invocations", event)
        answer = connection.getresponse()
        return answer.read(), answer.getheader("X-Amz-Function-Error") is not None or answer.status != 200  # noqa: PLR2004
    finally:
        connection.close()


def told(payload: bytes, *, failed: bool) -> dict[str, Any]:
    """The answer as JSON: with its prelude read where it is one that is streamed."""
    if failed:
        return {"failed": True, "payload": read(payload)}
    try:
        streamed = split_prelude(payload)
    except MalformedAnswer:
        streamed = None
    if streamed is None:
        return {"failed": False, "payload": read(payload)}
    response, body = streamed
    headers: Mapping[str, str] = dict(response.headers)
    answer = {"statusCode": int(response.status), "headers": headers, "body": body.decode(errors="replace")}
    return {"failed": False, "payload": answer}


def read(payload: bytes) -> Any:  # noqa: ANN401 - JSON is any of six types
    """The payload as JSON, or as text where it is none."""
    try:
        return json.loads(payload)
    except ValueError:
        return payload.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
