"""Looks at what CloudFormation will make of the API for each way of streaming. Exits 1 at a fault.

Runs where aws-sam-cli is installed, on the long form that SAM's own translator makes. SAM's events take no
condition for their way of answering, so the API's definition is written out; SAM must leave it as it is.
"""

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / ".ci")]

from transform import transformed  # noqa: E402 - beside this file, which is no package

from infra.local.deployment import STACK  # noqa: E402 - as above
from infra.local.intrinsics import Scope, read_template  # noqa: E402 - from the repository, which is not installed here
from infra.local.template import pseudo  # noqa: E402 - as above

STREAMED: Final = ("STREAM", 900_000, "2021-11-15", "/response-streaming-invocations")
BUFFERED: Final = ("BUFFERED", 29_000, "2015-03-31", "/invocations")
EXPECTED: Final = {"builtin": STREAMED, "web-adapter": STREAMED, "buffered": BUFFERED}
BINDINGS: Final = {"/": "JsonRpcFunction", "/{proxy+}": "HttpJsonFunction"}


def faults() -> Iterator[str]:
    """What is wrong, one sentence each."""
    template = read_template((ROOT / "template.yaml").read_text(encoding="utf-8"))
    long = transformed(copy.deepcopy(dict(template)))
    defaults = {name: declared.get("Default", "") for name, declared in template["Parameters"].items()}
    for way, (mode, timeout, version, action) in EXPECTED.items():
        scope = Scope(
            long,
            defaults | pseudo(STACK) | {"Streaming": way},
            resource=lambda name: name,
            attribute=lambda name, attribute: f"{name}.{attribute}",
        )
        body = scope.resolve(long["Resources"]["Api"]["Properties"]["Body"])
        for path, function in BINDINGS.items():
            found = integration(body, path)
            uri = f"arn:aws:apigateway:us-east-1:lambda:path/{version}/functions/{function}.Arn{action}"
            if (found["responseTransferMode"], found["timeoutInMillis"], found["uri"]) != (
                mode,
                timeout,
                uri,
            ):
                yield f"{way}: {path} is answered by {found}"
            seconds = scope.resolve(long["Resources"][function]["Properties"]["Timeout"])
            if seconds * 1000 > timeout:
                yield f"{way}: {function} may take {seconds} s, the API waits {timeout} ms"
        if "responseTransferMode" in integration(body, "/health"):
            yield f"{way}: the card is streamed"


def integration(body: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """How a path of the API is answered."""
    found: Mapping[str, Any] = body["paths"][path]["x-amazon-apigateway-any-method"][
        "x-amazon-apigateway-integration"
    ]
    return found


if __name__ == "__main__":
    wrong = list(faults())
    for fault in wrong:
        print(f"fault: {fault}")
    sys.exit(1 if wrong else 0)
