"""Step Functions tasks, as moto's interpreter runs them, on their way to our function processes.

moto builds a boto3 client for every task and waits for moto's own Lambda. Here a task is one request to the
stack's Lambda API.
"""

import functools
import io
from typing import Any

from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from infra.local.function_client import FunctionClient


class LambdaClient:
    """The one operation of a boto3 Lambda client that the interpreter uses."""

    def __init__(self, functions: FunctionClient) -> None:
        self._functions = functions

    def invoke(self, *, FunctionName: str, Payload: bytes, **_: object) -> dict[str, Any]:  # noqa: N803 - boto3's names
        """Invoke a function, waiting as long as it takes."""
        answer = self._functions.invoke(FunctionName.rpartition(":")[2], Payload)
        described = {
            "StatusCode": 200,
            "Payload": io.BytesIO(answer.payload),
            "ExecutedVersion": "$LATEST",
        }
        return {**described, "FunctionError": "Unhandled"} if answer.failed else described


def reach(functions: FunctionClient) -> None:
    """Let state machine tasks invoke these functions."""
    client = LambdaClient(functions)
    # Parsing takes longer than running; what is parsed holds no state of an execution.
    parse = functools.cache(AmazonStateLanguageParser.parse)
    AmazonStateLanguageParser.parse = staticmethod(parse)  # type: ignore[method-assign]
    lambda_eval_utils.boto_client_for = lambda **_: client  # type: ignore[assignment,attr-defined]
