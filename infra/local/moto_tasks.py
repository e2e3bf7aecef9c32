"""Step Functions tasks, as moto's interpreter runs them, on their way to our function processes.

moto builds a boto3 client for every task and waits for moto's own Lambda. Here a task is one HTTP request to
the stack's Lambda API.
"""

import functools
import http.client
import io
from typing import Any, Final

from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

INVOCATIONS: Final = "/2015-03-31/functions/{}/invocations"


class LambdaClient:
    """The one operation of a boto3 Lambda client that the interpreter uses."""

    def __init__(self, address: str) -> None:
        self._address = address

    def invoke(self, *, FunctionName: str, Payload: bytes, **_: object) -> dict[str, Any]:  # noqa: N803 - boto3's names
        """Invoke a function, waiting as long as it takes."""
        name = FunctionName.rpartition(":")[2]
        connection = http.client.HTTPConnection(self._address, timeout=None)
        try:
            connection.request("POST", INVOCATIONS.format(name), Payload)
            response = connection.getresponse()
            answer: dict[str, Any] = {
                "StatusCode": response.status,
                "Payload": io.BytesIO(response.read()),
                "ExecutedVersion": "$LATEST",
            }
        finally:
            connection.close()
        error = response.getheader("X-Amz-Function-Error")
        return answer if error is None else {**answer, "FunctionError": error}


def reach_functions_at(address: str) -> None:
    """Let state machine tasks invoke the functions behind `address` ("host:port")."""
    client = LambdaClient(address)
    # Parsing takes longer than running; what is parsed holds no state of an execution.
    parse = functools.cache(AmazonStateLanguageParser.parse)
    AmazonStateLanguageParser.parse = staticmethod(parse)  # type: ignore[method-assign]
    lambda_eval_utils.boto_client_for = lambda **_: client  # type: ignore[assignment,attr-defined]
